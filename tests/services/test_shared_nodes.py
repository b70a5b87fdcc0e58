"""Processes that work on one store: what becomes of the things that one leaves when it dies."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from chatsvc import background
from chatsvc.domain.models import ServiceNode
from chatsvc.services.operations.nodes import Leases, NodeBeat
from chatsvc.store import nodes, open_turns
from chatsvc.store import nodes as stored
from chatsvc.store.database import Database, StoreUnavailable
from tests.fakes import START
from tests.store.support import rows

pytestmark = pytest.mark.postgres


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110  # of tasks in the background, which have no event for it
            await asyncio.sleep(0.02)


class Process:
    """One of several processes; `taken` counts how often it took over."""

    def __init__(self, db: Database, name: str) -> None:
        self.taken = 0
        self.fails = False
        self.beat = NodeBeat(db, ServiceNode(name, START, name, "1.0"))
        self.beat.take_over = self.take_over

    async def take_over(self) -> None:
        if self.fails:
            self.fails = False
            raise StoreUnavailable("an outage")
        self.taken += 1

    async def die(self) -> None:
        await background.cancel(self.beat._task)


@pytest.fixture(autouse=True)
async def _quick_death(db: Database, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """A process is dead after two seconds."""
    monkeypatch.setattr(stored, "BEAT_S", 0.05)
    monkeypatch.setattr(stored, "DEAD_AFTER_MS", 2000)
    own = NodeBeat(db, ServiceNode(db.node or "", START, "", "1.0"))
    yield
    await own.stop()


@pytest.fixture
async def start(db: Database) -> AsyncIterator[Callable[..., Any]]:
    async with AsyncExitStack() as stack:

        async def start_one(name: str, store: Any = db) -> Process:
            process = Process(store, name)
            stack.push_async_callback(process.die)
            await until(lambda: process.beat._last is not None)
            return process

        yield start_one


async def hold(db: Database, node: str) -> None:
    await open_turns.begin(db, open_turns.NewTurn("account", START, "2026-11", node=node))
    assert await nodes.hold_lease(db, f"work of {node}", node)


def living(path: Path) -> set[str]:
    return {name for (name,) in rows(path, "SELECT id FROM nodes") if name in ("one", "two", "three")}


async def test_what_the_dead_leave_is_taken_over_by_one_of_the_others(db: Database, path: Path, start: Callable[..., Any]) -> None:
    first, two, three = await start("one"), await start("two"), await start("three")
    await hold(db, "one")
    await hold(db, "two")
    first.fails = three.fails = True  # after an outage it tries again
    await two.die()
    await until(lambda: living(path) == {"one", "three"})
    await until(lambda: first.taken + three.taken == 1)
    assert rows(path, "SELECT node FROM open_turns") == rows(path, "SELECT node FROM leases") == [("one",)]
    assert await nodes.hold_lease(db, "work of two", "three")
    await first.die()
    await until(lambda: living(path) == {"three"})


async def test_a_named_lease_has_one_holder(db: Database) -> None:
    assert [await nodes.hold_lease(db, "work", node) for node in ("one", "two", "one")] == [True, False, True]
    assert await nodes.hold_lease(db, "other work", "two")
    await stored.remove(db, "one")
    assert [await nodes.hold_lease(db, "work", node) for node in ("two", "one")] == [True, False]


async def test_work_is_done_where_its_lease_is_held() -> None:
    done: list[str] = []
    held = {"mine"}

    class Some(Leases):
        async def hold(self, name: str) -> bool:
            return name in held

    async def work() -> None:
        done.append("work")

    for name in ("mine", "another's"):
        await Some().guarding(name, work)()
    await Leases().guarding("any", work)()
    assert done == ["work", "work"]


class Store:
    """A store that cannot be used while `is_away`."""

    def __init__(self, db: Database) -> None:
        self._db, self.is_away = db, False

    async def write(self, *arguments: Any, **named: Any) -> Any:
        if self.is_away:
            raise StoreUnavailable("an outage")
        return await self._db.write(*arguments, **named)


async def test_after_an_outage_nobody_is_taken_for_dead_at_once(db: Database, path: Path, start: Callable[..., Any]) -> None:
    store = Store(db)
    first, two = await start("one", store), await start("two", store)
    # Long enough that they may remove others.
    await asyncio.sleep(2.2)
    store.is_away = True
    await asyncio.sleep(2.2)
    store.is_away = False
    last = first.beat._last
    await until(lambda: first.beat._last != last)
    await until(lambda: two.beat._last != last)
    await asyncio.sleep(0.2)
    assert living(path) == {"one", "two"}
