"""Connection of a process for short statements outside of its transactions: counts of the rate limit, and notices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import psycopg

from chatsvc.store.database import StoreUnavailable
from chatsvc.store.postgres.connection import PostgresTarget, connect, translated
from chatsvc.store.postgres.thread import PostgresThread

T = TypeVar("T")


class AsideConnection(PostgresThread):
    """A connection that commits each statement; opened when first used."""

    def __init__(self, place: PostgresTarget, name: str) -> None:
        super().__init__(partial(connect, place, writes=True, name=name))
        self._place = place
        # Why the store cannot be used; the database that owns the connection sets it.
        self.fault: Callable[[], str | None] = lambda: None

    async def run(self, work: Callable[..., T], *arguments: object) -> T:
        """See PostgresThread.run; raises StoreUnavailable."""
        if (fault := self.fault()) is not None:
            raise StoreUnavailable(fault)
        try:
            return await super().run(work, *arguments)
        except psycopg.Error as error:
            raise translated(error, self._place) from None
