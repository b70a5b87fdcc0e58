"""Pacing of calls: at most AT_A_TIME start in one iteration of the event loop."""

from __future__ import annotations

import asyncio
from collections import deque

AT_A_TIME = 16


class Pace:
    """First-come-first-served queue for starting calls, a few in each iteration of the event loop.

    With thousands of calls at once, each step would otherwise be taken by all of them before the next step by any: the first request
    would be sent when the last one is ready. Calls wait here only for processor time, not for answers.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._begun = 0
        self._turning = False

    async def turn(self) -> None:
        """Wait for a start; returns at once if there are few."""
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
