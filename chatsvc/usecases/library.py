"""The knowledge of bots, ready to be searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatsvc.domain.models import Bot
    from chatsvc.engines import Knowledge
    from chatsvc.store.database import Database


class Library:
    """Reads what a bot knows and indexes them at each call; enough for one command."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def of(self, bot: Bot) -> Knowledge:
        """The bot's knowledge; raises StoreUnavailable."""
        from chatsvc.engines.knowledge import KnowledgeIndex
        from chatsvc.store import knowledge

        entries, synonyms = await knowledge.whole(self._db, bot.id)
        return KnowledgeIndex(entries, bot.language, synonyms=[group.words for group in synonyms])

    def changed(self, bot_id: str) -> None:
        """The bot's entries or synonyms are other ones now."""
