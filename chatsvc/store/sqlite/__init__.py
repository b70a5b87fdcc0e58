"""SQLite behind the Database protocol: connections, group commit, migrations, backups and examination."""
