"""How many calls of a model begin at a time."""

from __future__ import annotations

import asyncio
from collections import deque

AT_A_TIME = 16


class Pace:
    """Lets a few begin in each turn of the event loop, and the others after what those have begun has gone on.

    Where thousands come at once, all of them would otherwise take each step before any takes the next: the first request would be
    sent when the last one is ready, and all replies come at the same time. Nobody waits for an answer here, only for processor time.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._begun = 0
        self._turning = False

    async def turn(self) -> None:
        """Wait until it is one's turn, first come first served; not at all where few come."""
        loop = asyncio.get_running_loop()
        if not self._turning:
            self._turning = True
            loop.call_soon(self._next)
        if self._begun < AT_A_TIME:
            self._begun += 1
            return
        waiter = loop.create_future()
        self._waiting.append(waiter)
        await waiter

    def _next(self) -> None:
        self._begun = 0
        while self._waiting and self._begun < AT_A_TIME:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
                self._begun += 1
        self._turning = self._begun > 0
        if self._turning:
            asyncio.get_running_loop().call_soon(self._next)
