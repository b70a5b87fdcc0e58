"""The store. Named operations in plain SQL, one module for each group of tables, declared in tables.py.

Operations work on any connection of the Database protocol (database.py); store/sqlite/ is its one implementation. No type, placeholder
or error of a driver leaves this folder: callers pass values and get domain objects.
"""
