"""What breaks, breaks on the way to a receiver, too."""

from tests.webhooks.fixtures import authority, config, receiver

__all__ = ["authority", "config", "receiver"]
