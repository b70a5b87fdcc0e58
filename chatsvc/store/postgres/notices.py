"""Notices of each process to all others, by LISTEN and NOTIFY. None is kept: one that nobody hears is lost."""

import asyncio
import json
import logging
import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg

from chatsvc import background
from chatsvc.store.database import StoreUnavailable
from chatsvc.store.postgres.connection import PostgresConnection, PostgresTarget, connect, outage
from chatsvc.store.postgres.thread import AsideConnection

log = logging.getLogger(__name__)

MOST_QUEUED = 10_000
PAUSE_S = 1.0
_CHANNEL = "chatsvc"
_NOTIFY = "SELECT pg_notify(?1, text) FROM unnest(?2::text[]) AS text"

Hear = Callable[[list[Any]], None]


class PostgresNotices:
    """A ProcessNotices. It listens from `listen` on, with a connection of its own; a command only sends."""

    def __init__(self, target: PostgresTarget, aside: AsideConnection, node: str) -> None:
        self._address, self._aside, self._node = target, aside, node
        self._queued: deque[str] = deque(maxlen=MOST_QUEUED)
        self._sending: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._heard: list[Hear] = []
        self._missed: list[Callable[[], None]] = []

    def send(self, *message: object) -> None:
        """See ProcessNotices.send."""
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
        """See ProcessNotices.listen."""
        self._heard.append(heard)
        self._missed.append(missed)
        if self._listening is None:
            self._listening = background.run("notices of other processes", self._listen, PAUSE_S)

    async def _listen(self) -> None:
        connection = await self._open()
        loop, readable, driver = asyncio.get_running_loop(), asyncio.Event(), connection.driver.pgconn
        # A copy of the descriptor: libpq closes its own when the connection breaks.
        copy = os.dup(connection.driver.fileno())
        try:
            loop.add_reader(copy, readable.set)
            for missed in self._missed:
                missed()
            while True:
                await readable.wait()
                readable.clear()
                try:
                    driver.consume_input()
                except psycopg.Error as fault:
                    raise outage(fault, self._address) from None
                while (notice := driver.notifies()) is not None:
                    node, *message = json.loads(notice.extra)
                    if node != self._node:
                        for heard in self._heard:
                            heard(message)
        finally:
            loop.remove_reader(copy)
            os.close(copy)
            connection.close()

    async def _open(self) -> PostgresConnection:
        def listen() -> PostgresConnection:
            connection = connect(self._address, writes=True, name="chatsvc notices")
            connection.driver.execute(f"LISTEN {_CHANNEL}")
            return connection

        opening = asyncio.create_task(asyncio.to_thread(listen))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            # The thread cannot be cancelled: what it opens is closed.
            with suppress(StoreUnavailable):
                (await opening).close()
            raise

    async def close(self) -> None:
        """Send what is queued, and hear no more."""
        await background.cancel(self._listening)
        if self._sending is not None:
            await asyncio.wait([self._sending])
