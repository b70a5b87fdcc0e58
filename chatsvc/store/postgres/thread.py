"""One PostgreSQL connection in a thread of its own, opened again after it broke. One is for what is no transaction."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

import psycopg

from chatsvc.store.database import StoreUnavailable
from chatsvc.store.postgres.connection import PostgresConnection, PostgresTarget, connect, translated
from chatsvc.store.thread import ConnectionThread

T = TypeVar("T")


class PostgresThread(ConnectionThread[PostgresConnection]):
    """A connection and its thread. The connection is opened again after it broke."""

    def is_usable(self, connection: PostgresConnection) -> bool:
        """See ConnectionThread.is_usable."""
        return connection.is_usable

    @property
    def backend(self) -> int | None:
        """Return the process id of the session in the server."""
        connection = self._connection
        return connection.driver.info.backend_pid if connection is not None and connection.is_usable else None

    def interrupt(self) -> None:
        """Cut the connection, whose peer does not answer, so that the work under way fails."""
        connection = self._connection
        if connection is None:
            return
        # A copy of the descriptor: libpq owns the other one. It may be closed meanwhile.
        with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.driver.fileno())) as copy:
            copy.shutdown(socket.SHUT_RDWR)


class AsideConnection(PostgresThread):
    """A connection that commits each statement; opened when first used."""

    def __init__(self, address: PostgresTarget, name: str) -> None:
        super().__init__(partial(connect, address, writes=True, name=name))
        self._address = address
        # Why the store cannot be used; the database that owns the connection sets it.
        self.fault: Callable[[], str | None] = lambda: None

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        """See PostgresThread.run; raises StoreUnavailable."""
        if (fault := self.fault()) is not None:
            raise StoreUnavailable(fault)
        try:
            return await super().run(work, *arguments)
        except psycopg.Error as error:
            raise translated(error, self._address) from None
