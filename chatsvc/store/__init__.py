"""The store. Named operations in plain SQL, one module for each group of tables, declared in tables.py.

Operations work on any connection of the `Database` protocol (database.py), which store/sqlite/ and store/postgres/ implement. Types,
placeholders and errors of a driver are used in this folder only: callers pass values and get domain objects.
"""
