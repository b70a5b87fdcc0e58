"""TLS as this service speaks it to its callers: the certificate it shows, and where certificates come from."""
