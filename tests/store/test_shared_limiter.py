"""The rate limit over several processes, counted by a real PostgreSQL."""

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import pytest

from chatsvc.store.database import StoreUnavailable
from chatsvc.store.postgres.connection import PostgresTarget, connect
from chatsvc.store.postgres.limiter import MAX_BATCH, SharedLimiter
from chatsvc.store.postgres.migrations import migrate
from chatsvc.store.postgres.thread import AsideConnection
from tests.fakes import START
from tests.postgres import Postgres

MINUTE = START // 60_000
Open = Callable[[int], SharedLimiter]


@pytest.fixture
def postgres_target(postgres: Postgres) -> PostgresTarget:
    """A database with the tables."""
    target = postgres.target(postgres.new_database())
    connection = connect(target, writes=True)
    migrate(connection, target)
    connection.close()
    return target


@pytest.fixture
async def limiter(postgres_target: PostgresTarget) -> AsyncIterator[Open]:
    """Make the limiters of one installation, each with a connection of its own."""
    async with AsyncExitStack() as stack:

        def open_one(limit: int) -> SharedLimiter:
            aside = AsideConnection(postgres_target)
            stack.push_async_callback(aside.close)
            return SharedLimiter(aside, "api", limit)

        yield open_one


async def test_three_processes_hand_out_exactly_the_limit(limiter: Open) -> None:
    processes = [limiter(120) for _ in range(3)]
    slots = await asyncio.gather(*(processes[number % 3].take("key", START) for number in range(400)))
    assert Counter(slot.taken for slot in slots) == {True: 120, False: 280}
    assert sorted(slot.remaining for slot in slots if slot.taken) == list(range(120))
    assert {(slot.limit, slot.reset) for slot in slots} == {(120, (MINUTE + 1) * 60)}


async def test_keys_do_not_share_a_window_and_the_next_minute_is_another_one(limiter: Open) -> None:
    first, other = limiter(1), limiter(1)
    assert [(await first.take(key, START)).taken for key in ("one", "other", "one")] == [True, True, False]
    assert not (await other.take("one", START)).taken
    assert (await other.take("one", START + 60_000)).taken
    # A clock that was set back must not hand out the same window twice.
    assert not (await first.take("one", START)).taken


async def test_a_look_takes_no_slot_and_an_unknown_caller_sees_the_whole_limit(limiter: Open) -> None:
    single = limiter(5)
    await single.take("key", START)
    looks = [await single.take(key, START, slots=0) for key in ("key", "key", "", "another")]
    assert [slot[:3] for slot in looks] == [(False, 5, 4)] * 2 + [(False, 5, 5)] * 2


async def test_more_requests_than_a_statement_takes_are_answered_in_their_order(limiter: Open) -> None:
    single = limiter(2 * MAX_BATCH)
    slots = await asyncio.gather(*(single.take("key", START) for _ in range(2 * MAX_BATCH + 10)))
    assert [slot.remaining for slot in slots] == [*range(2 * MAX_BATCH - 1, -1, -1), *[0] * 10]


async def test_a_caller_that_has_gone_holds_nobody_up(limiter: Open) -> None:
    single = limiter(5)
    gone, stays = asyncio.create_task(single.take("key", START)), asyncio.create_task(single.take("key", START))
    await asyncio.sleep(0)
    gone.cancel()
    assert (await stays).remaining == 3


async def test_counts_of_earlier_minutes_are_deleted(limiter: Open, postgres_target: PostgresTarget) -> None:
    single = limiter(5)
    for minute in range(4):
        await single.take("key", START + minute * 60_000)
    connection = connect(postgres_target, writes=False)
    assert connection.execute("SELECT minute FROM chatsvc_requests ORDER BY 1").fetchall() == [(MINUTE + 2,), (MINUTE + 3,)]
    connection.close()


async def test_the_stores_clock_decides_where_that_of_a_process_is_wrong(limiter: Open) -> None:
    right, wrong = limiter(1), limiter(1)
    assert (await right.take("key", START)).taken
    await wrong.take("key", START, slots=0)
    # As if this process were two minutes behind the store.
    wrong._behind_ms = 120_000
    assert not (await wrong.take("key", START - 120_000)).taken


async def test_a_store_that_is_gone_refuses_and_is_used_again_once_it_is_back() -> None:
    with Postgres() as server:
        target = server.target(server.new_database())
        connection = connect(target, writes=True)
        migrate(connection, target)
        connection.close()
        aside = AsideConnection(target)
        single = SharedLimiter(aside, "api", 2)
        assert (await single.take("key", START)).taken
        # Immediate: as after a crash.
        server.process.send_signal(signal.SIGQUIT)
        server.process.wait()
        for _ in range(2):
            with pytest.raises(StoreUnavailable):
                await single.take("key", START)
        server.start()
        # It crashed, and its table is empty: one more window.
        assert (await single.take("key", START)).remaining == 1
        await aside.close()
