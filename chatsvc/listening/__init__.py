"""Listeners: sockets, accepting connections, TLS certificates, shutdown."""
