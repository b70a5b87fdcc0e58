"""SQLite: the connection and its group commit, migrations, and one module for each group of tables with its SQL inline.

No SQLite type, placeholder or error leaves this folder.
"""
