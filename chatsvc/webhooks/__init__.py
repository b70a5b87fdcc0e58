"""Outgoing webhooks (SPEC.md section 6): dispatcher, signing, delivery."""
