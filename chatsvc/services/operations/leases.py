"""Named leases, for work that one of several processes does."""

from collections.abc import Awaitable, Callable

from chatsvc.store import nodes as stored
from chatsvc.store.database import Database


class Leases:
    """The leases of a process. One that works alone holds all; the end of one of several frees those that it held."""

    def __init__(self, db: Database | None = None) -> None:
        self._db = db

    async def hold(self, name: str) -> bool:
        """Take a lease that is free, or keep one's own. False where another process holds it. Raises StoreUnavailable."""
        return self._db is None or self._db.node is None or await stored.hold_lease(self._db, name, self._db.node)

    def guarding(self, name: str, work: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[None]]:
        """Return a function that does the work where this process holds the lease."""

        async def guarded() -> None:
            if await self.hold(name):
                await work()

        return guarded
