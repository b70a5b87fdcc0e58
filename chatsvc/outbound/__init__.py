"""Outbound connections.

`client` opens the sessions of aiohttp's client, with the address guard against SSRF and the `egress` ledger. `resolver` looks up names, and
knows the service's own addresses, which the guard refuses. `smtp` is the client of mail servers.
"""
