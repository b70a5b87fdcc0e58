"""Waiting for one's turn in a conversation: one at a time, first come first served, whoever gives up on the way."""

import asyncio
import random

import pytest

from chatsvc.domain.models import Exchange
from chatsvc.services.messages.conversation_locks import Busy, ConversationLocks

HERE = ("bot", "api", "visitor")


async def _never() -> Exchange:
    await asyncio.Event().wait()
    raise AssertionError


@pytest.mark.parametrize("seed", range(20))
async def test_one_at_a_time_in_the_order_of_their_coming_whoever_gives_up(seed: int) -> None:
    chance, locks, loop = random.Random(seed), ConversationLocks(), asyncio.get_running_loop()
    order: list[int] = []
    inside = 0

    async def one(number: int, deadline_s: float, steps: int) -> None:
        nonlocal inside
        async with locks.lock(HERE, loop.time() + deadline_s):
            inside += 1
            assert inside == 1
            order.append(number)
            try:
                for _ in range(steps):
                    await asyncio.sleep(0)
            finally:
                inside -= 1

    async def give_up(task: asyncio.Task[None], steps: int) -> None:
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()

    tasks, given_up = [], []
    for number in range(40):
        tasks.append(asyncio.create_task(one(number, chance.choice((0.0, 5.0, 5.0, 5.0)), chance.randrange(4))))
        if chance.random() < 0.4:
            given_up.append(asyncio.create_task(give_up(tasks[-1], chance.randrange(60))))
        if chance.random() < 0.3:
            await asyncio.sleep(0)
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.gather(*given_up)
    assert all(outcome is None or isinstance(outcome, (Busy, asyncio.CancelledError)) for outcome in ended), ended
    assert order == sorted(order)
    assert {number for number, outcome in enumerate(ended) if outcome is None} <= set(order)
    assert locks.waiting == 0
    assert await locks.locked("visitor", HERE[0]) == []


async def test_the_stop_waits_for_the_answers_and_no_longer_than_it_may() -> None:
    locks = ConversationLocks()
    hanging = locks.start(_never())
    await asyncio.sleep(0)
    assert locks.unfinished == 1
    await locks.drain(0.05)
    assert hanging.cancelled()
    assert locks.unfinished == 0
