"""The rate limit: fixed windows on the minute of the clock."""

from __future__ import annotations

import asyncio
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from chatsvc.domain.limiter import Limiter, Slot, untouched

MINUTE = 60_000
NOON = 1_795_176_840_000  # a whole minute


async def test_a_window_begins_on_the_minute_of_the_clock_and_not_with_the_first_request() -> None:
    limiter = Limiter(1)
    last = NOON + MINUTE - 1
    assert await limiter.take("key", last) == Slot(True, 1, 0, NOON // 1000 + 60)
    assert not (await limiter.take("key", last)).taken
    assert await limiter.take("key", last + 1) == Slot(True, 1, 0, NOON // 1000 + 120)


async def test_a_look_takes_no_slot_and_an_unknown_caller_sees_the_whole_limit() -> None:
    limiter = Limiter(5)
    await limiter.take("key", NOON)
    assert await limiter.peek("key", NOON) == Slot(False, 5, 4, NOON // 1000 + 60)
    assert await limiter.peek("key", NOON) == await limiter.peek("key", NOON)
    assert (await limiter.peek(None, NOON)).remaining == 5
    assert (await limiter.peek("never seen", NOON)).remaining == 5
    assert (await limiter.peek("key", NOON + MINUTE)).remaining == 5


async def test_a_clock_that_goes_back_a_little_does_not_hand_out_a_window_twice() -> None:
    limiter = Limiter(2)
    await limiter.take("key", NOON)
    await limiter.take("key", NOON)
    slot = await limiter.take("key", NOON - 1)
    assert not slot.taken
    assert slot.reset == NOON // 1000 + 60


async def test_a_clock_set_back_by_more_than_a_window_is_believed() -> None:
    limiter = Limiter(1)
    await limiter.take("key", NOON)
    assert not (await limiter.take("key", NOON - MINUTE)).taken
    assert await limiter.take("key", NOON - MINUTE - 1) == Slot(True, 1, 0, NOON // 1000 - 60)
    ahead = Limiter(1)
    assert (await ahead.take("key", NOON + 86_400_000)).taken
    assert await ahead.take("key", NOON) == Slot(True, 1, 0, NOON // 1000 + 60)


async def test_a_limit_that_was_lowered_within_the_window_lets_nobody_through() -> None:
    limiter = Limiter(3)
    for _ in range(3):
        await limiter.take("key", 0)
    limiter.limit = 1
    slot = await limiter.take("key", 0)
    assert (slot.taken, slot.remaining) == (False, 0)


def test_whoever_is_not_counted_sees_the_whole_limit_of_the_minute() -> None:
    assert untouched(120, NOON) == untouched(120, NOON + MINUTE - 1) == Slot(False, 120, 120, NOON // 1000 + 60)
    assert untouched(120, NOON - 1).reset == NOON // 1000


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 40_000)), max_size=200), st.integers(1, 5))
def test_no_key_ever_gets_more_than_the_limit_in_a_minute(steps: list[tuple[str, int]], limit: int) -> None:
    asyncio.run(_walk(steps, Limiter(limit)))


async def _walk(steps: list[tuple[str, int]], limiter: Limiter) -> None:
    taken: Counter[tuple[str, int]] = Counter()
    asked: Counter[tuple[str, int]] = Counter()
    now = NOON
    for key, later in steps:
        now += later
        window = (key, now // MINUTE)
        asked[window] += 1
        slot = await limiter.take(key, now)
        taken[window] += slot.taken
        assert slot.remaining == limiter.limit - taken[window]
        assert slot.reset * 1000 == (now // MINUTE + 1) * MINUTE
    assert taken == {window: min(limiter.limit, count) for window, count in asked.items()}


async def test_memory_holds_the_keys_of_one_window_alone() -> None:
    limiter = Limiter(10)
    for i in range(1000):
        await limiter.take(f"key-{i}", NOON)
    await limiter.take("key", NOON + MINUTE)
    assert limiter._counts == {"key": 1}
