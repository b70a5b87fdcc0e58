"""Sends what is pending: each bot's webhook has its own few lanes, so that a dead receiver delays no other.

Nothing is kept in memory but what is under way, so a backlog costs none. An attempt is recorded before its connection is opened;
how it ended is recorded in the transaction that records the lane's next one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from chatsvc.store import webhooks
from chatsvc.store.database import Database, StoreUnavailable
from chatsvc.store.webhooks import Outcome, Sending, Sign

log = logging.getLogger(__name__)

LANES = 8
STORE_PAUSE_S = 1.0

Deliver = Callable[[Sending], Awaitable[Outcome]]


class Dispatcher:
    """The queue's worker inside the process; `deliver` makes one attempt, `plans` are those that have webhooks."""

    def __init__(self, db: Database, deliver: Deliver, sign: Sign, plans: frozenset[str], clock: Callable[[], int]) -> None:
        self._db = db
        self._deliver = deliver
        self.sign = sign
        self._plans = plans
        self._clock = clock
        self._lanes: dict[str, set[asyncio.Task[None]]] = {}
        self._woken: dict[str, int] = {}
        self._stopping = False

    async def start(self) -> None:
        """Record what a crash interrupted, and begin with what was never attempted."""
        interrupted = await webhooks.interrupt(self._db)
        if interrupted:
            log.warning("%d webhook deliveries were under way when the service ended; they are recorded as interrupted", interrupted)
        for bot_id in await webhooks.bots_with_pending(self._db):
            for _ in range(LANES):
                self.wake(bot_id)

    def wake(self, bot_id: str) -> None:
        """The bot has an event more to tell."""
        if self._stopping:
            return
        self._woken[bot_id] = self._woken.get(bot_id, 0) + 1
        lanes = self._lanes.setdefault(bot_id, set())
        if len(lanes) < LANES:
            lane = asyncio.create_task(self._run(bot_id))
            lanes.add(lane)
            lane.add_done_callback(lambda ended: self._ended(bot_id, ended))

    def _ended(self, bot_id: str, lane: asyncio.Task[None]) -> None:
        lanes = self._lanes[bot_id]
        lanes.discard(lane)
        if not lanes:
            del self._lanes[bot_id], self._woken[bot_id]
        if not lane.cancelled() and lane.exception():
            log.error("unexpected fault while sending webhooks of bot %s", bot_id, exc_info=lane.exception())

    async def _run(self, bot_id: str) -> None:
        done: Outcome | None = None
        while not self._stopping:
            woken = self._woken[bot_id]
            try:
                found, sending = await webhooks.next_to_send(self._db, bot_id, self._clock(), done=done, plans=self._plans, sign=self.sign)
            except StoreUnavailable as fault:
                log.error("the store cannot answer, webhooks wait: %s", fault)
                await asyncio.sleep(STORE_PAUSE_S)
                continue
            done = await self._deliver(sending) if sending else None
            # Woken while it looked: what was committed meanwhile may not have been seen.
            if not found and woken == self._woken[bot_id]:
                return
        if done:
            await webhooks.settle(self._db, [done])

    async def deliver(self, sending: Sending) -> None:
        """Make one attempt that a person asked for, and record how it ended."""
        await webhooks.settle(self._db, [await self._deliver(sending)])

    async def stop(self) -> None:
        """End what is under way, begin nothing new."""
        self._stopping = True
        lanes = [lane for lanes in self._lanes.values() for lane in lanes]
        if lanes:
            await asyncio.wait(lanes)
