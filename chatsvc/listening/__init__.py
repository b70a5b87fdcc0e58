"""Where callers come in: the sockets, the certificate that is shown there, and the end of it."""
