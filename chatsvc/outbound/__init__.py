"""Outbound connections: TLS contexts, the address guard against SSRF, the egress ledger, and HTTP clients.

`dialler` opens connections (`http_connection`); `guarded` checks each address that a customer chose where its socket is opened, with
`resolver` and `own_addresses`. `http_pool` keeps connections for calls of models and messaging platforms, and sends single requests.
Each connection counts for one purpose of the ledger (`egress`).
"""
