"""TLS of the service's own listeners: the server's context, its certificate, and certificate files."""
