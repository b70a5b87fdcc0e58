"""Accounts with their bots, keys, webhooks, channels and usage."""
