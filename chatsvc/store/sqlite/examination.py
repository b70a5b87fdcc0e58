"""Read-only examination of a SQLite database for `chatsvc doctor`."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

from chatsvc.store.database import SchemaTooNew, StoreUnavailable
from chatsvc.store.examination import Examined, read
from chatsvc.store.sqlite.migrations import APPLICATION_ID, is_newer, schema_version

STEPS = 10_000  # of SQLite's virtual machine between two looks at the clock


def examine(database: Path, tiers: frozenset[str], limit_s: float | None = None) -> Examined:
    """Examine a database. `tiers` are the names of the tiers that answer from a bot's knowledge alone.

    `limit_s` is the time for the check of its content: None is no limit, 0 is no check. Raises StoreUnavailable and SchemaTooNew.
    """
    # A closed database has no log beside it, and reading must not make one.
    alone = "" if database.with_name(f"{database.name}-wal").exists() else "&immutable=1"
    try:
        with closing(sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro{alone}", uri=True, timeout=5)) as connection:
            if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
                raise StoreUnavailable("it is not a database of chatsvc")
            if is_newer(connection):
                raise SchemaTooNew("a newer chatsvc has written it")
            problems = _problems(connection, limit_s)
            return read(connection, schema_version(connection), tiers)._replace(problems=problems or [], checked=problems is not None)
    except sqlite3.Error as fault:
        raise StoreUnavailable(str(fault)) from fault


def _problems(connection: sqlite3.Connection, limit_s: float | None) -> list[str] | None:
    """Check the content of a database and return its problems, or None if the time was not sufficient."""
    if limit_s == 0:
        return None
    deadline = float("inf") if limit_s is None else time.monotonic() + limit_s
    connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
    try:
        return [str(row[0]) for row in connection.execute("PRAGMA quick_check(5)") if row[0] != "ok"]
    except sqlite3.OperationalError:
        if time.monotonic() <= deadline:
            raise
        return None
    finally:
        connection.set_progress_handler(None, 0)
