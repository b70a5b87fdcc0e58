"""Copies all rows from one store to another, and compares both by digests.

Rows are copied in the order of their keys, page by page, each page in one transaction: an interrupted copy goes on behind the last
key that the target has.
"""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from chatsvc.store.database import Connection
from chatsvc.store.tables import TABLES, Table

PAGE = 500  # rows
Row = tuple[Any, ...]
Report = Callable[[str, int, int], None]
COPYING, COMPARING = "copying", "comparing"


def _keys(table: Table, each: str = "{}") -> str:
    return ", ".join(each.format(name) for name in table.key)


# Columns stand in one order in both stores, which the same migrations make.
_FIRST, _BEHIND = (
    {
        table.name: f"SELECT {_keys(table, 't.{}')}, t.* FROM {table.name} t{behind.format(_keys(table, 't.{}'), _keys(table, '?'))}"
        f" ORDER BY {_keys(table, 't.{}')} LIMIT {PAGE}"
        for table in TABLES
    }
    for behind in ("", " WHERE ({}) > ({})")
)
_LAST = {table.name: f"SELECT {_keys(table)} FROM {table.name} ORDER BY {_keys(table, '{} DESC')} LIMIT 1" for table in TABLES}
_COUNT = {table.name: f"SELECT count(*) FROM {table.name}" for table in TABLES}
_INSERT = {table.name: f"INSERT INTO {table.name}" for table in TABLES}
_HIGHEST = {table.name: f"SELECT coalesce(max(number), 0) FROM {table.name}" for table in TABLES if table.key == ("number",)}


class TableDigest(NamedTuple):
    """Number of a table's rows, and their SHA-256 digest, in the order of the keys."""

    table: str
    rows: int
    digest: str


class TargetNotEmpty(Exception):
    """The target is not empty. The text names a table, or is empty for the copy of another store."""


class SourceChanged(Exception):
    """The source was changed since the copy began. The text names a table that differs."""


class RowUnfit(Exception):
    """The target cannot hold a row; `key` is its key."""

    def __init__(self, table: str, key: str) -> None:
        super().__init__(table, key)
        self.table, self.key = table, key


def pages(connection: Connection, table: Table, after: Row | None = None) -> Iterator[list[Row]]:
    """Read the rows behind a key, page by page. Each row comes with its key in front."""
    while True:
        if after is None:
            rows: list[Row] = connection.execute(_FIRST[table.name]).fetchall()
        else:
            rows = connection.execute(_BEHIND[table.name], after).fetchall()
        if rows:
            yield rows
        if len(rows) < PAGE:
            return
        after = rows[-1][: len(table.key)]


def last_key(connection: Connection, table: Table) -> Row | None:
    """Return the greatest key of a table; return None if it is empty."""
    row: Row | None = connection.execute(_LAST[table.name]).fetchone()
    return row


def count(connection: Connection, table: Table) -> int:
    """Count the rows of a table."""
    (total,) = connection.execute(_COUNT[table.name]).fetchone()
    return int(total)


def insert(connection: Connection, table: Table, rows: list[Row]) -> None:
    """Insert rows as they are; each comes with its key in front."""
    width = len(table.key)
    marks = ", ".join("?" * (len(rows[0]) - width))
    connection.executemany(f"{_INSERT[table.name]} VALUES ({marks})", [row[width:] for row in rows])


def digest(connection: Connection, table: Table) -> TableDigest:
    """Compute the digest of a table. Both stores order keys in the same way: numbers, and texts by their bytes."""
    running, number = hashlib.sha256(), 0
    for rows in pages(connection, table):
        # Whole numbers, texts, bytes and None: equal in both stores, and different ones are written differently.
        running.update("".join(map(repr, rows)).encode())
        number += len(rows)
    return TableDigest(table.name, number, running.hexdigest())


def compare(source: Connection, target: Connection, report: Report) -> list[TableDigest]:
    """Compute the digests of all tables; raises SourceChanged for the first that differs."""
    digests = []
    for index, table in enumerate(TABLES):
        report(f"{COMPARING} {table.name}", index, len(TABLES))
        digests.append(digest(source, table))
        if digest(target, table) != digests[-1]:
            raise SourceChanged(table.name)
    return digests


def highest_numbers(connection: Connection) -> dict[str, int]:
    """Return the highest number of each table whose rows are numbered."""
    return {name: connection.execute(_HIGHEST[name]).fetchone()[0] for name in _HIGHEST}
