"""PostgreSQL behind the Database protocol: connections, the lock of the worker, group commit and migrations."""
