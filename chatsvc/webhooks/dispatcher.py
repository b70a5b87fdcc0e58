"""Sends what is pending, over the lanes that a bot may have (webhooks/lanes.py), so that a dead receiver delays no other.

Nothing is kept in memory but what is under way, so a backlog costs none. An attempt is recorded before its connection is opened;
how it ended is recorded in the transaction that records the next ones.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from chatsvc import background
from chatsvc.store import webhooks
from chatsvc.store.database import Database, StoreUnavailable
from chatsvc.store.webhooks import Outcome, Sending, Sign
from chatsvc.webhooks.lanes import LANES, Lanes

log = logging.getLogger(__name__)

T = TypeVar("T")
STORE_PAUSE_S = 1.0
STOP_S = 120.0  # longer than any delivery: after it only a queue that fails again and again is left
# Where nothing was heard, the lane rests so long before the next attempt: a failed handshake costs far more than a delivery, and of
# what a receiver that just starts again would miss, most waits.
SILENCE_S = 0.1

Deliver = Callable[[Sending], Awaitable[Outcome]]


@dataclass(eq=False)
class _Queue:
    """One bot's events on their way: what is under way, what has ended and is still to be recorded, and whether there may be more.

    `called`: lanes that it got by waiting `in_line`.
    """

    bot_id: str
    under_way: int = 0
    called: int = 0
    in_line: bool = False
    done: list[Outcome] = field(default_factory=list)
    more: bool = True
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def call(self) -> None:
        """A lane has been taken for it."""
        self.called, self.in_line = 1, False
        self.changed.set()


class Dispatcher:
    """The queue's worker inside the process; `deliver` makes one attempt, `plans` are those that have webhooks.

    Until it is started, and from `stop` on, it sends nothing but what a person asked for.
    """

    def __init__(self, db: Database, deliver: Deliver, sign: Sign, plans: frozenset[str], clock: Callable[[], int]) -> None:
        self._db = db
        self._deliver = deliver
        self.sign = sign
        self._plans = plans
        self._clock = clock
        self._lanes = Lanes()
        self._queues: dict[str, _Queue] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._running = False
        self.stopping = False
        # How attempts have ended since the start: delivered, or why not.
        self.outcomes: Counter[str] = Counter(delivered=0)

    async def start(self) -> None:
        """Record what a crash interrupted, and begin with what was never attempted."""
        interrupted = await webhooks.interrupt(self._db)
        if interrupted:
            log.warning("%d webhook deliveries were under way when the service ended; they are recorded as interrupted", interrupted)
        # Only now: what begins before would be taken for interrupted.
        self._running = True
        for bot_id in await webhooks.bots_with_pending(self._db):
            self.wake(bot_id)

    def wake(self, bot_id: str) -> None:
        """The bot has an event more to tell."""
        if self.stopping or not self._running:
            return
        queue = self._queues.get(bot_id)
        if queue is None:
            queue = self._queues[bot_id] = _Queue(bot_id)
            self._keep(background.run("webhook queue", partial(self._run, queue), STORE_PAUSE_S, once=True))
        queue.more = True
        queue.changed.set()

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, queue: _Queue) -> None:
        while True:
            # What has ended may have been what another event had to wait for.
            queue.more |= bool(queue.done)
            room = self._take(queue)
            if queue.done or room:
                await self._advance(queue, room)
            elif queue.under_way or (queue.in_line and not self.stopping):
                queue.changed.clear()
                await queue.changed.wait()
            else:
                # Nothing waits between this look and its end: who wakes it from here on begins a new queue.
                del self._queues[queue.bot_id]
                return

    def _take(self, queue: _Queue) -> int:
        """Take as many lanes as the bot may have now; where it has none at all, get in line for one."""
        if not queue.more or self.stopping:
            return 0
        room = self._lanes.take(queue.bot_id, LANES)
        if not room and not queue.called and not queue.under_way and not queue.in_line:
            queue.in_line = True
            # May call at once: what the bot holds may be a person's, who sends something again.
            self._lanes.line_up(queue.bot_id, queue.call)
        called, queue.called = queue.called, 0
        return room + called

    async def _advance(self, queue: _Queue, room: int) -> None:
        """Record what has ended and what begins, in one transaction, and begin it."""
        done, queue.done = queue.done, []
        if room:
            queue.more = False
        try:
            found, sendings = await webhooks.advance(
                self._db, queue.bot_id, self._clock(), done=done, room=room, plans=self._plans, sign=self.sign
            )
        except Exception as fault:  # whatever it is, what was delivered must not be forgotten
            log.error("webhooks wait: %s", fault, exc_info=None if isinstance(fault, StoreUnavailable) else fault)
            self._lanes.give_back(queue.bot_id, room)
            if not self.stopping:
                queue.done[:0] = done
                queue.more = True
                await asyncio.sleep(STORE_PAUSE_S)
            return
        # What was recorded as failed at once frees its place, and what had to wait for it.
        queue.more |= found > 0 and (found == room or found > len(sendings))
        self._lanes.give_back(queue.bot_id, room - len(sendings))
        for sending in sendings:
            queue.under_way += 1
            # Not repeated after a fault: nothing is sent twice.
            self._keep(background.start("webhook delivery", self._send(queue, sending)))

    async def _send(self, queue: _Queue, sending: Sending) -> None:
        try:
            done = await self._attempt(sending)
            queue.done.append(done)
            if done.status_code is None and not self.stopping:
                queue.changed.set()
                await asyncio.sleep(SILENCE_S)
        finally:
            queue.under_way -= 1
            self._lanes.give_back(sending.bot_id)
            queue.changed.set()

    async def _attempt(self, sending: Sending) -> Outcome:
        try:
            done = await self._deliver(sending)
        except Exception:
            log.exception("unexpected fault in a webhook delivery of bot %s", sending.bot_id)
            done = Outcome(sending.attempt_id, success=False, status_code=None, error="internal_error", duration_ms=0)
        self._lanes.note(sending.bot_id, answered=done.status_code is not None)
        self.outcomes[done.error or "delivered"] += 1
        return done

    async def deliver(self, sending: Sending) -> None:
        """Make one attempt that a person asked for, and record how it ended."""
        done = await self._attempt(sending)
        while True:
            try:
                await webhooks.settle(self._db, [done])
                break
            except StoreUnavailable:
                if self.stopping:
                    raise
                await asyncio.sleep(STORE_PAUSE_S)
        # An event may have had to wait for this one.
        self.wake(sending.bot_id)

    async def over_lanes(self, bot_id: str, sending: Sequence[Callable[[], Awaitable[T]]]) -> list[T]:
        """Make deliveries that a person asked for, as many at a time as the bot may have; their results in order, or the first fault."""
        left, tasks = deque(sending), list[asyncio.Task[T]]()
        under_way: set[asyncio.Task[T]] = set()
        while left or under_way:
            room = self._lanes.take(bot_id, len(left))
            if left and not room and not under_way:
                await self._lane(bot_id)
                room = 1
            begun = [asyncio.create_task(self._on_a_lane(bot_id, left.popleft())) for _ in range(room)]
            tasks += begun
            _, under_way = await asyncio.wait(under_way.union(begun), return_when=asyncio.FIRST_COMPLETED)
        return [task.result() for task in tasks]

    async def _lane(self, bot_id: str) -> None:
        called = asyncio.get_running_loop().create_future()
        self._lanes.line_up(bot_id, lambda: called.set_result(None))
        await called

    async def _on_a_lane(self, bot_id: str, sending: Callable[[], Awaitable[T]]) -> T:
        try:
            return await sending()
        finally:
            self._lanes.give_back(bot_id)

    async def stop(self) -> None:
        """End what is under way, begin nothing new."""
        self.stopping = True
        for queue in self._queues.values():
            queue.changed.set()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=STOP_S)
            await background.cancel(*late)
