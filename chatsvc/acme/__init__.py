"""Certificates from an authority by ACME (RFC 8555): what is said, when it is asked for, and where it is kept."""
