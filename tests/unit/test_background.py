"""Background tasks: a fault is logged, and the work runs again."""

import asyncio

import pytest

from chatsvc import background


class Work:
    """Raises its faults one after the other, then works."""

    def __init__(self, *faults: Exception) -> None:
        self.faults, self.runs = list(faults), 0
        self.worked = asyncio.Event()

    async def __call__(self) -> None:
        self.runs += 1
        if self.faults:
            raise self.faults.pop(0)
        self.worked.set()


async def test_a_fault_is_logged_and_the_work_runs_again(caplog: pytest.LogCaptureFixture) -> None:
    work = Work(ZeroDivisionError("planted"), KeyError("another"))
    task = background.run("the loop", work, 0.01)
    async with asyncio.timeout(20):
        await work.worked.wait()
    await background.cancel(task)
    assert work.runs >= 3
    assert [record.message for record in caplog.records] == ["the loop: unexpected fault; next attempt in 0.01 s"] * 2
    assert "ZeroDivisionError: planted" in caplog.text
    caplog.clear()
    await asyncio.wait_for(background.run("the loop", Work(OSError("disk full")), 0.0, once=True), 20)
    assert [(record.message, record.exc_info) for record in caplog.records] == [("the loop: disk full; next attempt in 0 s", None)]


async def test_work_that_must_not_run_twice_is_not_repeated(caplog: pytest.LogCaptureFixture) -> None:
    work = Work(ZeroDivisionError("planted"))
    await asyncio.wait_for(background.start("the work", work()), 20)
    assert work.runs == 1
    assert "the work: unexpected fault" in caplog.text
    assert "ZeroDivisionError: planted" in caplog.text


async def test_a_cancelled_task_ends() -> None:
    task = background.run("the loop", Work(), 60.0)
    await background.cancel(task)
    assert task.cancelled()
    await background.cancel()
