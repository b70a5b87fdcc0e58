"""The store: named operations over SQLite, one module for each group of tables, declared in tables.py.

No type, placeholder or error of SQLite leaves this folder: callers pass values and get domain objects.
"""
