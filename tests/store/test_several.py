"""Several processes that work on one PostgreSQL: their transactions, the list of them, and one that was taken for dead."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, closing, suppress
from pathlib import Path

import pytest

from chatsvc.domain.limiter import Allowance
from chatsvc.domain.models import ServiceNode
from chatsvc.domain.passwords import EMAIL_FAILURES
from chatsvc.services.messages.conversation_locks import ConversationLocks
from chatsvc.store import nodes, sessions
from chatsvc.store.database import Connection, Database, StoreUnavailable
from chatsvc.store.open_turns import NewTurn
from chatsvc.store.postgres import group_commit
from chatsvc.store.postgres.connection import PostgresTarget, connect
from chatsvc.store.postgres.group_commit import PostgresDatabase
from chatsvc.store.postgres.migrations import WAIT_TURN
from chatsvc.store.sqlite import migrations
from tests.fakes import START
from tests.store.support import chat, furnish, new_account

Open = Callable[..., Awaitable[PostgresDatabase]]


def node(name: str) -> ServiceNode:
    """A process of this version."""
    return ServiceNode(name, START, f"{name}:8080", "1.0")


@pytest.fixture
async def join(postgres_target: PostgresTarget) -> AsyncIterator[Open]:
    """Open the database for one of several processes."""
    async with AsyncExitStack() as stack:

        async def open_one(name: str) -> PostgresDatabase:
            opened = await PostgresDatabase.open(postgres_target, readers=2, node=node(name))
            stack.push_async_callback(opened.close)
            return opened

        yield open_one


def add_one(connection: Connection) -> int:
    """Read a number and write the next, as units do."""
    (before,) = connection.execute("SELECT messages_limit FROM accounts WHERE id = 'account'").fetchone()
    connection.execute("UPDATE accounts SET messages_limit = ? WHERE id = 'account'", (before + 1,))
    return int(before)


def count_accounts(connection: Connection) -> object:
    return connection.execute("SELECT count(*) FROM accounts").fetchone()


async def ids(db: Database) -> list[str]:
    """List the processes in the table."""
    return await db.read(lambda connection: [node for (node,) in connection.execute("SELECT id FROM nodes ORDER BY id").fetchall()])


def age(name: str) -> Callable[[Connection], object]:
    """Let a process not have been seen for as long as a dead one."""
    return lambda connection: connection.execute("UPDATE nodes SET seen_at = seen_at - ? WHERE id = ?", (nodes.DEAD_AFTER_MS, name))


async def test_units_find_the_store_as_with_one_process(join: Open) -> None:
    processes = [await join(name) for name in ("one", "two", "three")]
    await furnish(processes[0])
    before = await asyncio.gather(*(processes[number % 3].write(add_one) for number in range(300)))
    assert sorted(before) == list(range(1000, 1300))


async def test_units_that_come_while_a_process_waits_for_its_turn_join_its_transaction(join: Open, postgres_target: PostgresTarget) -> None:
    database = await join("one")

    def number(connection: Connection) -> int:
        return int(connection.execute("SELECT written FROM nodes WHERE id = 'one'").fetchone()[0])

    with closing(connect(postgres_target, writes=True)) as other:
        other.run_script(f"BEGIN; {WAIT_TURN}")
        first = asyncio.create_task(database.write(number))
        await asyncio.sleep(0.3)
        later = [asyncio.create_task(database.write(number)) for _ in range(3)]
        await asyncio.sleep(0.3)
        assert not first.done()
        other.run_script("COMMIT")
        assert len({*await asyncio.gather(first, *later)}) == 1


async def test_delays_after_wrong_passwords_hold_over_all_processes(join: Open) -> None:
    processes = [await join(name) for name in "abc"]
    attempts = await asyncio.gather(*(sessions.begin_attempt(processes[number % 3], "a@b", "192.0.2.1", START) for number in range(30)))
    assert attempts.count(1) == 30 - EMAIL_FAILURES


async def test_the_first_of_a_newer_version_migrates_and_the_older_ones_end(
    join: Open, postgres_target: PostgresTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = await join("one")
    with monkeypatch.context() as newer:
        newer.setattr(migrations, "MIGRATIONS", ("CREATE TABLE newer (number INTEGER PRIMARY KEY) STRICT;",))
        first, second = await asyncio.gather(join("newer"), join("another of the newer version"))
        for db in (first, second):
            assert await db.read(lambda connection: connection.execute("SELECT count(*) FROM newer").fetchone()) == (0,)
            await furnish(db) if db is first else await chat(db)
    with pytest.raises(StoreUnavailable, match="newer version"):
        await chat(database)
    await asyncio.wait_for(database.replaced.wait(), 20)


async def test_one_that_was_taken_for_dead_writes_nothing_of_what_it_had_begun_and_goes_on(join: Open) -> None:
    first, two = await join("one"), await join("two")
    await furnish(first)
    turns = ConversationLocks(first, first.notices, lambda: START)
    held = await turns.reserve(Allowance(0, 0, {}), NewTurn("account", START, "2026-11"), ("bot", "api", "visitor"))
    assert held is not None
    assert await nodes.beat(two, node("two"), removes=True) == []
    await two.write(age("one"))
    assert await nodes.beat(two, node("two"), removes=False) == []
    assert await nodes.beat(two, node("two"), removes=True) == ["one"]
    # The allowance is free again.
    assert await two.read(lambda connection: connection.execute("SELECT count(*) FROM open_turns").fetchone()) == (0,)
    with pytest.raises(StoreUnavailable, match="taken this one for dead"):
        await chat(first, turn=held.turn)
    # It is in the list again, and what it had begun before is not written even so.
    with pytest.raises(StoreUnavailable, match="its turn has ended"):
        await chat(first, turn=held.turn)
    assert await ids(two) == ["one", "two"]
    assert not first.replaced.is_set()
    assert await chat(first) is not None
    assert await two.read(lambda connection: connection.execute("SELECT count(*) FROM messages").fetchone()) == (2,)


async def test_a_process_that_ends_leaves_the_list(join: Open) -> None:
    first, two = await join("one"), await join("two")
    await first.close()
    assert await ids(two) == ["two"]
    assert [node.id for node in await nodes.living(two)] == ["two"]


async def test_one_whose_session_broke_goes_on(join: Open, postgres_target: PostgresTarget, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_commit, "BEAT_S", 3600)  # nothing is sent but what the test sends
    first, two = await join("one"), await join("two")
    await furnish(first)

    async def cut() -> None:
        ended = (
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
        connection = connect(postgres_target, writes=False)
        connection.execute(ended)
        connection.close()

    for db in (first, two):
        await db.aside.run(count_accounts)
        await cut()
        # Nothing was sent on the broken sessions, so that others are opened and nobody notices.
        assert await db.read_quickly(count_accounts) == await db.read(count_accounts) == await db.aside.run(count_accounts) == (1,)
        assert isinstance(await db.write(add_one), int)
    # An older version does not go on in the schema of a newer one.
    await cut()
    with connect(postgres_target, writes=True).driver as driver:
        driver.execute("UPDATE chatsvc_schema SET version = version + 1")
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            await first.write(add_one)
    await asyncio.wait_for(first.replaced.wait(), 20)


HANGING = """
import asyncio, sys, time
from chatsvc.domain.models import ServiceNode
from chatsvc.store.postgres.connection import target
from chatsvc.store.postgres.group_commit import PostgresDatabase
def hang(connection):
    connection.execute("UPDATE accounts SET messages_limit = 1")
    print("inside", flush=True)
    time.sleep(600)
async def work():
    place = target({"host": sys.argv[1], "user": "chatsvc", "dbname": sys.argv[2]}, None)
    db = await PostgresDatabase.open(place, readers=0, node=ServiceNode("victim", 0, "", ""))
    await db.write(hang)
asyncio.run(work())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_one_that_is_killed_or_hangs_within_a_transaction_holds_the_others_up_for_seconds_alone(
    join: Open, postgres_target: PostgresTarget, number: signal.Signals
) -> None:
    first = await join("one")
    await furnish(first)
    arguments = [sys.executable, "-c", HANGING, str(postgres_target.parameters["host"]), str(postgres_target.parameters["dbname"])]
    process = await asyncio.create_subprocess_exec(*arguments, stdout=subprocess.PIPE, cwd=Path(__file__).parent.parent.parent)
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"inside\n"
        process.send_signal(number)
        async with asyncio.timeout(15):
            # Nothing of its transaction is there.
            assert await first.write(add_one) == new_account().messages_limit
        await first.write(age("victim"))
        assert await nodes.beat(first, node("one"), removes=True) == ["victim"]
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
