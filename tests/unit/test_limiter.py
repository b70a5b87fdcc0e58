"""The rate limit: fixed windows on the minute of the clock."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsvc.domain.limiter import Limiter, Slot, untouched

MINUTE = 60_000
NOON = 1_795_176_840_000  # a whole minute


@pytest.mark.parametrize(
    ("limit", "times", "expected"),
    [
        # A window begins on the minute of the clock, and not with the first request.
        (1, [MINUTE - 1, MINUTE - 1, MINUTE], [(True, 0, 60), (False, 0, 60), (True, 0, 120)]),
        # A clock that goes back a little does not hand out a window twice; one set back by more than a window is believed.
        (2, [0, 0, -1], [(True, 1, 60), (True, 0, 60), (False, 0, 60)]),
        (1, [0, -MINUTE, -MINUTE - 1], [(True, 0, 60), (False, 0, 60), (True, 0, -60)]),
        (1, [86_400_000, 0], [(True, 0, 86_460), (True, 0, 60)]),
    ],
)
async def test_a_window_is_a_minute_of_the_clock(limit: int, times: list[int], expected: list[tuple[bool, int, int]]) -> None:
    limiter = Limiter(limit)
    slots = [await limiter.take("key", NOON + later) for later in times]
    assert slots == [Slot(taken, limit, remaining, NOON // 1000 + reset) for taken, remaining, reset in expected]


async def test_a_look_takes_no_slot_and_an_unknown_caller_sees_the_whole_limit() -> None:
    limiter = Limiter(5)
    await limiter.take("key", NOON)
    assert await limiter.take("key", NOON, slots=0) == await limiter.take("key", NOON, slots=0) == Slot(False, 5, 4, NOON // 1000 + 60)
    for key, now in (("", NOON), ("never seen", NOON), ("key", NOON + MINUTE)):
        assert (await limiter.take(key, now, slots=0)).remaining == 5
    assert untouched(120, NOON) == untouched(120, NOON + MINUTE - 1) == Slot(False, 120, 120, NOON // 1000 + 60)
    assert untouched(120, NOON - 1).reset == NOON // 1000
    await limiter.take("key", NOON)
    limiter.limit = 1  # lowered within the window
    assert not (await limiter.take("key", NOON)).taken


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 40_000)), max_size=200), st.integers(1, 5))
def test_no_key_ever_gets_more_than_the_limit_in_a_minute(steps: list[tuple[str, int]], limit: int) -> None:
    limiter = Limiter(limit)
    taken: Counter[tuple[str, int]] = Counter()
    asked: Counter[tuple[str, int]] = Counter()
    now = NOON
    for key, later in steps:
        now += later
        window = (key, now // MINUTE)
        asked[window] += 1
        slot = asyncio.run(limiter.take(key, now))
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
