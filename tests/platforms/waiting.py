"""Waiting for what a platform is sent."""

import asyncio
from collections.abc import Callable
from contextlib import suppress


class Watched:
    """A platform whose `changed` is set whenever something has come."""

    def __init__(self) -> None:
        self.changed = asyncio.Event()

    async def until(self, condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
        """Wait until a condition holds; it is looked at whenever something has come."""
        async with asyncio.timeout(timeout_s):
            while not condition():
                self.changed.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.changed.wait(), 0.05)
