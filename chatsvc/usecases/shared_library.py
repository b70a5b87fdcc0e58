"""The library of the running service: an index is built once, off the event loop, and kept until its entries change."""

from __future__ import annotations

import asyncio

from chatsvc.domain.models import Bot
from chatsvc.engines import Knowledge
from chatsvc.engines.knowledge import KnowledgeIndex
from chatsvc.store import knowledge
from chatsvc.store.database import Database
from chatsvc.usecases.library import Library

MOST_KEPT = 256


class SharedLibrary(Library):
    """Keeps the indexes of the bots asked last; callers that come together wait for the same build."""

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self._builds: dict[tuple[str, str], asyncio.Task[Knowledge]] = {}

    async def of(self, bot: Bot) -> Knowledge:
        """See Library.of."""
        key = (bot.id, bot.language)
        build = self._builds.pop(key, None)
        if build is None or (build.done() and (build.cancelled() or build.exception())):
            build = asyncio.create_task(self._build(bot))
        self._builds[key] = build  # last in the order, and the first of it goes
        if len(self._builds) > MOST_KEPT:
            del self._builds[next(iter(self._builds))]
        return build.result() if build.done() else await asyncio.shield(build)

    async def _build(self, bot: Bot) -> Knowledge:
        entries, synonyms = await knowledge.whole(self._db, bot.id)
        return await asyncio.to_thread(KnowledgeIndex, entries, bot.language, synonyms=[group.words for group in synonyms])

    def changed(self, bot_id: str) -> None:
        """See Library.changed."""
        for key in [key for key in self._builds if key[0] == bot_id]:
            del self._builds[key]
