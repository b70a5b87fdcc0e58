"""News of conversations over several processes, through a real PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from chatsvc.services.conversations.conversation_events import OPERATOR, VISITOR, ConversationEvents
from chatsvc.store.postgres import notices
from chatsvc.store.postgres.connection import PostgresTarget, connect
from chatsvc.store.postgres.notices import PostgresNotices
from chatsvc.store.postgres.thread import AsideConnection
from tests.api.support import until

HERE = ("bot", "web", "visitor")
Open = Callable[[str], Awaitable[ConversationEvents]]


@pytest.fixture
async def events(postgres_target: PostgresTarget) -> AsyncIterator[Open]:
    """Make the events of a process, which hears the others."""
    async with AsyncExitStack() as stack:

        async def open_one(node: str) -> ConversationEvents:
            aside = AsideConnection(postgres_target)
            stack.push_async_callback(aside.close)
            notices = PostgresNotices(postgres_target, aside, node)
            stack.push_async_callback(notices.close)
            listening = asyncio.Event()
            notices.listen(lambda _: None, listening.set)
            await asyncio.wait_for(listening.wait(), 10)
            shared = ConversationEvents(notices)
            shared.listen()
            return shared

        yield open_one


async def test_news_and_nothing_else_wake_those_who_wait_at_another_process(events: Open) -> None:
    first, other = await events("one"), await events("other")
    noticed: list[object] = []
    other.observers.append(noticed.append)
    async with first.waiting_for(HERE) as here, other.waiting_for(HERE) as there:
        first._tell("another kind", HERE)
        first.notify(HERE)
        assert here.is_set()
        await asyncio.wait_for(there.wait(), 20)
    assert noticed == [HERE]


async def test_those_who_type_are_seen_at_another_process(events: Open) -> None:
    first, other = await events("one"), await events("other")
    first.type(HERE, VISITOR)
    first.type(HERE, VISITOR)
    first.type(HERE, OPERATOR)
    await until(lambda: other.typing.has(HERE, VISITOR) and other.typing.has(HERE, OPERATOR))
    first.stop_typing(HERE, VISITOR)
    await until(lambda: not other.typing.has(HERE, VISITOR))
    assert first.typing.has(HERE, OPERATOR)


async def test_one_that_stops_wakes_nobody_elsewhere(events: Open) -> None:
    first, other = await events("one"), await events("other")
    async with first.waiting_for(HERE) as here, other.waiting_for(HERE):
        first.close()
        assert here.is_set()
        other.notify(("bot", "web", "another"))
        await asyncio.sleep(0.1)
        assert other.waiting == 1


async def test_after_a_break_all_are_woken_and_news_come_again(
    events: Open, postgres_target: PostgresTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "PAUSE_S", 0.05)
    first, other = await events("one"), await events("other")
    async with other.waiting_for(HERE) as there:
        connection = connect(postgres_target, writes=False)
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
        connection.close()
        await asyncio.wait_for(there.wait(), 10)
        assert other.waiting == 0
    async with asyncio.timeout(20), other.waiting_for(HERE):
        while other.waiting:
            first.notify(HERE)
            await asyncio.sleep(0.05)
