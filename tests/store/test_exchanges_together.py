"""Exchanges written in one batch have the same effect and results as one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsvc.domain.captures import Appointment, Request
from chatsvc.domain.times import DAY_MS
from chatsvc.store import accounts, exchanges, webhooks
from chatsvc.store.database import Database, StoreFault
from chatsvc.store.exchanges import Counts, NewCapture, NewExchange
from chatsvc.store.open_turns import TurnLost
from chatsvc.store.sqlite.connection import SqliteConnection
from chatsvc.store.sqlite.group_commit import GroupCommitDatabase
from chatsvc.store.sqlite.writer import open_writer
from tests.fakes import START
from tests.store.support import after, chat, furnish, in_database, new_exchange, rows
from tests.store.test_group_commit import start_held

pytestmark = pytest.mark.postgres

BOTS = {"a1": "a", "a2": "a", "b1": "b", "gone1": "gone"}
OLD_KEYS = 40
# An id that is made anew at each writing cannot be compared.
TABLES = {
    "conversations": "number, account_id, bot_id, channel, user_id, visitor_name, visitor_email, last_message_at, created_at, updated_at, "
    "message_count, dialogue",
    "messages": "number, conversation, role, content, created_at",
    **dict.fromkeys(
        (
            "accounts",
            "allowances",
            "bots",
            "conversation_counts",
            "usage_records",
            "idempotency_keys",
            "requests",
            "appointments",
            "webhook_events",
        ),
        "*",
    ),
}
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)


@st.composite
def captures(draw: st.DrawFn) -> NewCapture:
    """A request, and perhaps an appointment."""
    unique = str(draw(st.uuids()))
    name, email = draw(st.none() | texts), draw(st.none() | texts)
    request = Request(unique, "contact", "new", "call me", name, email, None, "", START)
    appointment = Appointment(unique, request, "pending", "2026-11-20", "09:30", START, START)
    return NewCapture(request, appointment if draw(st.booleans()) else None, tell=draw(st.booleans()))


@st.composite
def exchanges_of_anybody(draw: st.DrawFn) -> NewExchange:
    """An exchange of one of few visitors, in any order of time."""
    bot = draw(st.sampled_from(sorted(BOTS)))
    user, channel = draw(st.sampled_from(("v1", "v2", "\U0001f9d1\u200d\U0001f33e", "here before"))), draw(st.sampled_from(("api", "web")))
    at, month = START + draw(st.integers(0, DAY_MS - 1)), draw(st.sampled_from(("2026-11", "2026-12")))
    key = draw(st.none() | st.sampled_from(("k1", "k2", "k3")))
    made = new_exchange(bot, BOTS[bot], user, channel=channel, at=at, text=draw(texts), key=key, month=month)
    captured = draw(st.none() | st.none() | captures())
    return made._replace(dialogue=draw(st.none() | texts), tokens=draw(st.integers(0, 2**53)), captured=captured)


async def fill(db: Database) -> None:
    """Two accounts that live, with little left, and one that is deleted."""
    for account in ("a", "b", "gone"):
        await furnish(db, account, [bot for bot, owner in BOTS.items() if owner == account])
        await chat(db, bot_id=f"{account}1", account_id=account, user_id="here before", at=START + 1000)
    await accounts.update(db, "a", {"messages_limit": 3, "message_credits": 2})
    await accounts.update(db, "b", {"messages_limit": 0, "message_credits": 1})
    await accounts.delete(db, "gone", START)
    await db.write(lambda connection: connection.execute("INSERT INTO store_facts VALUES ('master_key_check', x'')"))
    hook = webhooks.Webhook("a1", "https://example.com", ("request.created", "appointment.created"), b"", START, START)
    await webhooks.put(db, hook, lambda check: check)
    old = [("a", f"old {i}", b"digest", "{}", START - DAY_MS - OLD_KEYS + i) for i in range(OLD_KEYS)]
    await db.write(lambda connection: connection.executemany("INSERT INTO idempotency_keys VALUES (?, ?, ?, ?, ?)", old))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteConnection]:
    """A connection to such a store. An example's changes are rolled back."""
    path = tmp_path_factory.mktemp("together") / "chatsvc.db"
    in_database(path, fill)
    with closing(open_writer(path)) as connection:
        yield connection


def written(
    connection: SqliteConnection, batches: list[list[NewExchange]]
) -> tuple[list[Counts | TurnLost | None], dict[str, list[object]]]:
    """The results of the exchanges, and the rows of the tables afterwards."""
    return after(connection, TABLES, lambda: [counts for batch in batches for counts in exchanges._write(connection, batch)])


@given(batch=st.lists(exchanges_of_anybody(), min_size=1, max_size=12, unique_by=lambda x: (x.captured and x.captured.request.id) or id(x)))
@pytest.mark.sqlite
def test_a_batch_leaves_and_tells_what_one_after_another_would_have(filled: SqliteConnection, batch: list[NewExchange]) -> None:
    assert written(filled, [batch]) == written(filled, [[exchange] for exchange in batch])


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), texts), max_size=70))
def test_many_rows_at_once_are_written_in_their_order_and_returned(values: list[tuple[int, str]]) -> None:
    with closing(SqliteConnection(":memory:")) as connection:
        connection.execute("CREATE TABLE t (number INTEGER PRIMARY KEY, value INTEGER, text TEXT)")
        connection.at_once("INSERT INTO t (value, text) VALUES ", "(?, ?)", [value for row in values for value in row])
        assert connection.execute("SELECT value, text FROM t ORDER BY number").fetchall() == values
        changed = [value for number, (_, text) in enumerate(values, 1) for value in (number, f"{text}!")]
        end = "ON CONFLICT DO UPDATE SET text = excluded.text RETURNING number, value, text"
        found = connection.at_once("INSERT INTO t (number, text) VALUES ", "(?, ?)", changed, end)
        assert sorted(found) == [(number, value, f"{text}!") for number, (value, text) in enumerate(values, 1)]


async def test_what_callers_send_at_once_is_counted_in_its_order_and_a_fault_of_one_touches_no_other(
    group: GroupCommitDatabase, path: Path
) -> None:
    await furnish(group)
    seen: list[Counts | None] = []

    async def record(exchange: NewExchange) -> Counts | None:
        seen.append(await exchanges.record(group, exchange))
        return seen[-1]

    held, first = await start_held(group)
    batch = [new_exchange(user_id=f"v{i % 5}", text=f"{i}") for i in range(20)]
    batch[7] = batch[7]._replace(message=None)  # type: ignore[arg-type]  # which the store refuses
    others = [asyncio.create_task(record(exchange)) for exchange in batch]
    await asyncio.sleep(0)
    held.let_go.set()
    _, *results = await asyncio.gather(first, *others, return_exceptions=True)
    assert isinstance(results.pop(7), StoreFault)
    assert results == seen == [Counts(i, 0, i) for i in range(1, 20)]
    said = [text for (text,) in rows(path, "SELECT content FROM messages WHERE role = 'user' ORDER BY number")]
    assert said == [f"{i}" for i in range(20) if i != 7]
    assert rows(path, "SELECT user_id, message_count FROM conversations ORDER BY number") == [
        ("v0", 8),
        ("v1", 8),
        ("v2", 6),
        ("v3", 8),
        ("v4", 8),
    ]
