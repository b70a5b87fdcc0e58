"""Servers in a thread with an event loop, for synchronous tests."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from contextlib import AbstractAsyncContextManager
from typing import Self


class ServerThread(ABC):
    """Runs the server that `server` opens, for the length of a `with` block."""

    def __init__(self) -> None:
        self._up = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))
        self.url = ""

    @abstractmethod
    def server(self) -> AbstractAsyncContextManager[str]:
        """Open the server, and close it at the end; its value is the URL."""

    async def _run(self) -> None:
        self._loop, self._down = asyncio.get_running_loop(), asyncio.Event()
        async with self.server() as self.url:
            self._up.set()
            await self._down.wait()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._up.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._down.set)
        self._thread.join(10)
