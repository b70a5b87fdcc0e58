"""Pages of the dashboard, one module each."""
