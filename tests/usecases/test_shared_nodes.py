"""Processes that work on one store: which of them does the common work, and what becomes of one that dies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from chatsvc import background
from chatsvc.domain.nodes import WORKING, ServiceNode
from chatsvc.store import nodes as stored
from chatsvc.store import open_turns
from chatsvc.store.database import Database, StoreUnavailable
from chatsvc.usecases.nodes import SharedNodeBeat
from tests.fakes import START
from tests.postgres import open_store
from tests.store.support import furnish, rows

pytestmark = pytest.mark.postgres


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what happens within seconds."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110  # of tasks in the background, which have no event for it
            await asyncio.sleep(0.02)


class Process:
    """One of several processes, with what its beat asked it to do."""

    def __init__(self, db: Database, name: str) -> None:
        self.asked: list[object] = []
        self.fails = False
        self.beat = SharedNodeBeat(db, ServiceNode(name, WORKING, START, name, "1.0"), self.begin, self.take_over)

    async def begin(self) -> None:
        """Begin the common work."""
        if self.fails:
            self.fails = False
            raise StoreUnavailable("an outage")
        self.asked.append("begin")

    async def take_over(self, dead: list[str]) -> None:
        """Take over what dead processes left."""
        self.asked.append(sorted(dead))

    async def die(self) -> None:
        """End without a word."""
        await background.cancel(self.beat._task)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of the database."""
    return tmp_path / "chatsvc.db"


@pytest.fixture
async def db(path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    """A store in which a process is dead after two seconds."""
    monkeypatch.setattr(stored, "BEAT_S", 0.05)
    monkeypatch.setattr(stored, "DEAD_AFTER_MS", 2000)
    opened = await open_store(path)
    await furnish(opened)
    yield opened
    await opened.close()


@pytest.fixture
async def start(db: Database) -> AsyncIterator[Callable[..., Any]]:
    """Start a process."""
    async with AsyncExitStack() as stack:

        async def start_one(name: str, store: Any = db) -> Process:
            made = Process(store, name)
            stack.push_async_callback(made.die)
            await until(lambda: made.beat._last is not None)
            return made

        yield start_one


async def hold(db: Database, node: str) -> None:
    """Open a turn of a process."""
    await open_turns.begin(db, open_turns.NewTurn(node, "account", START, "2026-11"))


async def test_the_first_does_the_common_work_and_the_next_one_after_it(db: Database, path: Path, start: Callable[..., Any]) -> None:
    one, two = await start("one"), await start("two")
    await until(lambda: one.asked == ["begin"])
    await hold(db, "one")
    await hold(db, "two")
    assert two.asked == []
    await one.beat.stop()
    await until(lambda: two.asked == ["begin"])
    assert rows(path, "SELECT id FROM nodes") == [("two",)]
    assert rows(path, "SELECT node FROM open_turns") == [("two",)]


async def test_what_the_dead_leave_is_taken_over(db: Database, path: Path, start: Callable[..., Any]) -> None:
    one, two, three = await start("one"), await start("two"), await start("three")
    await hold(db, "two")
    await two.die()
    await until(lambda: rows(path, "SELECT id FROM nodes ORDER BY id") == [("one",), ("three",)])
    assert rows(path, "SELECT node FROM open_turns") == []
    await one.die()
    await until(lambda: three.asked == ["begin"])
    assert rows(path, "SELECT id FROM nodes") == [("three",)]


async def test_the_common_work_is_begun_again_after_an_outage(start: Callable[..., Any], db: Database) -> None:
    one = Process(db, "one")
    one.fails = True
    await until(lambda: one.asked == ["begin"])
    await one.die()


class Store:
    """A store that cannot be used while `is_away`."""

    def __init__(self, db: Database) -> None:
        self._db, self.is_away = db, False

    async def write(self, *arguments: Any) -> Any:
        """See Database.write."""
        if self.is_away:
            raise StoreUnavailable("an outage")
        return await self._db.write(*arguments)


async def test_after_an_outage_nobody_is_taken_for_dead_at_once(db: Database, path: Path, start: Callable[..., Any]) -> None:
    store = Store(db)
    one, two = await start("one", store), await start("two", store)
    # Long enough that they may remove others.
    await asyncio.sleep(2.2)
    store.is_away = True
    await asyncio.sleep(2.2)
    store.is_away = False
    last = one.beat._last
    await until(lambda: one.beat._last != last)
    await until(lambda: two.beat._last != last)
    await asyncio.sleep(0.2)
    assert rows(path, "SELECT id FROM nodes ORDER BY id") == [("one",), ("two",)]
    # Where the store is away at the end, the others remove it.
    store.is_away = True
    await one.beat.stop()
    assert rows(path, "SELECT id FROM nodes ORDER BY id") == [("one",), ("two",)]
