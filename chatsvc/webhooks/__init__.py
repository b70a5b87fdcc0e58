"""Outgoing webhooks (help/webhooks.md): queue, signing and delivery of events, and encryption of secrets."""
