"""Reads and changes a store for tests of other packages, which know no SQL.

Values stand in a statement as `:1`, `:2` and so on.
"""

import re
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any

from chatsvc.app import App
from chatsvc.store import exchanges, webhooks
from chatsvc.store.database import Connection, Database
from chatsvc.store.webhooks import Event
from tests import postgres
from tests.postgres import RUNNING, USER, is_sqlite

Rows = list[tuple[Any, ...]]


def _numbered(statement: str) -> str:
    """Write `?1` for `:1`, which PostgreSQL's dialect does not take for a name."""
    return re.sub(r"'[^']*'|:(\d)", lambda match: f"?{match[1]}" if match[1] else match[0], statement)


def _run(connection: Connection, statement: str, values: Sequence[object]) -> Rows:
    cursor = connection.execute(_numbered(statement), values)
    # psycopg fetches nothing of a statement without rows.
    has_rows = statement.split(maxsplit=1)[0].upper() in ("SELECT", "WITH", "PRAGMA", "EXPLAIN") or "RETURNING" in statement
    return cursor.fetchall() if has_rows else []


def query(database: Path, statement: str, *values: object) -> Rows:
    """Run one statement on a database, in a transaction of its own."""
    if RUNNING and not is_sqlite(database):
        return postgres.query(database, _numbered(statement), values)
    with closing(sqlite3.connect(database)) as connection, connection:
        return _run(connection, statement, values)


async def execute(app: App, statement: str, *values: object) -> Rows:
    """Run one statement on the connection that writes."""
    return await app.services.db.write(lambda connection: _run(connection, statement, values))


async def row_counts(app: App) -> dict[str, int]:
    """Count the rows of each table that has some. Left out are those in which processes over PostgreSQL keep what is of no account."""
    names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    if RUNNING:
        names = """
            SELECT tablename FROM pg_tables
            WHERE schemaname = current_schema() AND tablename NOT IN ('nodes', 'leases', 'chatsvc_schema', 'chatsvc_requests')
        """
    counts = {name: (await execute(app, f"SELECT count(*) FROM {name}"))[0][0] for (name,) in await execute(app, names)}  # noqa: S608
    return {name: count for name, count in counts.items() if count}


async def insert(app: App, table: str, columns: str, rows: Iterable[Sequence[object]]) -> None:
    """Insert rows into a table, in one transaction."""
    marks = ", ".join("?" * len(columns.split(", ")))
    several = [tuple(row) for row in rows]

    def unit(connection: Connection) -> None:
        connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({marks})", several)  # noqa: S608  # of the test

    await app.services.db.write(unit)


async def add_events(db: Database, *events: tuple[Event, str | None]) -> None:
    """Write pending events in one transaction. Each names the event before it."""

    def unit(connection: Connection) -> None:
        numbers: dict[str, int] = {}
        for event, before in events:
            follows = numbers[before] if before else None
            numbers[event.event] = webhooks.add_event(connection, event._replace(follows=follows), webhooks.PENDING)

    await db.write(unit)


async def write_exchanges(db: Database, several: Iterable[exchanges.NewExchange]) -> None:
    """Write exchanges one by one, in one transaction."""

    def unit(connection: Connection) -> None:
        for exchange in several:
            exchanges.write(connection, exchange)

    await db.write(unit)


@contextmanager
def locked(database: Path) -> Iterator[None]:
    """Hold an exclusive lock on a database, as another program may do."""
    with closing(sqlite3.connect(database, isolation_level=None)) as stranger:
        stranger.execute("BEGIN EXCLUSIVE")
        yield
        stranger.execute("ROLLBACK")


@asynccontextmanager
async def out_of_reach(app: App, table: str) -> AsyncIterator[None]:
    """Have the store refuse every statement on a table, like a failing disk."""
    if RUNNING:
        name = str(RUNNING[0].database_of(app.config.data_dir / "chatsvc.db").parameters["dbname"])
        RUNNING[0].run_in(name, f"ALTER TABLE {table} OWNER TO admin")
        try:
            yield
        finally:
            RUNNING[0].run_in(name, f"ALTER TABLE {table} OWNER TO {USER}")
        return
    database: Any = app.services.db

    def refuse(_: int, name: str | None, *__: object) -> int:
        return sqlite3.SQLITE_DENY if name == table else sqlite3.SQLITE_OK

    async def ask(whom: Callable[..., int] | None) -> None:
        for thread in (*database.readers, database.writer):
            await thread.run(lambda connection: connection.set_authorizer(whom))

    await ask(refuse)
    try:
        yield
    finally:
        await ask(None)
