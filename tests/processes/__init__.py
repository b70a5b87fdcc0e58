"""Several processes over one PostgreSQL, each a real one."""
