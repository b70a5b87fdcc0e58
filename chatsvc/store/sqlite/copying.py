"""SQLite as one side of a copy: a source for reading, or a new target.

Rows are copied by store/copying.py.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from chatsvc.store.copying import highest_numbers
from chatsvc.store.database import Connection, SchemaTooNew, StoreUnavailable
from chatsvc.store.sqlite.migrations import APPLICATION_ID, is_newer, newest, schema_version


@contextmanager
def source(database: Path) -> Iterator[sqlite3.Connection]:
    """Open a file to read it at one instant. It must have this version's schema. Raises SchemaTooNew and StoreUnavailable."""
    # A closed database has no log beside it, and reading must not make one.
    alone = "" if database.with_name(f"{database.name}-wal").exists() else "&immutable=1"
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro{alone}", uri=True, isolation_level=None)) as connection:
            if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                raise StoreUnavailable(f"{database} is not a database of chatsvc")
            if is_newer(connection):
                raise SchemaTooNew(f"a newer chatsvc has written {database}: install that one")
            if (version := schema_version(connection)) != newest():
                raise StoreUnavailable(
                    f"{database} has schema version {version}, this chatsvc needs {newest()}: start the service on it once"
                )
            connection.execute("BEGIN")
            yield connection
    except sqlite3.Error as fault:
        raise StoreUnavailable(f"{database} cannot be read: {fault}") from fault


def numbers(connection: Connection) -> dict[str, int]:
    """Return the last number of each table that was ever given to a row."""
    found = highest_numbers(connection)
    for name, last in connection.execute("SELECT name, seq FROM sqlite_sequence"):
        found[name] = max(last, found.get(name, 0))
    return found


def set_numbers(connection: Connection, last: Mapping[str, int]) -> None:
    """Give no number again that a row had, in tables that promise it."""
    promised = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%'")]
    for name in promised:
        connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (name,))
        connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (name, last.get(name, 0)))
