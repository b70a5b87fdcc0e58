"""Fair share of the processor: engines work for accounts in turn, a few at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from chatsvc.engines import Turn
from chatsvc.engines.threads import fast_thread_switching

T = TypeVar("T")

AT_A_TIME = 4
_LONG = 200  # characters of a message
_LARGE = 200  # entries: above either, a search may block the loop for more than a few milliseconds


class FairShare:
    """Queues the work of each account, and takes from the queues in turn: a crowd of one account does not make another wait.

    AT_A_TIME pieces of work run before the event loop reads again what others have sent. So in a crowd the first requests have gone to
    the model before the last ones are prepared.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._free = AT_A_TIME
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    async def run(self, work: Callable[[Turn], T], turn: Turn) -> T:
        """Run `work` with the turn, in a thread if it may take long."""
        await self._take(turn.bot.account_id)
        try:
            if len(turn.message) < _LONG and len(turn.knowledge.entries) < _LARGE:
                return work(turn)
            return await asyncio.to_thread(_switching_fast, work, turn)
        finally:
            asyncio.get_running_loop().call_soon(self._release)

    async def _take(self, account_id: str) -> None:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            # A loop that was closed has released nothing more.
            self._loop, self._free, self._waiting = loop, AT_A_TIME, {}
        if self._free:
            self._free -= 1
            return
        waiter = loop.create_future()
        self._waiting.setdefault(account_id, deque()).append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():
                self._release()
            raise

    def _release(self) -> None:
        while self._waiting:
            account_id = next(iter(self._waiting))
            queue = self._waiting.pop(account_id)
            waiter = queue.popleft()
            if queue:
                self._waiting[account_id] = queue  # behind the other accounts
            if not waiter.done():
                waiter.set_result(None)
                return
        self._free += 1


def _switching_fast(work: Callable[[Turn], T], turn: Turn) -> T:
    with fast_thread_switching():
        return work(turn)
