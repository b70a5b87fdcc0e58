"""Dispatcher of pending webhook events: one queue a bot, within the limits of DeliverySlots.

Only deliveries in flight are in memory. An attempt is recorded before its connection is opened; its outcome is recorded in the
transaction that records the next attempts.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from chatsvc import background
from chatsvc.store import deliveries, webhooks
from chatsvc.store.database import STORE_PAUSE_S, Database, StoreUnavailable, until_written
from chatsvc.store.deliveries import Outcome, Sending, Sign

log = logging.getLogger(__name__)

T = TypeVar("T")
STOP_S = 120.0  # longer than any delivery: after it only a queue that fails again and again is left
# Pause of a slot after a delivery without an answer: a failed handshake costs far more than a delivery, and a receiver that just
# restarts misses fewer events.
SILENCE_S = 0.1

Deliver = Callable[[Sending], Awaitable[Outcome]]


@dataclass(eq=False)
class _Queue:
    """Deliveries of one bot. The number in flight, outcomes not yet recorded (`done`), and whether events may be pending (`more`).

    `granted`: slots that it got by waiting; `waiting`: whether it waits for one.
    """

    bot_id: str
    in_flight: int = 0
    granted: int = 0
    waiting: bool = False
    done: list[Outcome] = field(default_factory=list)
    more: bool = True
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def grant(self) -> None:
        """Note that a slot was taken for this queue."""
        self.granted, self.waiting = 1, False
        self.changed.set()


class Dispatcher:
    """Sends pending events; `deliver` makes one attempt, `plans` are those that have webhooks.

    Before start() and after stop() it sends only what a person asked for.
    """

    def __init__(
        self, db: Database, deliver: Deliver, sign: Sign, plans: frozenset[str], clock: Callable[[], int], *, sends_mail: bool = False
    ) -> None:
        self._db = db
        self._deliver = deliver
        self.sign = sign
        self._plans = plans
        self._sends_mail = sends_mail
        self._clock = clock
        self._slots = DeliverySlots()
        self._queues: dict[str, _Queue] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._running = False
        self.stopping = False
        # Outcomes of attempts since the start: delivered, or the error.
        self.outcomes: Counter[str] = Counter(delivered=0)

    async def start(self) -> None:
        """Record interrupted attempts, which another process may have left as well, and begin with events that were never attempted."""
        interrupted = await webhooks.interrupt(self._db)
        if interrupted:
            log.warning("%d webhook deliveries were in flight when the service ended; they are recorded as interrupted", interrupted)
        # After interrupt(), which would take earlier attempts for interrupted.
        self._running = True
        for bot_id in await webhooks.bots_with_pending(self._db):
            self.wake(bot_id)

    def wake(self, bot_id: str) -> None:
        """Start the bot's queue, which has a new event."""
        if self.stopping or not self._running:
            return
        queue = self._queues.get(bot_id)
        if queue is None:
            queue = self._queues[bot_id] = _Queue(bot_id)
            background.run("webhook queue", partial(self._run, queue), STORE_PAUSE_S, self._tasks, once=True)
        queue.more = True
        queue.changed.set()

    async def _run(self, queue: _Queue) -> None:
        while True:
            # Another event may have waited for an attempt that has ended.
            queue.more |= bool(queue.done)
            room = self._take(queue)
            if queue.done or room:
                await self._advance(queue, room)
            elif queue.in_flight or (queue.waiting and not self.stopping):
                queue.changed.clear()
                await queue.changed.wait()
            else:
                # No await until the return: a later wake() starts a new queue.
                del self._queues[queue.bot_id]
                return

    def _take(self, queue: _Queue) -> int:
        """Take as many slots as the bot may have now. Wait for one if it has none."""
        if not queue.more or self.stopping:
            return 0
        room = self._slots.take(queue.bot_id, SLOTS_PER_BOT)
        if not room and not queue.granted and not queue.in_flight and not queue.waiting:
            queue.waiting = True
            # May grant at once: the bot's slots may be those of a person who resends.
            self._slots.wait_for_slot(queue.bot_id, queue.grant)
        granted, queue.granted = queue.granted, 0
        return room + granted

    async def _advance(self, queue: _Queue, room: int) -> None:
        """Record outcomes and new attempts in one transaction, then start the attempts."""
        done, queue.done = queue.done, []
        if room:
            queue.more = False
        try:
            found, sendings = await deliveries.advance(
                self._db,
                queue.bot_id,
                self._clock(),
                done=done,
                room=room,
                plans=self._plans,
                sign=self.sign,
                sends_mail=self._sends_mail,
            )
        except Exception as fault:  # outcomes must not be lost
            log.error("webhooks wait: %s", fault, exc_info=None if isinstance(fault, StoreUnavailable) else fault)
            self._slots.release(queue.bot_id, room)
            if not self.stopping:
                queue.done[:0] = done
                queue.more = True
                await asyncio.sleep(STORE_PAUSE_S)
            return
        # Attempts that failed at once free their slots, and the events that waited for them.
        queue.more |= found > 0 and (found == room or found > len(sendings))
        self._slots.release(queue.bot_id, room - len(sendings))
        for sending in sendings:
            queue.in_flight += 1
            # Not repeated after a fault: nothing is sent twice.
            background.start("webhook delivery", self._send(queue, sending), self._tasks)

    async def _send(self, queue: _Queue, sending: Sending) -> None:
        try:
            done = await self._attempt(sending)
            queue.done.append(done)
            if done.status_code is None and not self.stopping:
                queue.changed.set()
                await asyncio.sleep(SILENCE_S)
        finally:
            queue.in_flight -= 1
            self._slots.release(sending.bot_id)
            queue.changed.set()

    async def _attempt(self, sending: Sending) -> Outcome:
        try:
            done = await self._deliver(sending)
        except Exception:
            log.exception("unexpected fault in a webhook delivery of bot %s", sending.bot_id)
            done = Outcome(sending.attempt_id, success=False, status_code=None, error="internal_error", duration_ms=0)
        self._slots.note(sending.bot_id, answered=done.status_code is not None)
        self.outcomes[done.error or "delivered"] += 1
        return done

    async def deliver(self, sending: Sending) -> None:
        """Make one attempt that a person asked for, and record its outcome."""
        done = await self._attempt(sending)
        await until_written(partial(deliveries.settle, self._db, [done]), lambda: self.stopping, "webhooks")
        # An event may have waited for this attempt.
        self.wake(sending.bot_id)

    async def deliver_each(self, bot_id: str, sending: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
        """Make deliveries that a person asked for, within the bot's slots. Return results in order, or raise the first fault."""
        left, tasks = deque(sending), list[asyncio.Task[T]]()
        in_flight: set[asyncio.Task[T]] = set()
        while left or in_flight:
            room = self._slots.take(bot_id, len(left))
            if left and not room and not in_flight:
                await self._wait_for_slot(bot_id)
                room = 1
            begun = [asyncio.create_task(self._in_slot(bot_id, left.popleft())) for _ in range(room)]
            tasks += begun
            _, in_flight = await asyncio.wait(in_flight.union(begun), return_when=asyncio.FIRST_COMPLETED)
        return [task.result() for task in tasks]

    async def _wait_for_slot(self, bot_id: str) -> None:
        called = asyncio.get_running_loop().create_future()
        self._slots.wait_for_slot(bot_id, lambda: called.set_result(None))
        await called

    async def _in_slot(self, bot_id: str, sending: Callable[[], Awaitable[T]]) -> T:
        try:
            return await sending()
        finally:
            self._slots.release(bot_id)

    async def close(self) -> None:
        """Finish deliveries in flight; start none."""
        self.stopping = True
        for queue in self._queues.values():
            queue.changed.set()
        await background.cancel(*self._tasks, after_s=STOP_S)


CONNECTIONS = 512
SHARED = 128
SLOTS_PER_BOT = 32


class DeliverySlots:
    """Connection slots of one process, in all and for each bot; every slot that was taken must be released.

    A delivery holds a connection, and with it a file descriptor: for milliseconds if the receiver answers, for the whole time-out if
    not. There are CONNECTIONS slots in all. A bot may have

    - one, until its receiver has answered for the first time since the start;
    - SLOTS_PER_BOT after that, taken from the SHARED slots; but at most a third of the shared slots that then stay free;
    - one if its receiver did not answer the last delivery, as long as such bots hold less than half of all slots together.

    200 bots with dead receivers hold 200 slots at most, and 128 more for one time-out if some of them had a backlog until then. Even
    thousands of them hold 256. Some of the 512 are always free for the living ones. Waiting bots get slots in the order of their requests.
    """

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()
        self._taken = 0
        # By bot: whether its receiver answered the last time, with whatever status.
        self._answers: dict[str, bool] = {}
        self._silent = 0
        self._waiting: dict[bool, deque[tuple[str, Callable[[], None]]]] = {False: deque(), True: deque()}

    def take(self, bot_id: str, wanted: int) -> int:
        """Take at most `wanted` slots for a bot, as many as it may have now. Return how many."""
        count = max(0, min(wanted, self._room(bot_id)))
        self._hold(bot_id, count)
        return count

    def _room(self, bot_id: str) -> int:
        held = self._held[bot_id]
        first = 0 if held or self._must_wait(bot_id) else 1
        if not self._answers.get(bot_id) or not (held or first):
            return first
        # The maximum with which its further slots are a third of the shared ones that stay free.
        further, free = held + first - 1, SHARED - (self._taken - len(self._held))
        return first + max(0, min(SLOTS_PER_BOT - held - first, CONNECTIONS - self._taken - first, (free - 3 * further) // 4))

    def _must_wait(self, bot_id: str) -> bool:
        if self._taken >= CONNECTIONS:
            return True
        return self._answers.get(bot_id) is False and self._silent >= CONNECTIONS // 2

    def _hold(self, bot_id: str, count: int) -> None:
        self._taken += count
        self._held[bot_id] += count
        if self._answers.get(bot_id) is False:
            self._silent += count
        if not self._held[bot_id]:
            del self._held[bot_id]

    def wait_for_slot(self, bot_id: str, called: Callable[[], None]) -> None:
        """Queue a bot that has no slot. `called` is called once, when a slot was taken for it."""
        self._waiting[self._answers.get(bot_id) is False].append((bot_id, called))
        self._grant_waiting()

    def release(self, bot_id: str, count: int = 1) -> None:
        self._hold(bot_id, -count)
        self._grant_waiting()

    def note(self, bot_id: str, *, answered: bool) -> None:
        """Record whether a bot's receiver answered its last delivery."""
        if self._answers.get(bot_id) is answered:
            return
        held = self._held[bot_id]
        self._hold(bot_id, -held)
        self._answers[bot_id] = answered
        self._hold(bot_id, held)

    def _grant_waiting(self) -> None:
        for waiting in self._waiting.values():
            while waiting and not self._must_wait(waiting[0][0]):
                bot_id, called = waiting.popleft()
                self._hold(bot_id, 1)
                called()
