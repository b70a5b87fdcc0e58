"""PostgreSQL as the target of a copy, or as a source read at one instant.

`CopyTarget` takes the rows of another store; `write_to` writes a database into a file, for backups.

An unfinished copy has no schema version, so that no service opens it; its source is noted, and it goes on where it ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

import psycopg

from chatsvc.store import nodes
from chatsvc.store.copying import (
    COPYING,
    Report,
    RowUnfit,
    SourceChanged,
    TableDigest,
    TargetNotEmpty,
    compare,
    count,
    highest_numbers,
    insert,
    last_key,
    pages,
)
from chatsvc.store.database import Connection, StoreInUse, StoreUnavailable
from chatsvc.store.postgres.connection import PostgresConnection, PostgresTarget, connect, outage
from chatsvc.store.postgres.migrations import UNFINISHED, VERSION, check_schema, migrate, schema_version, try_copy_lock
from chatsvc.store.sqlite.migrations import newest
from chatsvc.store.tables import TABLES, Table

T = TypeVar("T")
_NOTE = "chatsvc_copy"
_TRUNCATE = f"TRUNCATE {', '.join(table.name for table in TABLES)}"
_SET_NUMBER = "SELECT setval(pg_get_serial_sequence(?1, 'number')::regclass, ?2)"
_NUMBER = "SELECT pg_sequence_last_value(pg_get_serial_sequence(?, 'number')::regclass)"
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class CopyTarget:
    """A copy under way into a database in which no process works; made by `opened`."""

    def __init__(self, connection: PostgresConnection) -> None:
        self._connection = connection

    @classmethod
    @contextmanager
    def opened(cls, address: PostgresTarget, source: bytes, *, anew: bool) -> Iterator[CopyTarget]:
        """Take the lock, and begin a copy or continue one of the same source.

        source: the check value of the source's master key. anew: begin again, whatever the copy holds.
        Raises StoreInUse, StoreUnavailable, SchemaTooNew and TargetNotEmpty.
        """
        connection = connect(address, writes=True, name="chatsvc copy")
        try:
            if not try_copy_lock(connection):
                raise StoreInUse(address.name)
            target = cls(connection)
            target._begin(address, source, anew=anew)
            yield target
        except psycopg.Error as fault:
            raise outage(fault, address) from None
        finally:
            connection.close()

    def _begin(self, address: PostgresTarget, source: bytes, *, anew: bool) -> None:
        connection = self._connection
        if schema_version(connection) != UNFINISHED:
            if check_schema(connection, address) == 0:
                migrate(connection, address)
            elif check_schema(connection, address) != newest():
                raise TargetNotEmpty("")
            self._transaction(lambda: self._check_unused(address))
            used = next((table.name for table in TABLES if last_key(connection, table) is not None), None)
            if used is not None:
                raise TargetNotEmpty(used)
            self._transaction(lambda: self._mark(source))
            return
        noted, version = connection.execute(f"SELECT source, version FROM {_NOTE}").fetchone()
        if version != newest() or (noted != source and not anew):
            raise TargetNotEmpty("")
        if anew:
            self._empty(source)

    def _check_unused(self, address: PostgresTarget) -> None:
        nodes.remove_dead(self._connection)
        if nodes.is_any(self._connection):
            raise StoreInUse(address.name)

    def _mark(self, source: bytes) -> None:
        self._connection.execute(f"CREATE TABLE {_NOTE} (source bytea NOT NULL, version bigint NOT NULL)")
        self._connection.execute(f"INSERT INTO {_NOTE} (source, version) VALUES (?, ?)", (source, newest()))
        self._connection.execute(f"UPDATE {VERSION} SET version = ?", (UNFINISHED,))

    def _empty(self, source: bytes) -> None:
        """Remove the rows copied so far."""

        def work() -> None:
            self._connection.execute(_TRUNCATE)
            self._connection.execute(f"UPDATE {_NOTE} SET source = ?", (source,))

        self._transaction(work)

    def _transaction(self, work: Callable[[], T]) -> T:
        driver = self._connection.driver
        driver.execute("BEGIN")
        try:
            result = work()
            driver.execute("COMMIT")
        except BaseException:
            if self._connection.is_usable:
                driver.execute("ROLLBACK")
            raise
        return result

    def fill(self, source: Connection, check: bytes, report: Report) -> list[TableDigest]:
        """Copy all rows and compare both. Raises RowUnfit, and SourceChanged, after which the next attempt begins anew."""
        try:
            for table in TABLES:
                self._fill(table, source, report)
            return compare(source, self._connection, report)
        except SourceChanged:
            self._empty(check)
            raise

    def _fill(self, table: Table, source: Connection, report: Report) -> None:
        copied, of = count(self._connection, table), count(source, table)
        report(f"{COPYING} {table.name}", copied, of)
        for rows in pages(source, table, last_key(self._connection, table)):
            self._put(table, rows)
            copied += len(rows)
            report(f"{COPYING} {table.name}", copied, of)

    def _put(self, table: Table, rows: list[tuple[object, ...]]) -> None:
        try:
            self._transaction(lambda: insert(self._connection, table, rows))
        except psycopg.DataError:
            # Text with NUL, which PostgreSQL does not store.
            unfit = next((row for row in rows if any(isinstance(value, str) and "\0" in value for value in row)), rows[0])
            raise RowUnfit(table.name, json.dumps(unfit[: len(table.key)], default=bytes.hex)) from None
        except psycopg.IntegrityError:
            raise SourceChanged(table.name) from None

    def finish(self, numbers: Mapping[str, int], record: Callable[[Connection], object]) -> None:
        """Declare the copy a store. `record` writes the audit record in the same transaction."""

        def work() -> None:
            for name, last in numbers.items():
                if last:
                    self._connection.execute(_SET_NUMBER, (name, last))
            record(self._connection)
            # Without statistics PostgreSQL reads a bot's conversations to find one of them.
            self._connection.execute("ANALYZE")
            self._connection.execute(f"DROP TABLE {_NOTE}")
            self._connection.execute(f"UPDATE {VERSION} SET version = ?", (newest(),))

        self._transaction(work)


def write_to(address: PostgresTarget, file: Connection) -> dict[str, int]:
    """Copy the store at one instant, while others write, into a file with empty tables. Return the last number of each table.

    Raises StoreUnavailable.
    """
    connection = connect(address, writes=False, name="chatsvc backup")
    try:
        if check_schema(connection, address) != newest():
            raise StoreUnavailable(f"{address.name} has the schema of an earlier version: start the service once")
        connection.driver.execute(_READ)
        for table in TABLES:
            for rows in pages(connection, table):
                insert(file, table, rows)
        highest = highest_numbers(connection).items()
        return {name: max(number, connection.execute(_NUMBER, (name,)).fetchone()[0] or 0) for name, number in highest}
    except psycopg.Error as fault:
        raise outage(fault, address) from None
    finally:
        connection.close()
