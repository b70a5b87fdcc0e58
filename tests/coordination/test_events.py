"""News of conversations over several processes, through a real Valkey or Redis."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack

import pytest

from chatsvc.coordination import broadcast, connection
from chatsvc.coordination.connection import Valkey
from chatsvc.usecases.conversation_events import OPERATOR, VISITOR
from chatsvc.usecases.shared_events import SharedEvents
from tests.api.support import until
from tests.valkey import ValkeyServer, require_program

HERE = ("bot", "web", "visitor")
Open = Callable[..., Awaitable[SharedEvents]]


@pytest.fixture
def server() -> Iterator[ValkeyServer]:
    """A server that tests may stop and freeze."""
    require_program()
    with ValkeyServer() as made:
        yield made


@pytest.fixture
async def events(server: ValkeyServer) -> AsyncIterator[Open]:
    """Make the events of a process, which hear the others."""
    prefix = uuid.uuid4().hex
    async with AsyncExitStack() as stack:

        async def open_one(node: str, *, of: str = prefix) -> SharedEvents:
            valkey = await Valkey.open(server.target(of))
            stack.push_async_callback(valkey.close)
            made = SharedEvents(valkey, node)
            stack.push_async_callback(made.end)
            await heard_by(valkey, made)
            return made

        yield open_one


async def heard_by(valkey: Valkey, made: SharedEvents) -> None:
    """Wait until a process hears what others send."""
    async with asyncio.timeout(10), made.waiting_for(("nobody", "web", "nobody")) as waiter:
        await waiter.wait(10)
        counted = await valkey.execute("PUBSUB", "NUMSUB", valkey.key("events"))
        assert isinstance(counted, list)
        assert counted[1] > 0


async def test_news_wake_those_who_wait_at_another_process(events: Open) -> None:
    one, other, elsewhere = await events("one"), await events("other"), await events("one", of=uuid.uuid4().hex)
    noticed: list[object] = []
    other.observers.append(noticed.append)
    async with one.waiting_for(HERE) as here, other.waiting_for(HERE) as there, elsewhere.waiting_for(HERE):
        one.notify(HERE)
        await here.wait(0)
        began = time.monotonic()
        await there.wait(10)
        assert time.monotonic() - began < 9
        assert elsewhere.waiting == 1
    assert noticed == [HERE]


async def test_those_who_type_are_seen_at_another_process(events: Open) -> None:
    one, other = await events("one"), await events("other")
    one.type(HERE, VISITOR)
    one.type(HERE, VISITOR)
    one.type(HERE, OPERATOR)
    await until(lambda: other.is_typing(HERE, VISITOR) and other.is_typing(HERE, OPERATOR))
    one.stop_typing(HERE, VISITOR)
    await until(lambda: not other.is_typing(HERE, VISITOR))
    assert one.is_typing(HERE, OPERATOR)


async def test_one_that_stops_wakes_nobody_elsewhere(events: Open) -> None:
    one, other = await events("one"), await events("other")
    async with one.waiting_for(HERE) as here, other.waiting_for(HERE):
        one.close()
        await here.wait(10)
        other.notify(("bot", "web", "another"))
        await asyncio.sleep(0.1)
        assert other.waiting == 1


@pytest.mark.parametrize("fault", ["gone", "frozen"])
async def test_after_an_outage_all_are_woken_and_news_come_again(
    events: Open, server: ValkeyServer, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    monkeypatch.setattr(broadcast, "PAUSE_S", 0.05)
    monkeypatch.setattr(connection, "QUIET_S", 0.2)
    one, other = await events("one"), await events("other")
    # A quiet server that answers is not taken for gone.
    async with other.waiting_for(HERE):
        await asyncio.sleep(1)
        assert other.waiting == 1
    async with other.waiting_for(HERE) as there:
        if fault == "gone":
            server.end()
        else:
            server.freeze()
        one.notify(HERE)
        await asyncio.sleep(1)
        assert other.waiting == 1
        if fault == "gone":
            server.start()
        else:
            server.thaw()
        await there.wait(10)
        assert other.waiting == 0
    # Both hear each other again.
    async with asyncio.timeout(20), other.waiting_for(HERE):
        while other.waiting:
            one.notify(HERE)
            await asyncio.sleep(0.05)
