"""Copies all rows from one store to another, and compares the two stores by digests.

Rows are read in the order of their keys, page by page. The two stores have the same order of columns, since the same migrations made them.
"""

import hashlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from chatsvc.domain import refusals
from chatsvc.store.database import Connection
from chatsvc.store.tables import TABLES, Table

PAGE = 500  # rows
Row = tuple[Any, ...]
Report = Callable[[str, int, int], None]
COPYING, COMPARING = "copying", "comparing"


def _page(table: Table, *, is_first: bool) -> str:
    key, marks = ", ".join(f"t.{column}" for column in table.key), ", ".join("?" * len(table.key))
    behind = "" if is_first else f"WHERE ({key}) > ({marks})"
    return f"SELECT {key}, t.* FROM {table.name} t {behind} ORDER BY {key} LIMIT {PAGE}"


_FIRST = {table.name: _page(table, is_first=True) for table in TABLES}
_BEHIND = {table.name: _page(table, is_first=False) for table in TABLES}
COUNT = {table.name: f"SELECT count(*) FROM {table.name}" for table in TABLES}
_INSERT = {table.name: f"INSERT INTO {table.name}" for table in TABLES}


class TableDigest(NamedTuple):
    """Number of rows in a table, and the SHA-256 digest of all these rows in the order of their keys."""

    table: str
    rows: int
    digest: str


def pages(connection: Connection, table: Table) -> Iterator[list[Row]]:
    """Read all rows of a table, page by page. Each row comes with its key in front."""
    rows: list[Row] = connection.execute(_FIRST[table.name]).fetchall()
    while rows:
        yield rows
        if len(rows) < PAGE:
            return
        rows = connection.execute(_BEHIND[table.name], rows[-1][: len(table.key)]).fetchall()


def copy(source: Connection, insert: Callable[[Table, list[Row]], None], report: Report = lambda *_: None) -> None:
    """Copy the rows of all tables of `source`, parent tables first. `insert` writes rows of a table (see `insert_into`)."""
    for table in TABLES:
        copied, (total,) = 0, source.execute(COUNT[table.name]).fetchone()
        report(f"{COPYING} {table.name}", copied, total)
        for rows in pages(source, table):
            insert(table, rows)
            copied += len(rows)
            report(f"{COPYING} {table.name}", copied, total)


def insert_into(target: Connection, table: Table, rows: list[Row]) -> None:
    """Insert rows as they are; each comes with its key in front."""
    width = len(table.key)
    marks = ", ".join("?" * (len(rows[0]) - width))
    target.executemany(f"{_INSERT[table.name]} VALUES ({marks})", [row[width:] for row in rows])


def compare(source: Connection, target: Connection, report: Report) -> list[TableDigest]:
    """Compare all tables of two stores, and return the tables' digests. Raises `store_copy_differs` for the first table that differs."""
    digests = []
    for index, table in enumerate(TABLES):
        report(f"{COMPARING} {table.name}", index, len(TABLES))
        digests.append(_digest(source, table))
        if _digest(target, table) != digests[-1]:
            raise refusals.store_copy_differs(table=table.name)
    return digests


def _digest(connection: Connection, table: Table) -> TableDigest:
    """Compute the digest of a table. Both stores order keys in the same way: numbers, and texts by their bytes."""
    digest, number = hashlib.sha256(), 0
    for rows in pages(connection, table):
        # Whole numbers, texts, bytes and None: equal in both stores, and different ones are written differently.
        digest.update("".join(map(repr, rows)).encode())
        number += len(rows)
    return TableDigest(table.name, number, digest.hexdigest())
