"""Metrics for Prometheus, on a listener of their own. Imported only where the configuration asks for it."""
