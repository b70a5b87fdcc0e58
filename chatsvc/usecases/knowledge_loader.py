"""Loads the knowledge of bots, ready to be searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatsvc.domain.models import Bot
    from chatsvc.engines import Knowledge
    from chatsvc.store.database import Database


class KnowledgeLoader:
    """Builds a search index at each call; enough for one command."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def of(self, bot: Bot) -> Knowledge:
        """Load a bot's knowledge; raises StoreUnavailable."""
        from chatsvc.engines.knowledge import KnowledgeIndex
        from chatsvc.store import knowledge

        entries, synonyms = await knowledge.whole(self._db, bot.id)
        return KnowledgeIndex(entries, bot.language, synonyms=[group.words for group in synonyms])

    def invalidate(self, bot_id: str) -> None:
        """Drop the bot's index, since its entries or synonyms have changed."""
