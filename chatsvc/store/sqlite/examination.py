"""Read-only examination of a database, for `chatsvc doctor`."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from chatsvc.store.database import SchemaTooNew, StoreUnavailable
from chatsvc.store.facts import CHECK, TEAM_FAULT
from chatsvc.store.sqlite.migrations import APPLICATION_ID, is_newer, schema_version

STEPS = 10_000  # of SQLite's virtual machine between two looks at the clock
FIXED = (3, 51, 3)  # before it, two connections that write and checkpoint at the same instant can damage a database


_CHANNEL_FAULTS = 15  # the schema's version from which on they are kept
_FAULTY = """
    SELECT bots.name, channel, fault FROM channels JOIN bots ON bots.id = bot_id
    WHERE fault IS NOT NULL AND state = 'active' ORDER BY number LIMIT 100
"""

_CALLED = """
    SELECT bots.name, verified_at, max(coalesce(seen_at, 0), coalesce(verified_at, 0)) FROM channels JOIN bots ON bots.id = bot_id
    WHERE channel = 'whatsapp' AND state = 'active' ORDER BY number LIMIT 100
"""


class Examined(NamedTuple):
    """Result of an examination.

    checked: whether the check of the content came to its end. newest: time of the last change, in Unix milliseconds.
    mute: names of active bots without knowledge, of the tiers that answer from knowledge alone. faulty_channels: names of bots, channel,
    and the fault that its platform has told. called_channels: names of bots, the time when WhatsApp verified the callback, and that of the
    last call. team_fault: why the answers of the team's group do not come.
    """

    problems: list[str]
    checked: bool
    schema_version: int
    newest: int
    check: bytes | None
    webhooks: list[tuple[str, str]]
    mute: list[str]
    faulty_channels: list[tuple[str, str, str]]
    called_channels: list[tuple[str, int | None, int]]
    team_fault: str | None = None


def sqlite_is_fixed() -> bool:
    """Whether this SQLite has no fault in concurrent checkpoints (see FIXED)."""
    return sqlite3.sqlite_version_info >= FIXED


def sqlite_version() -> str:
    """Return the version of the SQLite in use."""
    return sqlite3.sqlite_version


def examine(database: Path, tiers: frozenset[str], limit_s: float | None = None) -> Examined:
    """Examine a database; `tiers` are those that answer from a bot's knowledge alone.

    limit_s: time for the check of its content, None for no limit, 0 for no check. Raises StoreUnavailable and SchemaTooNew.
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
            known = dict(connection.execute("SELECT name, value FROM store_facts"))
            newest = connection.execute(
                "SELECT max((SELECT coalesce(max(created_at), 0) FROM usage_records), (SELECT coalesce(max(updated_at), 0) FROM accounts))"
            ).fetchone()[0]
            bots = connection.execute(
                "SELECT name, model FROM bots WHERE active AND id NOT IN (SELECT bot_id FROM knowledge_entries) ORDER BY number LIMIT 100"
            ).fetchall()
            hooks = connection.execute(
                "SELECT bots.name, url FROM webhooks JOIN bots ON bots.id = bot_id WHERE url IS NOT NULL ORDER BY number LIMIT 100"
            ).fetchall()
            version = schema_version(connection)
            # Before a migration there are none.
            faulty = connection.execute(_FAULTY).fetchall() if version >= _CHANNEL_FAULTS else []
            called = connection.execute(_CALLED).fetchall() if version >= _CHANNEL_FAULTS else []
    except sqlite3.Error as fault:
        raise StoreUnavailable(str(fault)) from fault
    return Examined(
        problems or [],
        problems is not None,
        version,
        newest,
        known.get(CHECK),
        hooks,
        [name for name, model in bots if model in tiers],
        faulty,
        called,
        known[TEAM_FAULT].decode() if TEAM_FAULT in known else None,
    )


def _problems(connection: sqlite3.Connection, limit_s: float | None) -> list[str] | None:
    """Check the content of a database; None if the time was over before."""
    if limit_s == 0:
        return None
    deadline = None if limit_s is None else time.monotonic() + limit_s
    if deadline is not None:
        connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
    try:
        return [str(row[0]) for row in connection.execute("PRAGMA quick_check(5)") if row[0] != "ok"]
    except sqlite3.OperationalError:
        if deadline is None or time.monotonic() <= deadline:
            raise
        return None
    finally:
        connection.set_progress_handler(None, 0)
