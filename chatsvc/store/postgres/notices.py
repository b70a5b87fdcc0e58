"""Notices of each process to all others, by LISTEN and NOTIFY. They are not stored: a notice is lost if no process listens."""

import asyncio
import json
import logging
from collections import deque
from collections.abc import Callable
from typing import Any

import psycopg

from chatsvc import background
from chatsvc.store.database import StoreUnavailable
from chatsvc.store.postgres.connection import PostgresTarget, arguments, outage
from chatsvc.store.postgres.thread import AsideConnection

log = logging.getLogger(__name__)

MOST_QUEUED = 10_000
PAUSE_S = 1.0
_CHANNEL = "chatsvc"
_NOTIFY = "SELECT pg_notify(?1, text) FROM unnest(?2::text[]) AS text"

Hear = Callable[[list[Any]], None]


class PostgresNotices:
    """A ProcessNotices. After `listen` is called, it receives notices over its own connection. A command only sends notices."""

    def __init__(self, target: PostgresTarget, aside: AsideConnection, node: str) -> None:
        self._address, self._aside, self._node = target, aside, node
        self._queued: deque[str] = deque(maxlen=MOST_QUEUED)
        self._sending: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._heard: list[Hear] = []
        self._missed: list[Callable[[], None]] = []

    def send(self, *message: object) -> None:
        """Queue a message to all other processes, like ProcessNotices.send."""
        self._queued.append(json.dumps([self._node, *message]))
        if self._sending is None:
            self._sending = background.start("notices to other processes", self._send())

    async def _send(self) -> None:
        try:
            while self._queued:
                texts = list(self._queued)
                self._queued.clear()
                await self._aside.run(lambda connection, texts=texts: connection.execute(_NOTIFY, (_CHANNEL, texts)))
        except StoreUnavailable:
            # The others look by themselves when they hear again; a backlog would only repeat it.
            self._queued.clear()
        finally:
            self._sending = None

    def listen(self, heard: Hear, missed: Callable[[], None]) -> None:
        """Call `heard` and `missed` as ProcessNotices.listen describes."""
        self._heard.append(heard)
        self._missed.append(missed)
        if self._listening is None:
            self._listening = background.run("notices of other processes", self._listen, PAUSE_S)

    async def _listen(self) -> None:
        connection = None
        try:
            connection = await psycopg.AsyncConnection.connect(**arguments(self._address, name="chatsvc notices"))
            await connection.execute(f"LISTEN {_CHANNEL}")
            for missed in self._missed:
                missed()
            async for notice in connection.notifies():
                node, *message = json.loads(notice.payload)
                if node != self._node:
                    for heard in self._heard:
                        heard(message)
        except psycopg.Error as fault:
            raise outage(fault, self._address) from None
        finally:
            if connection is not None:
                await connection.close()

    async def close(self) -> None:
        """Send the queued notices, and stop listening."""
        await background.cancel(self._listening)
        if self._sending is not None:
            await asyncio.wait([self._sending])
