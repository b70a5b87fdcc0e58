"""Outbound connections: TLS contexts, the address guard against SSRF, the egress ledger, and HTTP sessions.

`session.open_session` gives an aiohttp session for one purpose of the ledger (`egress`), guarded or not. `guarded` checks each
address where its socket is opened, with `resolver` and `own_addresses`. `http_pool` keeps connections
(`http_connection`, opened by `dialler`) for calls of models and messaging platforms.
"""
