"""Fair share of the processor: engines work for the accounts in turn, on a few messages at a time."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TypeVar

from chatsvc.engines import Turn

T = TypeVar("T")

AT_A_TIME = 4
_LONG = 200  # characters of a message
_LARGE = 200  # entries: above either, a search may block the loop for more than a few milliseconds
_MUCH = 8_000  # characters that work reads besides


class FairShare:
    """Queues of work, one for each account, served in turn. Many messages of one account do not delay another account.

    At most AT_A_TIME pieces of work begin in one iteration of the event loop, which then handles its other events. So the first requests
    are sent to the model before the last ones are prepared. At most AT_A_TIME pieces of work run in threads.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._begun = self._threads = 0
        self._is_turning = False

    async def run(self, work: Callable[[Turn], T], turn: Turn, reads: int = 0) -> T:
        """Wait until the account may begin, and return the result of `work(turn)`. Long work runs in a thread.

        `reads` is the number of characters that `work` reads besides the message and a search.
        """
        self._turn_soon()
        if not self._waiting and self._begun + self._threads < AT_A_TIME:
            self._begun += 1
        else:
            waiter = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(turn.bot.account_id, deque()).append(waiter)
            await waiter
        if len(turn.message) < _LONG and len(turn.knowledge.entries) < _LARGE and reads < _MUCH:
            return work(turn)
        self._threads += 1
        try:
            return await asyncio.to_thread(work, turn)
        finally:
            self._threads -= 1
            self._turn_soon()

    def _turn_soon(self) -> None:
        if not self._is_turning:
            self._is_turning = True
            asyncio.get_running_loop().call_soon(self._turn)

    def _turn(self) -> None:
        """Let the next waiting work of each account begin, and repeat this in the next iteration of the event loop."""
        self._begun = 0
        while self._waiting and self._begun + self._threads < AT_A_TIME:
            account_id = next(iter(self._waiting))
            queue = self._waiting.pop(account_id)
            waiter = queue.popleft()
            if queue:
                self._waiting[account_id] = queue  # behind the other accounts
            if not waiter.done():
                waiter.set_result(None)
                self._begun += 1
        self._is_turning = False
        if self._begun:
            self._turn_soon()
