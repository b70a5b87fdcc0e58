"""TLS of the service's own listeners. The server's context, its certificate, and the files that may hold it."""
