"""Outbound connections.

`client` opens the sessions of aiohttp's client, with the address guard against SSRF and the `egress` ledger; `resolver` looks up names, and
has the addresses that the guard keeps from customers. `smtp` is the client of mail servers.
"""
