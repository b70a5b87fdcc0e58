"""Turns over several processes: exact allowance, one turn of a conversation at a time, one answer for an Idempotency-Key."""

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from chatsvc.domain import errors
from chatsvc.domain.errors import ProblemError
from chatsvc.domain.limiter import Allowance, HeldMessage
from chatsvc.domain.models import ConversationKey
from chatsvc.services.conversations.conversation_events import ConversationEvents
from chatsvc.services.messages import conversation_locks
from chatsvc.services.messages.conversation_locks import Busy, ConversationLocks, OpenElsewhere
from chatsvc.store import accounts, open_turns
from chatsvc.store.database import Database, StoreUnavailable
from chatsvc.store.open_turns import NewTurn
from tests.fakes import START
from tests.store.support import chat, rows

Processes = list[ConversationLocks]
pytestmark = pytest.mark.postgres

HERE = ("bot", "api", "visitor")
NOVEMBER = "2026-11"


class Notices:
    """Notices between the processes."""

    def __init__(self) -> None:
        self._hear: list[Callable[[list[Any]], None]] = []

    def send(self, *message: object) -> None:
        for hear in self._hear:
            hear(list(message))

    def listen(self, heard: Callable[[list[Any]], None], missed: Callable[[], None]) -> None:
        del missed
        self._hear.append(heard)


@pytest.fixture
async def processes(db: Database) -> AsyncIterator[Processes]:
    notices = Notices()
    processes = [ConversationLocks(db, notices, lambda: START) for _ in range(3)]
    for process in processes:
        process.listen()
    yield processes
    for process in processes:
        await process.drain(1)


async def reserve(process: ConversationLocks, conversation: ConversationKey | None = None, **fields: Any) -> HeldMessage | None:
    return await process.reserve(Allowance(0, 0, {}), NewTurn("account", START, NOVEMBER)._replace(**fields), conversation)


def lock(process: ConversationLocks, seconds: float) -> AbstractAsyncContextManager[None]:
    return process.lock(HERE, asyncio.get_running_loop().time() + seconds)


async def limit(db: Database, messages: int, credits: int = 0) -> None:
    await accounts.update(db, "account", {"messages_limit": messages, "message_credits": credits})


async def held(process: ConversationLocks, **fields: Any) -> HeldMessage:
    reservation = await reserve(process, **fields)
    assert reservation
    return reservation


def number(message: HeldMessage) -> int:
    assert message.turn is not None
    return message.turn


async def test_the_end_of_a_turn_is_no_news_of_a_conversation(db: Database) -> None:
    notices = Notices()
    events, locks = ConversationEvents(notices), ConversationLocks(db, notices, lambda: START)
    events.listen()
    locks.listen()
    async with events.waiting_for(HERE) as news:
        locks.announce()
        assert not news.is_set()
        events.notify(HERE)
        assert news.is_set()


async def test_three_processes_never_hold_more_than_is_left(db: Database, processes: Processes) -> None:
    await limit(db, 30, credits=5)
    attempts = await asyncio.gather(*(reserve(processes[number % 3]) for number in range(100)))
    reserved = [(processes[number % 3], message) for number, message in enumerate(attempts) if message is not None]
    assert len(reserved) == 35
    # Given back, sent, and lost with their process.
    for process, message in reserved[:10]:
        await process.release(message)
        await process.release(message)
    for _, message in reserved[10:20]:
        counts = await chat(db, user_id=f"of {message.turn}", turn=message.turn)
        assert counts is not None
        message.close()
    again = await asyncio.gather(*(reserve(processes[number % 3]) for number in range(20)))
    assert sum(message is not None for message in again) == 10


async def test_a_message_of_another_month_has_that_months_allowance(db: Database, processes: Processes) -> None:
    await limit(db, 1)
    assert (await held(processes[0])).month == NOVEMBER
    assert await reserve(processes[1]) is None
    assert (await held(processes[1], month="2026-12")).month == "2026-12"


async def test_an_exchange_ends_its_turn_and_that_of_a_deleted_account_as_well(db: Database, path: Path, processes: Processes) -> None:
    message, other = await held(processes[0]), await held(processes[1])
    await chat(db, turn=message.turn)
    assert rows(path, "SELECT number FROM open_turns") == [(other.turn,)]
    await accounts.delete(db, "account", START)
    assert await chat(db, turn=other.turn) is None
    assert rows(path, "SELECT number FROM open_turns") == []
    with pytest.raises(ProblemError, match="account_not_found"):
        await reserve(processes[0])


async def test_turns_of_a_conversation_run_one_at_a_time_in_the_order_of_their_messages(processes: Processes) -> None:
    inside, order = 0, []
    deadline = asyncio.get_running_loop().time() + 20

    async def turn(process: ConversationLocks, message: HeldMessage) -> None:
        nonlocal inside
        async with process.lock(HERE, deadline, message):
            inside += 1
            assert inside == 1
            order.append(number(message))
            await asyncio.sleep(0.001)
            inside -= 1
        await process.release(message)

    chance = random.Random(3)
    turns = []
    for _ in range(30):
        process = chance.choice(processes)
        turns.append(asyncio.create_task(turn(process, await held(process, conversation=HERE))))
    await asyncio.gather(*turns)
    assert order == sorted(order)
    assert [process.waiting for process in processes] == [0, 0, 0]


async def test_other_conversations_and_new_ones_wait_for_nobody(processes: Processes) -> None:
    first, other, new = processes
    message, two, three = await held(first, conversation=HERE), await held(other, conversation=("bot", "web", "visitor")), await held(new)
    async with first.lock(HERE, 0, message), other.lock(("bot", "web", "visitor"), 0, two), new.lock(HERE, 0, three):
        assert await first.locked("visitor", "bot") == [HERE, ("bot", "web", "visitor")]
        assert await other.locked("another visitor", "bot") == []


async def test_a_lock_without_a_message_stands_in_the_same_line(processes: Processes) -> None:
    first, second, third = processes
    message = await held(first, conversation=HERE)
    entered = asyncio.Event()

    async def erase() -> None:
        async with lock(second, 20):
            entered.set()
            await asyncio.sleep(0.05)

    erasing = asyncio.create_task(erase())
    await until(lambda: second.waiting)
    with pytest.raises(Busy):
        async with lock(third, 0.1):
            pass
    assert not entered.is_set()
    await first.release(message)
    await erasing
    async with lock(third, 20):
        assert await third.locked("visitor", "bot") == [HERE]
    assert await third.locked("visitor", "bot") == []


async def test_one_that_gives_up_holds_nobody_up(processes: Processes) -> None:
    first, second, third = processes
    message = await held(first, conversation=HERE)

    async def wait(process: ConversationLocks) -> None:
        async with lock(process, 20):
            pass

    gives_up, stays = asyncio.create_task(wait(second)), asyncio.create_task(wait(third))
    await until(lambda: second.waiting and third.waiting)
    gives_up.cancel()
    with pytest.raises(asyncio.CancelledError):
        await gives_up
    await first.release(message)
    await stays


async def until(holds: Callable[[], int]) -> None:
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110  # of the register itself, which has no event for it
            await asyncio.sleep(0.001)


async def join(process: ConversationLocks, joining: list[ConversationLocks]) -> None:
    with pytest.raises(OpenElsewhere) as known:
        await reserve(process, key="key", fingerprint=b"fields")
    assert known.value.fingerprint == b"fields"
    joining.append(process)
    await known.value.wait(asyncio.get_running_loop().time() + 20)


@pytest.mark.parametrize(
    "problem",
    [errors.assistant_unavailable(reason="timeout"), errors.invalid_json(errors.Because(tr="Şöyle.", en="Thus.")), None],
    ids=["reason", "because", "none"],
)
async def test_those_who_join_a_turn_share_its_problem(processes: Processes, problem: ProblemError | None) -> None:
    first, second, third = processes
    message = await held(first, key="key", fingerprint=b"fields")
    joining: list[ConversationLocks] = []
    joined = [asyncio.create_task(join(process, joining)) for process in (second, third)]
    await until(lambda: len(joining) == 2)
    await asyncio.sleep(0.05)
    assert not any(task.done() for task in joined)
    await first.release(message, problem)
    outcomes = await asyncio.gather(*joined, return_exceptions=True)
    if problem is None:
        assert outcomes == [None, None]
    else:
        assert [outcome.as_json() for outcome in outcomes if isinstance(outcome, ProblemError)] == [problem.as_json()] * 2
    # Whoever comes later tries anew.
    assert number(await held(second, key="key", fingerprint=b"fields")) > number(message)


async def test_a_key_with_a_recorded_answer_is_known(db: Database, processes: Processes) -> None:
    await chat(db, key="key")
    with pytest.raises(OpenElsewhere) as known:
        await reserve(processes[0], key="key", fingerprint=b"fields")
    assert known.value.fingerprint == b"digest of the fields"
    await known.value.wait(0)
    # One who joins an open turn gives up at the deadline.
    await held(processes[0], key="another", fingerprint=b"fields")
    with pytest.raises(OpenElsewhere) as known:
        await reserve(processes[1], key="another", fingerprint=b"fields")
    with pytest.raises(Busy):
        await known.value.wait(0)


async def test_outcomes_are_kept_for_a_while_and_then_deleted(db: Database, path: Path, processes: Processes) -> None:
    message, other = await held(processes[0], key="key", fingerprint=b"fields"), await held(processes[1])
    await processes[0].release(message, errors.assistant_unavailable(reason="timeout"))
    assert rows(path, "SELECT month, place FROM open_turns WHERE outcome IS NOT NULL") == [(None, None)]
    await open_turns.end(db, number(other), START + open_turns.OUTCOME_MS)
    assert rows(path, "SELECT number FROM open_turns") == []


async def test_an_exchange_whose_turn_has_been_taken_over_is_not_written(db: Database, path: Path, processes: Processes) -> None:
    message, other = await held(processes[0]), await held(processes[1])
    await db.write(lambda connection: open_turns.delete(connection, number(message)))
    written = await asyncio.gather(
        *(chat(db, user_id=f"of {number(turn)}", turn=number(turn)) for turn in (message, other)), return_exceptions=True
    )
    assert [type(outcome).__name__ for outcome in written] == ["StoreUnavailable", "Counts"]
    assert rows(path, "SELECT user_id FROM conversations") == [(f"of {number(other)}",)]
    assert rows(path, "SELECT messages_used FROM allowances") == [(1,)]


async def test_one_that_waits_is_refused_where_its_turn_has_been_taken_over(db: Database, processes: Processes) -> None:
    first, second, _ = processes
    await held(first, conversation=HERE)
    waits = await held(second, conversation=HERE)

    async def wait() -> None:
        async with second.lock(HERE, asyncio.get_running_loop().time() + 20, waits):
            pass

    waiting = asyncio.create_task(wait())
    await until(lambda: second.waiting)
    await db.write(lambda connection: open_turns.delete(connection, number(waits)))
    with pytest.raises(StoreUnavailable):
        await waiting


async def test_turns_of_a_process_that_has_ended_are_deleted(db: Database, processes: Processes) -> None:
    await limit(db, 1)
    await held(processes[0], conversation=HERE)
    await db.write(lambda connection: connection.execute("DELETE FROM open_turns WHERE node = ?", (db.node or "",)).rowcount)
    message = await held(processes[1], conversation=HERE)
    async with processes[1].lock(HERE, 0, message):
        pass


class Outage:
    """A store that cannot be used while `is_on`."""

    def __init__(self, db: Database) -> None:
        self._db, self.is_on = db, False

    def __getattr__(self, name: str) -> Any:
        if self.is_on and name != "node":

            async def unavailable(*_: object, **__: object) -> None:
                raise StoreUnavailable("an outage")

            return unavailable
        return getattr(self._db, name)


async def test_an_outage_refuses_those_who_wait_and_turns_end_after_it(
    db: Database, path: Path, processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation_locks, "STORE_PAUSE_S", 0.01)
    monkeypatch.setattr(conversation_locks, "END_S", 0.05)
    outage: Any = Outage(db)
    cut_off = ConversationLocks(outage, Notices(), lambda: START)
    message = await held(cut_off, conversation=HERE)

    async def wait() -> None:
        async with lock(cut_off, 20):
            pass

    waiting = asyncio.create_task(wait())
    await until(lambda: cut_off.waiting)
    outage.is_on = True
    with pytest.raises(StoreUnavailable):
        await waiting
    await cut_off.release(message)
    assert rows(path, "SELECT count(*) FROM open_turns") == [(2,)]
    outage.is_on = False
    async with lock(processes[0], 20):
        pass
    await until(lambda: rows(path, "SELECT count(*) FROM open_turns") == [(0,)])
    # One that cannot be ended goes with its process.
    message = await held(cut_off)
    outage.is_on = True
    await cut_off.release(message)
    await cut_off.drain(1)
    assert rows(path, "SELECT count(*) FROM open_turns") == [(1,)]
