"""Database session of a standby process or a command; units run one at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from chatsvc.store.database import Unit
from chatsvc.store.master_key import MasterKey
from chatsvc.store.postgres.connection import PostgresConnection, PostgresTarget, connect, translated
from chatsvc.store.postgres.lock import is_free
from chatsvc.store.postgres.migrations import check_key, check_schema
from chatsvc.store.postgres.thread import PostgresThread

T = TypeVar("T")
PATIENCE_S = 5.0


class PostgresSession:
    """One session, opened again after it broke. Units run one at a time, each in a transaction."""

    def __init__(self, place: PostgresTarget, key: MasterKey, name: str) -> None:
        self._place, self._key = place, key
        self._thread = PostgresThread(partial(connect, place, writes=True, name=name))

    async def write(self, unit: Unit[T], applied: Callable[[T], None] | None = None) -> T:
        """See Database.write."""
        result = await self._run(partial(_in_transaction, unit=unit))
        if applied is not None:
            applied(result)
        return result

    async def is_free(self) -> bool:
        """Report whether no process works. Raises StoreUnavailable, and SchemaTooNew if a newer version has worked."""
        return await self._run(self._is_free)

    def _is_free(self, connection: PostgresConnection) -> bool:
        check_schema(connection, self._place)
        check_key(connection, self._key)
        return is_free(connection)

    async def _run(self, work: Callable[[PostgresConnection], T]) -> T:
        running = asyncio.ensure_future(self._thread.run(work))
        done, _ = await asyncio.wait([running], timeout=PATIENCE_S)
        if not done:
            self._thread.interrupt()
        try:
            return await running
        except Exception as fault:
            made = translated(fault, self._place)
            if made is fault:
                raise
            raise made from None

    async def close(self) -> None:
        """Close it."""
        await self._thread.close()


def _in_transaction(connection: PostgresConnection, unit: Unit[T]) -> T:
    connection.driver.execute("BEGIN")
    try:
        result = unit(connection)
        connection.driver.execute("COMMIT")
    except BaseException:
        if connection.is_usable:
            connection.driver.execute("ROLLBACK")
        raise
    return result
