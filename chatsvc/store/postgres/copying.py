"""PostgreSQL as the target of a copy, or as a source of which a snapshot is read.

`fill` takes the rows of another store in one transaction; `write_to` writes a database into a file, for backups. While a copy is under way,
and after one that was interrupted, the empty database has no schema version, so that no service opens it.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial

import psycopg

from chatsvc.domain import refusals
from chatsvc.store import nodes
from chatsvc.store.copying import COUNT, Report, Row, TableDigest, compare, copy, insert_into
from chatsvc.store.database import Connection, StoreUnavailable
from chatsvc.store.postgres.connection import PostgresConnection, PostgresTarget, connected
from chatsvc.store.postgres.migrations import UNFINISHED, VERSION, check_schema, migrate, schema_version, try_copy_lock
from chatsvc.store.sqlite.migrations import newest
from chatsvc.store.tables import TABLES, Table

_SET_NUMBER = "SELECT setval(pg_get_serial_sequence(?1, 'number')::regclass, ?2)"
_NUMBER = "SELECT pg_sequence_last_value(pg_get_serial_sequence(?, 'number')::regclass)"
_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


def fill(
    address: PostgresTarget, source: Connection, numbers: Mapping[str, int], report: Report, record: Callable[[Connection], object]
) -> list[TableDigest]:
    """Copy all rows of `source` into an empty, unused database, and compare it with `source`.

    Raises Refused, StoreUnavailable and SchemaTooNew. `numbers` has the last row number of each table. `record` writes the audit record in
    the same transaction.
    """
    with connected(address, writes=True, name="chatsvc copy") as connection:
        if not try_copy_lock(connection):
            raise refusals.store_target_busy(store=address.name)
        _prepare(connection, address)
        with connection.driver.transaction():
            copy(source, partial(_insert, connection), report)
            digests = compare(source, connection, report)
            for name, last in numbers.items():
                if last:
                    connection.execute(_SET_NUMBER, (name, last))
            record(connection)
            # Without statistics PostgreSQL reads a bot's conversations to find one of them.
            connection.execute("ANALYZE")
            connection.execute(f"UPDATE {VERSION} SET version = ?", (newest(),))
        return digests


def _prepare(connection: PostgresConnection, address: PostgresTarget) -> None:
    """Make the tables if there are none, and mark the database as an unfinished copy. Raises Refused if the database is not empty."""
    version = schema_version(connection)
    if version == UNFINISHED - newest():
        return
    if version == 0:
        migrate(connection, address)
    elif version < UNFINISHED or check_schema(connection, address) != newest():
        raise refusals.store_target_other(store=address.name)
    with connection.driver.transaction():
        nodes.remove_dead(connection)
        if connection.execute("SELECT 1 FROM nodes").fetchone():
            raise refusals.store_target_busy(store=address.name)
        for table in TABLES:
            if connection.execute(COUNT[table.name]).fetchone() != (0,):
                raise refusals.store_target_used(store=address.name, table=table.name)
        connection.execute(f"UPDATE {VERSION} SET version = ?", (UNFINISHED - newest(),))


def _insert(connection: PostgresConnection, table: Table, rows: list[Row]) -> None:
    try:
        insert_into(connection, table, rows)
    except psycopg.DataError:
        # Text with NUL, which PostgreSQL does not store.
        unfit = next((row for row in rows if any(isinstance(value, str) and "\0" in value for value in row)), rows[0])
        raise refusals.store_copy_unfit(table=table.name, key=json.dumps(unfit[: len(table.key)], default=bytes.hex)) from None


def write_to(address: PostgresTarget, file: Connection) -> dict[str, int]:
    """Copy a snapshot of the store into a SQLite file with empty tables, while others write. Return each table's last row number.

    Raises StoreUnavailable.
    """
    with connected(address, name="chatsvc backup") as connection:
        if check_schema(connection, address) != newest():
            raise StoreUnavailable(f"{address.name} has the schema of an earlier version: start the service once")
        connection.driver.execute(_READ)
        copy(connection, partial(insert_into, file))
        numbered = [table.name for table in TABLES if table.key == ("number",)]
        return {name: connection.execute(_NUMBER, (name,)).fetchone()[0] or 0 for name in numbered}
