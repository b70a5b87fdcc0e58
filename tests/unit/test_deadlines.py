"""Deadlines that share one timer: what `asyncio.timeout_at` promises holds for them, too."""

from __future__ import annotations

import asyncio

import pytest

from chatsvc.deadlines import STEP_S, Deadline, Deadlines


async def lasts(deadlines: Deadlines, limit_s: float, seconds: float) -> float:
    """How long it was, in seconds; raises TimeoutError."""
    began = asyncio.get_running_loop().time()
    try:
        with deadlines.until(began + limit_s):
            await asyncio.sleep(seconds)
    except TimeoutError:
        assert asyncio.get_running_loop().time() - began >= limit_s
        raise
    return asyncio.get_running_loop().time() - began


async def test_what_ends_in_time_is_left_alone() -> None:
    deadlines = Deadlines()
    assert await lasts(deadlines, 0.05, 0.0) < 0.05
    await asyncio.sleep(0.1)


async def test_each_ends_at_its_own_deadline_in_whatever_order_they_were_noted() -> None:
    deadlines, ended = Deadlines(), list[int]()

    async def end(number: int, limit_s: float) -> None:
        with pytest.raises(TimeoutError):
            await lasts(deadlines, limit_s, 60.0)
        ended.append(number)

    async with asyncio.timeout(5.0):
        await asyncio.gather(end(0, 0.3), end(1, 0.1), end(2, 0.2), *(end(3, 0.4 + STEP_S * n / 10) for n in range(30)))
    assert ended == [1, 2, 0] + 30 * [3]


async def test_a_deadline_that_has_passed_already_ends_the_first_wait() -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(lasts(Deadlines(), -1.0, 60.0), 5.0)


async def test_who_is_cancelled_by_somebody_else_stays_cancelled() -> None:
    task = asyncio.create_task(lasts(Deadlines(), 60.0, 60.0))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_who_is_cancelled_by_somebody_else_at_the_deadline_stays_cancelled_too() -> None:
    task = asyncio.create_task(lasts(Deadlines(), -1.0, 60.0))
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_soon(task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("outer_first", [True, False])
async def test_of_two_around_the_same_wait_the_one_that_passes_is_told(outer_first: bool) -> None:
    outer, inner, now, told = Deadlines(), Deadlines(), asyncio.get_running_loop().time(), list[str]()
    try:
        with outer.until(now + (0.05 if outer_first else 60.0)):
            try:
                with inner.until(now + (60.0 if outer_first else 0.05)):
                    await asyncio.sleep(30.0)
            except TimeoutError:
                told.append("inner")
    except TimeoutError:
        told.append("outer")
    assert told == ["outer" if outer_first else "inner"]
    current = asyncio.current_task()
    assert current is not None
    assert current.cancelling() == 0


async def test_another_fault_at_the_deadline_is_told_as_it_is() -> None:
    async def stumbles() -> None:
        with Deadlines().until(-1.0):
            try:
                await asyncio.sleep(60.0)
            except asyncio.CancelledError:
                raise KeyError from None

    with pytest.raises(KeyError):
        await stumbles()
    current = asyncio.current_task()
    assert current is not None
    assert current.cancelling() == 0


async def test_a_fault_at_one_deadline_leaves_the_others_theirs() -> None:
    deadlines, loop = Deadlines(), asyncio.get_running_loop()
    faults: list[str] = []
    loop.set_exception_handler(lambda _, context: faults.append(str(context["exception"])))

    class Broken(Deadline):
        def expire(self) -> None:
            raise ArithmeticError("planted")

    deadlines.add(Broken(deadlines, loop.time() + 0.01))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(lasts(deadlines, 0.05, 60.0), 5.0)
    assert faults == ["planted"]
