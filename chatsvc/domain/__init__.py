"""Domain objects and rules: no I/O, no third-party import."""
