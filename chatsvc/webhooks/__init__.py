"""Webhooks going out (SPEC.md section 6): the dispatcher, the guarded connector, the delivery."""
