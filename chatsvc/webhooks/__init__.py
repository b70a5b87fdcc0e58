"""Outgoing webhooks (SPEC.md section 6): queue, signing and delivery of events, and encryption of secrets."""
