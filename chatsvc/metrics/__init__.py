"""Metrics for Prometheus, on a listener of their own; imported only where the configuration asks for it."""
