"""Read-only examination of a PostgreSQL server and database, for `chatsvc doctor`."""

import psycopg

from chatsvc.store.examination import Examined, ServerState, read
from chatsvc.store.postgres.connection import PostgresTarget, connect, is_local, outage
from chatsvc.store.postgres.migrations import check_schema

_DURABLE = ("fsync", "full_page_writes", "synchronous_commit")


def examine(target: PostgresTarget, tiers: frozenset[str]) -> tuple[ServerState, Examined | None]:
    """Examine the server and the database, None for one without tables. Raises StoreUnavailable and SchemaTooNew."""
    connection = connect(target, writes=False, name="chatsvc doctor")
    try:
        version, clock, may_create, used, most = connection.execute(
            """
            SELECT current_setting('server_version'), (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
                coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
                (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'), current_setting('max_connections')::bigint
            """
        ).fetchone()
        settings = {name: str(connection.execute("SELECT current_setting(?)", (name,)).fetchone()[0]) for name in _DURABLE}
        encrypted = None if is_local(target) else connection.driver.pgconn.ssl_in_use
        state = ServerState(str(version), clock, settings, bool(may_create), (used, most), encrypted)
        schema = check_schema(connection, target)
        return state, read(connection, schema, tiers) if schema else None
    except psycopg.Error as fault:
        raise outage(fault, target) from None
    finally:
        connection.close()
