"""Schema in PostgreSQL: applies SQLite's migrations in translation, checks version and master key, and examines a server."""

from pathlib import Path

from chatsvc.store import facts
from chatsvc.store.database import StoreUnavailable
from chatsvc.store.examination import Examined, ServerState, read
from chatsvc.store.master_key import MasterKey
from chatsvc.store.postgres.connection import PostgresConnection, PostgresTarget, connected
from chatsvc.store.postgres.dialect import translate_schema
from chatsvc.store.sqlite.migrations import newest, schema, steps_from

# Locks: of all transactions that write, one at a time, and of a copy.
_COPY, _TRANSACTIONS = 0x63686174, 0x63686175  # "chat"
_SCHEMA = "hashtext(coalesce(current_schema(), ''))"
# The first statement of a transaction: it waits for those of the other processes, so that units find the store as with one process.
WAIT_TURN = f"SELECT pg_advisory_xact_lock({_TRANSACTIONS}, {_SCHEMA})"
VERSION = "chatsvc_schema"
UNFINISHED = -1000  # less the schema's version: that of a database while a copy is under way


def try_copy_lock(connection: PostgresConnection) -> bool:
    """Take the lock of a copy until the session ends. Return False if another session has it."""
    (locked,) = connection.execute(f"SELECT pg_try_advisory_lock({_COPY}, {_SCHEMA})").fetchone()
    return bool(locked)


def schema_version(connection: PostgresConnection) -> int:
    """Return the number of migration steps that were applied.

    It is 0 for an empty schema, -1 for tables of another program, -2 if the user has no schema, and below UNFINISHED during a copy.
    """
    (schema, own, others) = connection.execute(
        """
        SELECT current_schema(), to_regclass(quote_ident(current_schema()) || '.' || ?1) IS NOT NULL,
            EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace(current_schema()) AND relkind = 'r')
        """,
        (VERSION,),
    ).fetchone()
    if schema is None:
        return -2
    if not own:
        return -1 if others else 0
    version: int = connection.execute(f"SELECT version FROM {VERSION}").fetchone()[0]
    return version


def check_schema(connection: PostgresConnection, address: PostgresTarget) -> int:
    """Return the schema's version. Raises SchemaTooNew, and StoreUnavailable for another program's database."""
    version = schema_version(connection)
    if version == -1:
        raise StoreUnavailable(f"{address.name} holds another program's tables: name an empty database in store.url")
    if version == -2:
        raise StoreUnavailable(f"{address.name} has no schema that this user can use: create the database with this user as its owner")
    if version < UNFINISHED:
        raise StoreUnavailable(
            f"{address.name} holds an unfinished copy of a store: run `chatsvc store copy` or `chatsvc backup restore` again to complete it"
        )
    if version > 0:
        steps_from(version)
    return version


def migrate(connection: PostgresConnection, address: PostgresTarget, key: MasterKey | None = None) -> None:
    """Apply all missing steps in one transaction, which a fault rolls back. Raises SchemaTooNew and StoreUnavailable.

    `key` must be the master key of the store; a store without a key takes the first one. Transactions of other processes wait meanwhile.
    Processes of an older version then detect the newer schema.
    """
    version = check_schema(connection, address)
    if key is not None and version > 0 and (check := facts.find_check(connection)) is not None:
        key.of(check)
    if version == newest():
        return
    with connection.driver.transaction():
        connection.driver.execute("SET LOCAL statement_timeout = 0")
        connection.execute(WAIT_TURN)
        # Another process may have migrated before this one came to its turn.
        version = check_schema(connection, address)
        if version == 0:
            connection.driver.execute(f"CREATE TABLE {VERSION} (version bigint NOT NULL, worker bytea)")
            connection.driver.execute(f"INSERT INTO {VERSION} VALUES (0)")
        for step in steps_from(version):
            connection.run_script(translate_schema(step))
            if step is schema():
                connection.run_script(Path(__file__).with_name("schema.sql").read_text("utf-8"))
        connection.execute(f"UPDATE {VERSION} SET version = ?", (newest(),))


def examine(address: PostgresTarget, tiers: frozenset[str]) -> tuple[ServerState, Examined | None]:
    """Examine the server and the database. For a database without tables, the second result is None.

    Raises StoreUnavailable and SchemaTooNew.
    """
    with connected(address, name="chatsvc doctor") as connection:
        version, clock, may_create, used, most = connection.execute(
            """
            SELECT current_setting('server_version'), (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
                coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
                (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), current_setting('max_connections')::bigint
            """
        ).fetchone()
        settings = dict(
            connection.execute("SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit')")
        )
        encrypted = None if address.is_local else connection.driver.pgconn.ssl_in_use
        state = ServerState(version, clock, settings, bool(may_create), (used, most), encrypted)
        schema = check_schema(connection, address)
        return state, read(connection, schema, tiers) if schema else None
