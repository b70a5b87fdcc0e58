"""Certificates by ACME (RFC 8555): protocol client, renewal, storage."""
