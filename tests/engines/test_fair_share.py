"""Fair share of the processor: accounts in turn, a few pieces of work in each iteration of the event loop."""

import asyncio
import threading
from dataclasses import replace

from chatsvc.engines import Turn
from chatsvc.engines.fair_share import AT_A_TIME, FairShare
from tests.engines.test_anthropic import TURN

CROWD = 5 * AT_A_TIME


def of(account: str, message: str = "hello") -> Turn:
    """A message to a bot of an account."""
    return replace(TURN, bot=TURN.bot._replace(account_id=account), message=message)


async def test_accounts_work_in_turn_and_each_in_its_order() -> None:
    share, done = FairShare(), list[str]()
    crowd = [asyncio.create_task(share.run(lambda turn: done.append(turn.message), of("a", f"a{number}"))) for number in range(CROWD)]
    others = [asyncio.create_task(share.run(lambda turn: done.append(turn.message), of(name, name))) for name in ("b", "c")]
    await asyncio.sleep(0)
    assert done == [f"a{number}" for number in range(AT_A_TIME)], "a few at a time, and the loop reads what others have sent"
    await asyncio.wait([*crowd, *others])
    assert done[AT_A_TIME : AT_A_TIME + 3] == [f"a{AT_A_TIME}", "b", "c"]
    assert [name for name in done if name[0] == "a"] == [f"a{number}" for number in range(CROWD)]


async def test_who_stops_waiting_takes_no_share() -> None:
    share, done = FairShare(), list[str]()
    tasks = [asyncio.create_task(share.run(lambda turn: done.append(turn.message), of("a", f"{number}"))) for number in range(CROWD)]
    await asyncio.sleep(0)
    waits, chosen = tasks[-1], tasks[AT_A_TIME]
    waits.cancel()
    await asyncio.sleep(0)  # the first are released: the next have their share, and have not run
    chosen.cancel()
    await asyncio.wait(tasks)
    assert done == [f"{number}" for number in range(CROWD - 1) if number != AT_A_TIME]
    await asyncio.sleep(0.01)
    await asyncio.wait_for(share.run(lambda turn: done.append(turn.message), of("a", "later")), 20)


async def test_long_work_runs_in_a_few_threads_and_leaves_the_loop_free() -> None:
    share, go, running = FairShare(), threading.Event(), list[str]()

    def work(turn: Turn) -> None:
        running.append(turn.message)
        go.wait(10)

    tasks = [asyncio.create_task(share.run(work, of("a", "long " * 50))) for _ in range(CROWD)]
    async with asyncio.timeout(20):
        while len(running) < AT_A_TIME:  # noqa: ASYNC110  # threads have no asyncio.Event
            await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    assert len(running) == AT_A_TIME
    go.set()
    await asyncio.wait(tasks)
    assert len(running) == CROWD


def test_a_loop_that_ended_keeps_no_share() -> None:
    share = FairShare()
    for _ in range(2 * AT_A_TIME):
        assert asyncio.run(share.run(lambda turn: turn.message, of("a"))) == "hello"
