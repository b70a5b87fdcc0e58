"""Queue of deliveries. It finds due deliveries in the store, marks them, sends them and writes the outcomes.

The deliveries to one receiver form a lane. A delivery is marked in the store before it is sent, so that nothing is sent twice. The outcome
is written in the transaction that marks the next deliveries of the lane. Only deliveries in flight are in memory.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from chatsvc import background
from chatsvc.store.database import STORE_PAUSE_S, Connection, Database, StoreUnavailable, until_written

log = logging.getLogger(__name__)

Row = TypeVar("Row")
Item = TypeVar("Item")


class Outcome(NamedTuple):
    """Outcome of an attempt to send a delivery. `write` stores it, and afterwards `then` is called. `code` is counted unless it is None.

    `is_answered` is true if the receiver was reached. For `pause_s` seconds nothing more is sent to the receiver; if `conversation` is
    not None, only the deliveries of that conversation pause.
    """

    code: str | None
    write: Callable[[Connection], None]
    is_answered: bool = True
    pause_s: float = 0.0
    conversation: int | None = None
    then: Callable[[], object] = lambda: None


@dataclass(eq=False)
class Lane:
    """Deliveries to one receiver. `in_flight` counts the deliveries that are being sent.

    `held` maps each paused conversation to the loop time at which it continues. Until the loop time `paused_until`, nothing is sent.
    `outcomes` are not written yet. `more` is true if deliveries may be due. `silences` counts the last attempts in a row without an
    answer.
    """

    name: str
    in_flight: int = 0
    outcomes: list[Outcome] = field(default_factory=list)
    more: bool = True
    held: dict[int, float] = field(default_factory=dict)
    paused_until: float = 0.0
    silences: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def wait_s(self, now: float) -> float | None:
        """Remove the pauses that have ended. Return the seconds until the next pause ends, or None if there is no pause."""
        ended = [conversation for conversation, until in self.held.items() if until <= now]
        for conversation in ended:
            del self.held[conversation]
        self.more |= bool(ended)
        until = [*self.held.values()] + ([self.paused_until] if self.paused_until > now else [])
        return min(until) - now if until else None


class DeliveryQueue(ABC, Generic[Row, Item]):
    """Queue that sends the deliveries of one kind. Before start() and after close() it sends only deliveries that a person requests.

    A delivery uses a connection, and with it a file descriptor, for milliseconds if the receiver answers, and for the whole time-out if
    not. The first delivery in flight of a lane takes one of `slots`; further ones take one of `further_slots`. A dead receiver with
    many deliveries thus leaves slots for others. Lanes whose receiver did not answer the last attempt use `silent_slots` instead.
    """

    slots, further_slots, silent_slots = 256, 128, 128
    pause_s = longest_pause_s = 1.0  # after an attempt without an answer, growing from the first to the longest
    stop_s: float  # longer than any delivery: after it only a lane that fails again and again is left
    interrupted: str  # for the log

    def __init__(self, db: Database) -> None:
        self.db = db
        self.stopping = self.is_running = False
        # By lane: whether its receiver answered the last time since the start.
        self.answers: dict[str, bool] = {}
        # Outcomes of attempts since the start: what a success is called, or the error.
        self.outcomes: Counter[str] = Counter()
        self._slots = asyncio.Semaphore(self.slots)
        self._further_slots = asyncio.Semaphore(self.further_slots)
        self._silent_slots = asyncio.Semaphore(self.silent_slots)
        self._lanes: dict[str, Lane] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @abstractmethod
    async def settle_interrupted(self) -> int:
        """Write an outcome for deliveries that were in flight when their process ended. Return the number of these deliveries."""

    @abstractmethod
    async def waiting(self) -> Iterable[str]:
        """Return the names of the lanes with due deliveries. A lane has the deliveries to one receiver."""

    @abstractmethod
    def find(self, connection: Connection, lane: str, room: int, held: Collection[int]) -> list[Row]:
        """Read at most `room` due deliveries of a lane. Leave out the conversations in `held`."""

    @abstractmethod
    def mark(self, connection: Connection, rows: list[Row]) -> list[Item]:
        """Mark due deliveries as in flight, and return the deliveries to send. Write the outcome of deliveries that cannot be sent."""

    @abstractmethod
    async def send(self, item: Item) -> Outcome:
        """Make one attempt to send a delivery, and return its outcome."""

    @abstractmethod
    def broken(self, item: Item) -> Outcome:
        """Return the outcome of an attempt that raised an unexpected exception."""

    @abstractmethod
    def most(self, lane: str) -> int:
        """Return how many deliveries of a lane may be in flight at the same time."""

    async def is_ready(self, lane: str) -> bool:
        """Report whether the receiver of a lane accepts deliveries at the moment. Subclasses may override it."""
        del lane
        return True

    async def start(self) -> None:
        """Write an outcome for deliveries that the end of a process interrupted. From then on, send deliveries of woken lanes."""
        await self.interrupt()
        self.is_running = True  # interrupt() would take earlier attempts for interrupted

    async def interrupt(self) -> None:
        """Write an outcome for deliveries that the end of a process interrupted, and log their number."""
        count = await self.settle_interrupted()
        if count:
            log.warning(self.interrupted, count)

    async def look(self) -> None:
        """Wake each lane (the deliveries to one receiver) that has due deliveries."""
        for lane in await self.waiting():
            self.wake(lane)

    def wake(self, name: str) -> None:
        """Make the lane `name` look for due deliveries in the store."""
        if self.stopping or not self.is_running:
            return
        lane = self._lanes.get(name)
        if lane is None:
            lane = self._lanes[name] = Lane(name)
            background.run("delivery queue", partial(self._run, lane), STORE_PAUSE_S, self._tasks, once=True)
        lane.more = True
        lane.changed.set()

    def forget_pauses(self, name: str) -> None:
        """Remove all pauses of a lane, because its receiver has changed."""
        if (lane := self._lanes.get(name)) is not None:
            lane.held, lane.paused_until, lane.silences = {}, 0.0, 0

    async def _run(self, lane: Lane) -> None:
        loop = asyncio.get_running_loop()
        while True:
            lane.changed.clear()
            # Another delivery may have waited for one that has ended.
            lane.more |= bool(lane.outcomes)
            wait_s = lane.wait_s(loop.time())
            slots = await self._take(lane)
            if lane.outcomes or slots:
                await self._advance(lane, slots)
            elif lane.in_flight or (wait_s is not None and not self.stopping):
                await background.wait(lane.changed, wait_s)
            elif not lane.more or self.stopping:
                # No await before the removal: a later wake() starts a new lane.
                del self._lanes[lane.name]
                return

    async def _take(self, lane: Lane) -> list[asyncio.Semaphore]:
        """Take a slot for each delivery that the lane may start now. If the lane has nothing else to do, wait for the first slot."""
        taken = list[asyncio.Semaphore]()
        if not lane.more or self.stopping:
            return taken
        if not await self.is_ready(lane.name):
            lane.more = False
            return taken
        if lane.paused_until > asyncio.get_running_loop().time():
            return taken
        slots = self._silent_slots if self.answers.get(lane.name) is False else self._slots
        if not lane.in_flight and (not lane.outcomes or not slots.locked()):
            await slots.acquire()
            taken.append(slots)
        while 0 < len(taken) + lane.in_flight < self.most(lane.name) and not self._further_slots.locked():
            await self._further_slots.acquire()
            taken.append(self._further_slots)
        if self.stopping:
            _release(taken)
            taken.clear()
        return taken

    async def _advance(self, lane: Lane, slots: list[asyncio.Semaphore]) -> None:
        """Write outcomes and mark new deliveries in one transaction, then start to send these deliveries."""
        outcomes, lane.outcomes = lane.outcomes, []
        room = len(slots)
        if room:
            lane.more = False
        held = list(lane.held)

        def unit(connection: Connection) -> tuple[int, list[Item]]:
            for outcome in outcomes:
                outcome.write(connection)
            rows = self.find(connection, lane.name, room, held) if room else []
            return len(rows), self.mark(connection, rows) if rows else []

        try:
            # Most times a lane is woken nothing is due, and a write costs a sync of the disk.
            is_due = bool(outcomes) or bool(await self.db.read(lambda connection: self.find(connection, lane.name, 1, held)))
            count, items = await self.db.write(unit) if is_due else (0, [])
        except Exception as fault:  # outcomes must not be lost
            log.error("deliveries wait: %s", fault, exc_info=None if isinstance(fault, StoreUnavailable) else fault)
            _release(slots)
            if not self.stopping:
                lane.outcomes[:0] = outcomes
                lane.more = True
                await asyncio.sleep(STORE_PAUSE_S)
            return
        for outcome in outcomes:
            outcome.then()
        # What was settled at once frees its slots, and what waited for it.
        lane.more |= count > 0 and (count == room or count > len(items))
        _release(slots[len(items) :])
        for item, slot in zip(items, slots, strict=False):
            lane.in_flight += 1
            # Not repeated after a fault: nothing is sent twice.
            background.start("delivery", self._send(lane, item, slot), self._tasks)

    async def _send(self, lane: Lane, item: Item, slot: asyncio.Semaphore) -> None:
        try:
            outcome = await self.attempt(lane.name, item)
            lane.outcomes.append(outcome)
            now = asyncio.get_running_loop().time()
            if outcome.conversation is not None:
                lane.held[outcome.conversation] = now + outcome.pause_s
            else:
                silence_s = 0.0 if outcome.is_answered else min(self.longest_pause_s, self.pause_s * 2**lane.silences)
                lane.paused_until = max(lane.paused_until, now + max(silence_s, outcome.pause_s))
            lane.silences = 0 if outcome.is_answered else min(lane.silences + 1, 10)
        finally:
            lane.in_flight -= 1
            slot.release()
            lane.changed.set()

    async def attempt(self, lane: str, item: Item) -> Outcome:
        """Make one attempt to send a delivery. Return its outcome, also if the attempt raised an exception."""
        try:
            outcome = await self.send(item)
        except Exception:
            log.exception("unexpected fault in a delivery of %s", lane)
            outcome = self.broken(item)
        self.answers[lane] = outcome.is_answered
        if outcome.code is not None:
            self.outcomes[outcome.code] += 1
        return outcome

    async def write(self, outcome: Outcome) -> None:
        """Write the outcome of an attempt that a person requested."""
        await until_written(lambda: self.db.write(outcome.write), lambda: self.stopping, "deliveries")

    async def close(self) -> None:
        """Wait for the deliveries in flight, and start no new ones."""
        self.stopping = True
        for lane in self._lanes.values():
            lane.changed.set()
        await background.cancel(*self._tasks, after_s=self.stop_s)


def _release(slots: Sequence[asyncio.Semaphore]) -> None:
    for slot in slots:
        slot.release()
