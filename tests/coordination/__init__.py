"""Tests of Valkey, and of several processes over one store."""
