"""PostgreSQL behind the Database protocol: connections, locks, group commit, migrations and copies."""
