"""Messages from each process to all others, through Valkey. None is kept: one that nobody hears is lost."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

from chatsvc import background
from chatsvc.coordination.connection import CoordinationUnavailable, Valkey

log = logging.getLogger(__name__)

MOST_QUEUED = 10_000
PAUSE_S = 1.0

Hear = Callable[[list[Any]], None]


class Broadcast:
    """Sends and hears. `heard` gets what other processes send; `missed` is called when messages may have been lost."""

    def __init__(self, valkey: Valkey, node: str, heard: Hear, missed: Callable[[], None]) -> None:
        self._valkey, self._node = valkey, node
        self._heard, self._missed = heard, missed
        self._channel = valkey.key("events")
        self._queued: deque[str] = deque(maxlen=MOST_QUEUED)
        self._has_work = asyncio.Event()
        self._tasks = [
            background.run("events to other processes", self._send, PAUSE_S, expected=(CoordinationUnavailable,)),
            background.run("events of other processes", self._listen, PAUSE_S, expected=(CoordinationUnavailable,)),
        ]

    def send(self, *message: object) -> None:
        """Send a message as soon as possible; nobody waits for it."""
        self._queued.append(json.dumps([self._node, *message]))
        self._has_work.set()

    async def _send(self) -> None:
        while True:
            try:
                while self._queued:
                    await self._valkey.execute("PUBLISH", self._channel, self._queued.popleft())
            except CoordinationUnavailable:
                # The others are woken when they hear again; a backlog would only repeat it.
                self._queued.clear()
                raise
            self._has_work.clear()
            await self._has_work.wait()

    async def _listen(self) -> None:
        async with self._valkey.subscribed(self._channel) as messages:
            self._missed()
            async for text in messages:
                node, *message = json.loads(text)
                if node != self._node:
                    self._heard(message)

    async def close(self) -> None:
        """End both; what is queued is lost."""
        await background.cancel(*self._tasks)
