"""Cache of bots' search indexes. Each index is built in a thread, and dropped when the bot's knowledge changes."""

import asyncio
import ctypes
from contextlib import suppress

from chatsvc import background
from chatsvc.domain.models import Bot
from chatsvc.engines import Knowledge
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from chatsvc.services.accounts.account_cache import AccountCache
from chatsvc.store import knowledge, knowledge_changes, owners
from chatsvc.store.database import Database

MOST_KEPT = 256
LARGE = 500  # entries from which on an index is built when the service starts


class KnowledgeCache:
    """Least-recently-used cache of search indexes. Concurrent callers wait for the same build.

    If `shared` is true, other processes write to the store too; an index is then valid while the bot's knowledge has the same version.
    """

    def __init__(self, db: Database, *, shared: bool = False) -> None:
        self._db, self._shared = db, shared
        # bot id -> version of its knowledge, and version of its account at that time, which grows whenever the knowledge changes
        self._versions: dict[str, tuple[int, int | None]] = {}
        self._builds: dict[tuple[str, str], asyncio.Task[Knowledge]] = {}

    async def of(self, bot: Bot, settings: int | None = None) -> Knowledge:
        """Return a bot's index, built if necessary; raises StoreUnavailable. `settings` is the account's version, if known."""
        before, read_with = self._versions.get(bot.id, (None, None))
        if self._shared and (settings is None or settings != read_with):
            # Read before the entries: an index that is newer than its version is built again, an older one is never kept.
            version, _ = await knowledge_changes.last(self._db, bot.id)
            if before not in (None, version):
                self.invalidate(bot.id)
            self._versions[bot.id] = version, settings
        key = (bot.id, bot.language)
        build = self._builds.pop(key, None)
        if build is None or (build.done() and (build.cancelled() or build.exception())):
            build = asyncio.create_task(self._build(bot))
        self._builds[key] = build  # moved to the end: the first one is evicted
        if len(self._builds) > MOST_KEPT:
            del self._builds[next(iter(self._builds))]
        return build.result() if build.done() else await asyncio.shield(build)

    async def warm(self, accounts: AccountCache) -> None:
        """Build the large indexes of active bots, one after the other; raises StoreUnavailable."""
        for bot_id in (await knowledge.large(self._db, LARGE))[:MOST_KEPT]:
            owner = await owners.account_of(self._db, "bot", bot_id, None)
            state = await accounts.account(owner) if owner else None
            bot = state.bots.get(bot_id) if state else None
            if bot and bot.active:
                await self.of(bot)

    async def _build(self, bot: Bot) -> Knowledge:
        entries, synonyms = await knowledge.whole(self._db, bot.id)

        def build() -> Knowledge:
            index = KnowledgeIndex(entries, bot.language, [group.words for group in synonyms])
            if len(entries) >= LARGE:
                # Returns the memory of the build to the system, where the C library can.
                with suppress(OSError, AttributeError):
                    ctypes.CDLL(None).malloc_trim(0)
            return index

        return await background.in_daemon_thread(build)

    def invalidate(self, bot_id: str) -> None:
        """Drop the bot's indexes, since its entries or synonyms have changed."""
        for key in [key for key in self._builds if key[0] == bot_id]:
            del self._builds[key]
