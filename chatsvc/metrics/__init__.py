"""Metrics for Prometheus, on a listener of their own. This package is imported only if the configuration enables metrics."""
