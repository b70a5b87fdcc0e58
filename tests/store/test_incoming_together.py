"""Incoming messages of one batch: stored as one after another would be, with the same results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsvc.domain.channels import TooManyConversations
from chatsvc.domain.times import DAY_MS
from chatsvc.store import accounts, incoming_messages
from chatsvc.store.database import Database
from chatsvc.store.incoming_messages import NewMessage, StoredMessage
from chatsvc.store.sqlite.connection import SqliteConnection, connect
from tests.fakes import START
from tests.store.support import after, furnish, ignore, in_database, rows

pytestmark = pytest.mark.postgres

BOTS = {"a1": "a", "a2": "a", "gone1": "gone"}
HERE_BEFORE = [NewMessage("a", "a1", "web", "here before", "earlier", b"earlier", START, "a.example")]
TABLES = {
    "conversations": "number, bot_id, channel, user_id, last_message_at, created_at, updated_at, message_count, source_page_host",
    "messages": "number, conversation, role, content, created_at, incoming, pending",
    "conversation_counts": "*",
    "incoming_keys": "*",
    "search_queue": "*",
}


def message(bot: str, user: str, key: str, *, day: int = 0, most: int | None = None, at: int = START) -> NewMessage:
    """A message of a visitor."""
    text, host = f"text {key}", f"{user}.example"
    digest = f"{bot} {user} {key}".encode()
    return NewMessage(BOTS[bot], bot, "web", user, text, digest, at + day * DAY_MS, host, most_new=most)


@st.composite
def messages(draw: st.DrawFn) -> NewMessage:
    """A message of one of few visitors, some of them sent twice."""
    bot, user = draw(st.sampled_from(sorted(BOTS))), draw(st.sampled_from(("v1", "v2", "v3", "here before")))
    return message(bot, user, draw(st.sampled_from(("k1", "k2", "k3"))), most=draw(st.sampled_from((None, 0, 1, 2))))


async def fill(db: Database) -> None:
    """An account with two bots and a conversation, and one that is deleted."""
    for account in ("a", "gone"):
        await furnish(db, account, [bot for bot, owner in BOTS.items() if owner == account])
    await incoming_messages.store(db, HERE_BEFORE[0], ignore)
    await accounts.delete(db, "gone", START, ignore)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteConnection]:
    """A connection to such a store, whose examples are rolled back."""
    path = tmp_path_factory.mktemp("together") / "chatsvc.db"
    in_database(path, fill)
    with closing(connect(path, writes=True)) as connection:
        yield connection


def told(result: object) -> object:
    """Result of a message without the id that is made anew at each writing."""
    if isinstance(result, StoredMessage):
        return result._replace(conversation_id="")
    return type(result)


def written(connection: SqliteConnection, batches: list[list[NewMessage]]) -> tuple[list[object], dict[str, list[object]]]:
    """Results of the messages, and the rows of the tables after them."""
    return after(connection, TABLES, lambda: [told(one) for batch in batches for one in incoming_messages.store_all(connection, batch)])


def same_limit(batch: list[NewMessage]) -> list[NewMessage]:
    """The messages of a bot with one limit, as its channel sends them."""
    limits: dict[str, int | None] = {}
    return [m._replace(most_new=limits.setdefault(m.bot_id, m.most_new)) for m in batch]


@given(batch=st.lists(messages(), min_size=1, max_size=12).map(same_limit))
@pytest.mark.sqlite
def test_a_batch_leaves_and_tells_what_one_after_another_would_have(filled: SqliteConnection, batch: list[NewMessage]) -> None:
    assert written(filled, [batch]) == written(filled, [[one] for one in batch])


def test_the_limit_of_a_day_counts_conversations_that_begin_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "chatsvc.db"

    async def work(db: Database) -> list[str]:
        await furnish(db, "a", ["a1"])
        said = []
        for m in (
            message("a1", "v1", "k1", most=2),
            message("a1", "v1", "k2", most=2),
            message("a1", "v2", "k1", most=2),
            message("a1", "v3", "k1", most=2),
            message("a1", "v1", "k3", most=2),
            message("a1", "v3", "k1", day=1, most=2),
        ):
            try:
                said.append("stored" if await incoming_messages.store(db, m, ignore) else "erased")
            except TooManyConversations:
                said.append("refused")
        return said

    assert in_database(path, work) == ["stored"] * 3 + ["refused", "stored", "stored"]
    assert rows(path, "SELECT conversations, begun FROM conversation_counts") == [(3, 1)]
