"""Faults on the way to the model and to receivers."""

from tests.webhooks.fixtures import authority, config, receiver

__all__ = ["authority", "config", "receiver"]
