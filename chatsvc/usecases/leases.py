"""Named leases: work of which an installation does one piece at a time, whatever the number of its processes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from chatsvc.store import leases as stored
from chatsvc.store.database import Database


class Leases:
    """The leases of a process that works alone: it holds all."""

    async def hold(self, name: str) -> bool:
        """Take a lease that is free, or keep one's own. False where another process holds it. Raises StoreUnavailable."""
        del name
        return True

    def guarding(self, name: str, work: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[None]]:
        """Return a function that does the work where this process holds the lease."""

        async def guarded() -> None:
            if await self.hold(name):
                await work()

        return guarded


class SharedLeases(Leases):
    """The leases of one of several processes. The end of a process frees those that it held."""

    def __init__(self, db: Database, node: str) -> None:
        self._db, self._node = db, node

    async def hold(self, name: str) -> bool:
        """See Leases.hold."""
        return await stored.hold(self._db, name, self._node)
