"""The database of the running service: all that waits goes to the disk in one transaction, and each is answered by itself."""

import asyncio
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from chatsvc.store.batches import MAX_BATCH
from chatsvc.store.database import Connection, ConstraintViolated, Database, StoreUnavailable
from tests.postgres import open_store
from tests.store.support import rows
from tests.store.test_database import names, note


class Held:
    """A unit that blocks the writer until its release. Later units form a batch."""

    def __init__(self) -> None:
        self.busy = threading.Event()
        self.let_go = threading.Event()

    def __call__(self, _: Connection) -> str:
        self.busy.set()
        assert self.let_go.wait(10)
        return "held"


async def start_held(db: Database) -> tuple[Held, asyncio.Task[str]]:
    """The writer, busy."""
    held = Held()
    task = asyncio.create_task(db.write(held))
    await asyncio.to_thread(held.busy.wait, 10)
    return held, task


async def queued(db: Database, *writes: asyncio.Task[str]) -> None:
    """Wait until the tasks have put their units into the queue."""
    # A task begins at the next turn of the loop and has queued its unit at its first await.
    await asyncio.sleep(0)
    assert len(db.writer.queue) == len(writes)


def write(db: Database, unit: Callable[[Connection], str], done: Callable[[str], None] | None = None) -> asyncio.Task[str]:
    """One write in a task of its own, which calls `done` with the result as soon as it goes on."""

    async def run() -> str:
        result = await db.write(unit)
        if done is not None:
            done(result)
        return result

    return asyncio.create_task(run())


async def behind_a_busy_writer(
    db: Database, units: Iterable[Callable[[Connection], str]], done: Callable[[str], None] | None = None
) -> list[str | BaseException]:
    """Write units that wait together while the writer is busy; return their results."""
    held, first = await start_held(db)
    writes = [write(db, unit, done) for unit in units]
    await queued(db, *writes)
    # Reading goes on while the disk is slow.
    assert await asyncio.wait_for(db.read(names), 20) == []
    held.let_go.set()
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert await first == "held"
    return results


FAULT = LookupError("mine")


def raises(connection: Connection) -> str:
    """A unit that writes and then raises."""
    note("undone")(connection)
    raise FAULT


def fails_at_the_commit(connection: Connection) -> str:
    """A unit that goes well, and whose transaction cannot be committed."""
    connection.execute("PRAGMA defer_foreign_keys=ON")
    connection.execute("INSERT INTO allowances (account_id, month, messages_used) VALUES ('nobody', '2026-11', 1)")
    return "never"


@pytest.mark.sqlite
async def test_units_that_wait_go_into_one_transaction(group: Database) -> None:
    statements: list[str] = []

    def watch(connection: Any) -> str:
        connection.set_trace_callback(statements.append)
        return "watching"

    await group.write(watch)
    statements.clear()
    assert await behind_a_busy_writer(group, (note(f"{i:02}") for i in range(20))) == [f"{i:02}" for i in range(20)]
    assert [text for text in statements if text.startswith(("BEGIN", "COMMIT"))] == ["BEGIN IMMEDIATE", "COMMIT"] * 2
    assert sum(text.startswith("INSERT") for text in statements) == 20


async def test_more_than_a_batch_is_written_and_callers_go_on_in_the_order_of_the_commits(group: Database) -> None:
    order: list[str] = []
    wanted = [f"{i:04}" for i in range(MAX_BATCH + 10)]
    assert await behind_a_busy_writer(group, map(note, wanted), order.append) == order == await group.read(names) == wanted


async def test_a_unit_that_fails_undoes_itself_alone_and_tells_its_own_caller_alone(group: Database) -> None:
    units = [note("a"), note("b"), note("a"), note("c"), raises, note("d"), raises]
    results = await behind_a_busy_writer(group, units)
    assert isinstance(results.pop(2), ConstraintViolated)
    assert results == ["a", "b", "c", FAULT, "d", FAULT]
    assert await group.read(names) == ["a", "b", "c", "d"]


async def test_a_unit_that_fails_before_it_has_read_its_rows_leaves_the_others_alone(group: Database) -> None:
    def fails(connection: Connection) -> str:
        # SQLite makes and releases no savepoint while a statement that writes has rows left.
        left = connection.execute("INSERT INTO store_facts (name, value) VALUES ('undone', ?) RETURNING name", (b"x",))
        raise LookupError("mine", left is None)

    results = await behind_a_busy_writer(group, [fails, note("a"), fails, note("b")])
    assert (results[1], results[3]) == ("a", "b")
    assert isinstance(results[0], LookupError)
    assert isinstance(results[2], LookupError)
    assert await group.read(names) == ["a", "b"]


async def test_reads_that_wait_share_a_snapshot_and_a_fault_fails_its_own_alone(group: Database) -> None:
    def divide(item: int) -> Callable[[Connection], int]:
        return lambda connection: 12 // connection.execute("SELECT 0 + ?", (item,)).fetchone()[0]

    held = Held()
    busy = asyncio.create_task(group.read_quickly(held))
    await asyncio.to_thread(held.busy.wait, 10)
    reads = [asyncio.create_task(group.read_quickly(divide(item))) for item in (1, 2, 3, 4, 0, 6)]
    await asyncio.sleep(0)
    held.let_go.set()
    *results, fault, last = await asyncio.gather(*reads, return_exceptions=True)
    assert (results, last) == ([12, 6, 4, 3], 2)
    assert isinstance(fault, ZeroDivisionError)
    await busy


async def test_a_read_that_failed_leaves_no_snapshot_to_the_next_one(group: Database) -> None:
    def fails(connection: Connection) -> None:
        cursor = connection.execute("SELECT name FROM store_facts")
        raise LookupError(cursor.fetchone())

    for name in ("a", "b"):
        await group.write(note(name))
    with pytest.raises(LookupError):
        await group.read_quickly(fails)
    await group.write(note("c"))
    assert await group.read_quickly(names) == ["a", "b", "c"]


async def test_what_takes_long_to_read_never_holds_up_what_is_quick(group: Database) -> None:
    held = [Held() for _ in range(4)]
    reading = [asyncio.create_task(group.read(statement)) for statement in held]
    await asyncio.to_thread(held[1].busy.wait, 10)
    assert await asyncio.wait_for(group.read_quickly(names), 20) == []
    for statement in held:
        statement.let_go.set()
    assert await asyncio.gather(*reading) == ["held"] * 4


async def test_a_caller_that_is_cancelled_leaves_its_unit_committed_in_its_place(group: Database) -> None:
    order: list[str] = []
    held, first = await start_held(group)
    others = [write(group, note(f"{i}"), order.append) for i in range(5)]
    await queued(group, *others)
    for gone in (others[0], others[3]):
        gone.cancel()
    held.let_go.set()
    results = await asyncio.gather(first, *others, return_exceptions=True)
    assert [isinstance(result, asyncio.CancelledError) for result in results] == [False, True, False, False, True, False]
    assert order == ["1", "2", "4"]
    assert await group.read(names) == ["0", "1", "2", "3", "4"]


@pytest.mark.sqlite
async def test_a_commit_that_fails_fails_the_whole_batch(group: Database, path: Path) -> None:
    applied: list[str] = []
    results = await behind_a_busy_writer(group, [note("a"), fails_at_the_commit, note("b")], applied.append)
    assert [type(result) for result in results] == [ConstraintViolated] * 3
    assert applied == []
    assert rows(path, "SELECT * FROM store_facts") == []
    assert await group.write(note("after")) == "after"
    assert await group.read(names) == ["after"]


@pytest.mark.sqlite
async def test_a_full_disk_fails_the_unit_that_needs_room_or_the_whole_batch_and_never_lies(group: Database, path: Path) -> None:
    def fill_up(connection: Connection) -> str:
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count={pages}")
        return "full"

    await group.write(fill_up)
    applied: list[str] = []
    units = [note(f"{i}", b"x" * (10 if i % 2 else 50_000)) for i in range(6)]
    results = await behind_a_busy_writer(group, units, applied.append)
    messages = [result for result in results if isinstance(result, str)]
    assert all(isinstance(result, StoreUnavailable) for result in results[::2])
    assert applied == messages
    assert [name for (name,) in rows(path, "SELECT name FROM store_facts ORDER BY name")] == messages


async def test_closing_lets_the_units_that_wait_be_written(path: Path) -> None:
    db = await open_store(path)
    held, first = await start_held(db)
    others = [write(db, note(f"{i:04}")) for i in range(MAX_BATCH * 2)]
    await queued(db, *others)
    closing = asyncio.create_task(db.close())
    await asyncio.sleep(0.01)
    assert not closing.done()
    held.let_go.set()
    await closing
    assert len(await asyncio.gather(first, *others)) == MAX_BATCH * 2 + 1
    assert rows(path, "SELECT count(*) FROM store_facts") == [(MAX_BATCH * 2,)]


async def test_a_read_under_way_ends_before_the_store_closes(path: Path) -> None:
    db = await open_store(path)
    held = Held()
    reading = asyncio.create_task(db.read(held))
    await asyncio.to_thread(held.busy.wait, 10)
    closing = asyncio.create_task(db.close())
    await asyncio.sleep(0.01)
    held.let_go.set()
    await closing
    assert await reading == "held"


async def test_a_closed_store_says_so_and_closing_twice_does_no_harm(path: Path) -> None:
    db = await open_store(path)
    await db.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await db.write(note("late"))
    with pytest.raises(StoreUnavailable, match="closed"):
        await db.read(names)
    await db.close()


async def test_a_reader_sees_one_snapshot_and_cannot_write(group: Database) -> None:
    before = threading.Event()
    written = threading.Event()

    def reads_twice(connection: Connection) -> tuple[list[str], list[str]]:
        first = names(connection)
        before.set()
        assert written.wait(10)
        return first, names(connection)

    reading = asyncio.create_task(group.read(reads_twice))
    await asyncio.to_thread(before.wait, 10)
    await group.write(note("a"))
    written.set()
    assert await reading == ([], [])
    with pytest.raises(StoreUnavailable, match=r"read-?only"):
        await group.read(note("b"))


@pytest.mark.sqlite
async def test_a_reader_does_not_checkpoint(group: Database) -> None:
    assert await group.read(lambda connection: connection.execute("PRAGMA wal_autocheckpoint").fetchone()) == (0,)
