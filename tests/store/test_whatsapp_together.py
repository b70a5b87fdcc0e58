"""WhatsApp's callbacks of one batch: stored as one after another would be, with the same results."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsvc.domain.whatsapp import WhatsAppAddress
from chatsvc.store import whatsapp_arrivals
from chatsvc.store.database import Database
from chatsvc.store.incoming_messages import NewMessage
from chatsvc.store.sqlite.connection import SqliteConnection, connect
from chatsvc.store.whatsapp import AddressedMessage, ReceivedCallback
from chatsvc.store.whatsapp_arrivals import Arrival
from tests.fakes import START
from tests.store.support import furnish, in_database

pytestmark = pytest.mark.sqlite

PEOPLE = ["1", "2", "3", "4"]
TABLES = {
    "conversations": "number, bot_id, channel, user_id, last_message_at, created_at, updated_at, message_count",
    "messages": "number, conversation, role, content, created_at, incoming, pending, delivery",
    "whatsapp_addresses": "bot_id, conversation, kind, value, is_current, created_at",
    "conversation_counts": "*",
    "incoming_keys": "*",
    "search_queue": "*",
}


@st.composite
def messages(draw: st.DrawFn) -> AddressedMessage:
    """A message of one of few people, by phone number, business-scoped id or both."""
    bot, person, key = draw(st.sampled_from(("a1", "a2"))), draw(st.sampled_from(PEOPLE)), draw(st.sampled_from("xyz"))
    both = WhatsAppAddress("phone", f"90{person}"), WhatsAppAddress("scoped", f"TR.{person}")
    addresses = draw(st.sampled_from((both, both[:1], both[1:])))
    return AddressedMessage(addresses, NewMessage("a", bot, "whatsapp", "", key, f"{bot} {person} {key}".encode(), START))


@st.composite
def callbacks(draw: st.DrawFn) -> Arrival:
    """A callback with messages, and now and then the owner's own."""
    one = draw(messages())
    more = [m for m in draw(st.lists(messages(), max_size=2)) if m.message.bot_id == one.message.bot_id]
    echoes = [(more.pop(), b"sent")] if more and draw(st.integers(0, 5)) == 0 else []
    return Arrival(ReceivedCallback("channel", one.message.bot_id, [one, *more], echoes), START)


async def fill(db: Database) -> None:
    """An account with two bots."""
    await furnish(db, "a", ["a1", "a2"])


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteConnection]:
    """A connection to such a store, whose examples are rolled back."""
    path = tmp_path_factory.mktemp("together") / "chatsvc.db"
    in_database(path, fill)
    with closing(connect(path, writes=True)) as connection:
        yield connection


def written(connection: SqliteConnection, batches: list[list[Arrival]]) -> tuple[list[object], dict[str, list[object]]]:
    """Results of the callbacks, and the rows of the tables after them. Users are named by their conversations' numbers."""
    connection.execute("BEGIN")
    try:
        done = [one for batch in batches for one in whatsapp_arrivals.receive_all(connection, batch)]
        users = dict(connection.execute("SELECT user_id, number FROM conversations"))
        results = [
            (
                {digest: (m.number, users[m.user_id], m.begins, m.handling) for digest, m in one.messages.items()},
                {users[u] for u in one.users},
            )
            for one in done
        ]
        found = {
            table: sorted(
                tuple(users.get(value, value) for value in row)
                for row in connection.execute(f"SELECT {columns} FROM {table}")  # noqa: S608  # its own names
            )
            for table, columns in TABLES.items()
        }
        return list(results), found  # type: ignore[return-value]  # rows of any kind
    finally:
        connection.execute("ROLLBACK")


@given(before=st.lists(callbacks(), max_size=3), batch=st.lists(callbacks(), min_size=2, max_size=4))
def test_a_batch_leaves_and_tells_what_one_after_another_would_have(
    filled: SqliteConnection, before: list[Arrival], batch: list[Arrival]
) -> None:
    earlier = [[one] for one in before]
    assert written(filled, [*earlier, batch]) == written(filled, [*earlier, *([one] for one in batch)])


def test_a_crowd_is_stored_with_few_statements(filled: SqliteConnection) -> None:
    def crowd(size: int) -> list[Arrival]:
        return [
            Arrival(
                ReceivedCallback(
                    "channel",
                    "a1",
                    [
                        AddressedMessage(
                            (WhatsAppAddress("phone", f"905{number}"),),
                            NewMessage("a", "a1", "whatsapp", "", "hello", f"crowd {number}".encode(), START),
                        )
                    ],
                ),
                START,
            )
            for number in range(size)
        ]

    def statements(size: int) -> int:
        seen: list[str] = []
        filled.set_trace_callback(seen.append)
        written(filled, [crowd(size)])
        filled.set_trace_callback(None)
        return len(seen)

    assert statements(64) <= statements(1) + 5
