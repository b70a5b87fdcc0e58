"""Valkey or Redis: the connection to it, and what several processes share through it."""
