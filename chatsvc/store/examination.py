"""Read-only examination of a store for `chatsvc doctor`: its results, the queries that both stores share, and SQLite's check."""

import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from chatsvc.store.database import Connection, SchemaTooNew, StoreUnavailable
from chatsvc.store.facts import CHECK, TEAM_FAULT
from chatsvc.store.sqlite.migrations import APPLICATION_ID, is_newer, schema_version


class PlatformChannel(NamedTuple):
    """An active channel of a messaging platform, with sealed secrets. `bot` is the name of its bot, `id` is the channel's id."""

    bot: str
    id: str
    channel: str
    identity: str | None
    secrets: bytes


class Examined(NamedTuple):
    """Result of an examination.

    `checked` is true if the check of the content was completed. `newest` is the time of the last change, in Unix milliseconds.
    `mute` are the names of active bots that need knowledge to answer and have none. `faulty_channels` are bot, channel and the fault
    that the platform has reported. `heard_channels` are bot, channel, the time when the platform verified the callback, and the time
    of the last call or message. `platform_channels` are channels whose tokens can be checked. `team_fault` is the reason why the answers
    of the team's group do not arrive, or None.
    """

    problems: list[str]
    checked: bool
    schema_version: int
    newest: int
    check: bytes | None
    webhooks: list[tuple[str, str]]
    mute: list[str]
    faulty_channels: list[tuple[str, str, str]]
    heard_channels: list[tuple[str, str, int | None, int]]
    platform_channels: list[PlatformChannel]
    team_fault: str | None = None


class ServerState(NamedTuple):
    """State of a PostgreSQL server.

    `clock_ms` is its clock. `settings` are those on which durability depends. `may_create` is true if the user may make tables.
    `connections` are the numbers of used and of allowed connections. `is_encrypted` is None for a connection within one machine.
    """

    version: str
    clock_ms: int
    settings: Mapping[str, str]
    may_create: bool
    connections: tuple[int, int]
    is_encrypted: bool | None


def read(connection: Connection, version: int, tiers: frozenset[str]) -> Examined:
    """Examine the content of a store with the schema `version`.

    `tiers` are the names of the tiers that answer from a bot's knowledge alone.
    """
    known = dict(connection.execute("SELECT name, value FROM store_facts").fetchall())
    newest = connection.execute(
        "SELECT max((SELECT coalesce(max(created_at), 0) FROM usage_records), (SELECT coalesce(max(updated_at), 0) FROM accounts))"
    ).fetchone()[0]
    bots = connection.execute(
        "SELECT name, model FROM bots WHERE active = 1 AND id NOT IN (SELECT bot_id FROM knowledge_entries) ORDER BY number LIMIT 100"
    ).fetchall()
    hooks = connection.execute(
        "SELECT bots.name, url FROM webhooks JOIN bots ON bots.id = bot_id WHERE url IS NOT NULL ORDER BY number LIMIT 100"
    ).fetchall()
    faulty = connection.execute(
        """
        SELECT bots.name, channels.channel, channels.fault FROM channels JOIN bots ON bots.id = bot_id
        WHERE fault IS NOT NULL AND state = 'active' ORDER BY number LIMIT 100
        """
    ).fetchall()
    heard = connection.execute(
        """
        SELECT bots.name, channels.channel, verified_at, max(coalesce(seen_at, 0), coalesce(verified_at, 0))
        FROM channels JOIN bots ON bots.id = bot_id WHERE channel <> 'web' AND state = 'active' ORDER BY number LIMIT 100
        """
    ).fetchall()
    platforms = connection.execute(
        """
        SELECT bots.name, channels.id, channels.channel, identity, secrets FROM channels JOIN bots ON bots.id = bot_id
        WHERE channel <> 'web' AND state = 'active' AND secrets IS NOT NULL ORDER BY number LIMIT 100
        """
    ).fetchall()
    mute = [name for name, model in bots if model in tiers]
    team_fault = known[TEAM_FAULT].decode() if TEAM_FAULT in known else None
    channels = [PlatformChannel(*row) for row in platforms]
    return Examined([], True, version, newest, known.get(CHECK), hooks, mute, faulty, heard, channels, team_fault)


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
