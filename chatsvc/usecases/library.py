"""The knowledge of bots, ready to be searched."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chatsvc.domain.models import Bot
    from chatsvc.engines import Knowledge
    from chatsvc.store.database import Database


class Library:
    """Reads a bot's entries and indexes them at each call; enough for one command."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def of(self, bot: Bot) -> Knowledge:
        """The bot's knowledge; raises StoreUnavailable."""
        from chatsvc.engines.knowledge import KnowledgeIndex
        from chatsvc.store import knowledge

        return KnowledgeIndex(await knowledge.entries(self._db, bot.id), bot.language)

    def changed(self, bot_id: str) -> None:
        """The bot's entries are other ones now."""
