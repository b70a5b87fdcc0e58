"""One account out of the database and into another: its records page by page, in bounded memory and time for each.

Records name one another by the ids that they keep, never by their numbers, which belong to a database. What comes in stays out of
everyone's sight until all of it is there: its account counts as deleted, at a time that no clock shows.
"""

from __future__ import annotations

import sqlite3
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from chatsvc.domain.transfer import RECORDS, Record
from chatsvc.store import facts
from chatsvc.store.accounts import COMING
from chatsvc.store.database import Database

PAGE = 1_000_000  # characters, or a little more
WINDOW = 500  # numbers looked at in one query
WINDOWS = 40  # in one unit
_EACH = 200

# The tables whose rows are walked by their number. What comes into being after the walk has begun is left out.
_TABLES = {
    "bot": "bots",
    "knowledge": "knowledge_entries",
    "synonyms": "knowledge_synonyms",
    "unanswered": "unanswered_questions",
    "conversation": "conversations",
    "message": "messages",
    "request": "requests",
    "appointment": "appointments",
    "event": "webhook_events",
    "attempt": "webhook_attempts",
    "usage": "usage_records",
}
_BY_KEY = {
    "account": "SELECT id, {} FROM accounts t WHERE id = ?1 AND id > ?2 LIMIT ?3",
    "allowance": "SELECT month, {} FROM allowances t WHERE account_id = ?1 AND month > ?2 ORDER BY month LIMIT ?3",
    "webhook": "SELECT bot_id, {} FROM webhooks t WHERE bot_id IN (SELECT id FROM bots WHERE account_id = ?1) AND bot_id > ?2"
    " ORDER BY bot_id LIMIT ?3",
    "answer": "SELECT key, {} FROM idempotency_keys t WHERE account_id = ?1 AND key > ?2 ORDER BY key LIMIT ?3",
    "key": "SELECT id, {} FROM api_keys t WHERE account_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3",
}
_ELSEWHERE = {
    ("message", "conversation_id"): "p.id",
    ("request", "conversation_id"): "p.id",
    ("appointment", "request_id"): "p.id",
    ("attempt", "event"): "p.event",
    ("attempt", "record_id"): "p.record_id",
    ("attempt", "told_at"): "p.created_at",
}
_JOINS = {
    "message": "JOIN conversations p ON p.number = t.conversation",
    "request": "JOIN conversations p ON p.number = t.conversation",
    "appointment": "JOIN requests p ON p.number = t.request",
    "attempt": "JOIN webhook_events p ON p.number = t.event_number",
}
_OF_ACCOUNT = {
    "bot": "t.account_id = ?1",
    "conversation": "t.account_id = ?1",
    "message": "p.account_id = ?1",
    "usage": "t.account_id = ?1",
}
_OF_BOTS = "t.bot_id IN (SELECT id FROM bots WHERE account_id = ?1)"


def _fields(kind: str) -> str:
    return ", ".join(_ELSEWHERE.get((kind, name), f"t.{name}") for name in RECORDS[kind])


_SELECT = {
    kind: f"SELECT t.number, {_fields(kind)} FROM {table} t {_JOINS.get(kind, '')}"
    f" WHERE t.number > ?2 AND t.number <= ?3 AND +{_OF_ACCOUNT.get(kind, _OF_BOTS)} ORDER BY t.number"
    for kind, table in _TABLES.items()
} | {kind: text.format(_fields(kind)) for kind, text in _BY_KEY.items()}
_LAST = {kind: f"SELECT coalesce(max(number), 0) FROM {table}" for kind, table in _TABLES.items()}
_KINDS = tuple(RECORDS)


class Place(NamedTuple):
    """How far a walk is: the kind of record, the number or key of the last row looked at, and the numbers at which it ends."""

    kind: str
    after: int | str
    until: dict[str, int]


async def begin(db: Database) -> Place:
    """Where a walk over an account begins."""

    def unit(connection: sqlite3.Connection) -> Place:
        return Place(_KINDS[0], "", {kind: connection.execute(_LAST[kind]).fetchone()[0] for kind in _TABLES})

    return await db.read(unit)


async def walk(db: Database, account_id: str, place: Place) -> tuple[list[tuple[str, Record]], Place | None]:
    """The records behind a place, and the place that they end at; None where nothing follows. Signing keys are sealed, in base64."""

    def unit(connection: sqlite3.Connection) -> tuple[list[tuple[str, Record]], Place | None]:
        records: list[tuple[str, Record]] = []
        room, at = PAGE, place
        for _ in range(WINDOWS):
            rows, nearly = _window(connection, account_id, at)
            records += [(at.kind, _record(at.kind, row[1:])) for row in rows]
            room -= sum(_EACH + sum(len(value) for value in row if isinstance(value, str | bytes)) for row in rows)
            following = nearly or _behind(at)
            if following is None:
                return records, None
            at = following
            if room <= 0:
                break
        return records, at

    return await db.read(unit)


def _window(connection: sqlite3.Connection, account_id: str, at: Place) -> tuple[list[tuple[Any, ...]], Place | None]:
    """A few rows of one kind, and where to go on among them; None where that kind is through."""
    if at.kind in _TABLES:
        start, end = int(at.after or 0), at.until[at.kind]
        stop = min(start + WINDOW, end)
        rows = connection.execute(_SELECT[at.kind], (account_id, start, stop)).fetchall()
        return rows, at._replace(after=stop) if stop < end else None
    rows = connection.execute(_SELECT[at.kind], (account_id, at.after, WINDOW)).fetchall()
    return rows, at._replace(after=rows[-1][0]) if len(rows) == WINDOW else None


def _behind(at: Place) -> Place | None:
    following = _KINDS.index(at.kind) + 1
    return Place(_KINDS[following], "", at.until) if following < len(_KINDS) else None


def _record(kind: str, values: Sequence[Any]) -> Record:
    record: Record = {}
    for (name, (form, _)), value in zip(RECORDS[kind].items(), values, strict=True):
        if isinstance(value, bytes):
            record[name] = b64encode(value).decode()
        else:
            record[name] = bool(value) if form == "flag" and value is not None else value
    return record


def _insert(kind: str, table: str, given: Sequence[str], parent: str = "") -> str:
    """An INSERT whose row is made only where the parent is the account's; `given` are columns that the record has under its name."""
    columns = [name for name in RECORDS[kind] if (kind, name) not in _ELSEWHERE]
    places = ", ".join((*columns, *(one.split("=")[0] for one in given)))
    values = ", ".join((*(f":{name}" for name in columns), *(one.split("=")[1] for one in given)))
    return f"INSERT INTO {table} ({places}) SELECT {values} {parent}"


_MINE = ["account_id=:account_id"]
_OWN_BOT = "FROM bots b WHERE b.id = :bot_id AND b.account_id = :account_id"
_INSERT = {
    "account": _insert("account", "accounts", [f"deleted_at={COMING}"]),
    "allowance": _insert("allowance", "allowances", _MINE),
    "bot": _insert("bot", "bots", _MINE),
    "knowledge": _insert("knowledge", "knowledge_entries", [], _OWN_BOT),
    "synonyms": _insert("synonyms", "knowledge_synonyms", [], _OWN_BOT),
    "unanswered": _insert("unanswered", "unanswered_questions", [], _OWN_BOT),
    "webhook": _insert("webhook", "webhooks", [], _OWN_BOT),
    "conversation": _insert("conversation", "conversations", [*_MINE, "message_count=0"], _OWN_BOT),
    "message": _insert(
        "message",
        "messages",
        ["conversation=p.number"],
        "FROM conversations p WHERE p.id = :conversation_id AND p.account_id = :account_id",
    ),
    "request": _insert(
        "request",
        "requests",
        ["conversation=p.number"],
        "FROM conversations p WHERE p.id = :conversation_id AND p.bot_id = :bot_id AND p.account_id = :account_id",
    ),
    "appointment": _insert(
        "appointment",
        "appointments",
        ["request=p.number"],
        "FROM requests p JOIN bots b ON b.id = p.bot_id WHERE p.id = :request_id AND b.id = :bot_id AND b.account_id = :account_id",
    ),
    "event": _insert("event", "webhook_events", [], _OWN_BOT),
    "attempt": _insert(
        "attempt",
        "webhook_attempts",
        ["event_number=p.number"],
        "FROM webhook_events p JOIN bots b ON b.id = p.bot_id WHERE b.id = :bot_id AND b.account_id = :account_id"
        " AND p.created_at = :told_at AND p.event = :event AND p.record_id = :record_id LIMIT 1",
    ),
    "usage": _insert("usage", "usage_records", _MINE, "FROM bots b WHERE b.id = :bot_id AND b.account_id = :account_id"),
    "answer": _insert("answer", "idempotency_keys", _MINE),
    # The digest of a key stays behind where its account has been deleted; the account is back.
    "key": _insert("key", "api_keys", _MINE, "WHERE 1")
    + " ON CONFLICT (digest) DO UPDATE SET account_id = excluded.account_id, label = excluded.label, prefix = excluded.prefix,"
    " last_used_at = excluded.last_used_at WHERE api_keys.account_id IS NULL",
}


class Unfitting(Exception):
    """A record that cannot be taken in: one of its kind and id is here already, or what it refers to is not. The text is its kind."""


async def put(db: Database, account_id: str, records: Sequence[tuple[str, Record]], seal: Callable[[bytes, Record], bytes]) -> None:
    """Write records of an account that is coming in, all of them or none; raises Unfitting. `seal` gives a webhook's key sealed."""

    def unit(connection: sqlite3.Connection) -> None:
        said: Counter[object] = Counter()
        for kind, record in records:
            values = {**record, "account_id": account_id}
            if kind == "webhook":
                values["signing_key"] = seal(facts.check_in(connection), record)
            try:
                written = connection.execute(_INSERT[kind], values).rowcount
            except sqlite3.IntegrityError:
                raise Unfitting(kind) from None
            if written != 1:
                raise Unfitting(kind)
            if kind == "message":
                said[record["conversation_id"]] += 1
            elif kind == "conversation":
                connection.execute(
                    """
                    INSERT INTO conversation_counts (account_id, bot_id, channel, conversations)
                    VALUES (:account_id, :bot_id, :channel, 1) ON CONFLICT DO UPDATE SET conversations = conversations + 1
                    """,
                    values,
                )
        connection.executemany(
            "UPDATE conversations SET message_count = message_count + ? WHERE id = ?", [(count, one) for one, count in said.items()]
        )

    await db.write(unit)
