"""The library of the running service: an index is built once, off the event loop, and kept until its entries change."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from chatsvc.domain.models import Bot, Entry
from chatsvc.engines import Knowledge, background
from chatsvc.engines.knowledge import KnowledgeIndex
from chatsvc.store import bots, knowledge
from chatsvc.store.database import Database
from chatsvc.usecases.directory import Directory
from chatsvc.usecases.library import Library

MOST_KEPT = 256
LARGE = 500  # entries from which on a knowledge is made ready when the service starts


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

    async def make_ready(self, directory: Directory) -> None:
        """Build what the first message to a bot would wait for, one after the other; raises StoreUnavailable."""
        for bot_id in (await knowledge.large(self._db, LARGE))[:MOST_KEPT]:
            owner = await bots.owner(self._db, bot_id)
            held = await directory.account(owner) if owner else None
            bot = held.bots.get(bot_id) if held else None
            if bot and bot.active:
                await self.of(bot)

    async def _build(self, bot: Bot) -> Knowledge:
        entries, synonyms = await knowledge.whole(self._db, bot.id)
        return await background.beside(partial(_built, entries, bot.language, [group.words for group in synonyms]))

    def changed(self, bot_id: str) -> None:
        """See Library.changed."""
        for key in [key for key in self._builds if key[0] == bot_id]:
            del self._builds[key]


def _built(entries: Sequence[Entry], language: str, synonyms: Sequence[Sequence[str]]) -> Knowledge:
    index = KnowledgeIndex(entries, language, synonyms)
    if len(entries) >= LARGE:
        background.give_back()
    return index
