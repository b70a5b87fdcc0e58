"""Caches of accounts, histories, indexes and channels for one of several processes.

Data that others may change is read from the store each time; search indexes are kept by version.
"""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakValueDictionary

from chatsvc.domain import keys as key_rules
from chatsvc.domain.models import ApiKey, Bot
from chatsvc.engines import Knowledge
from chatsvc.store import accounts, keys, knowledge
from chatsvc.store import channels as stored_channels
from chatsvc.store.conversations import ConversationHistory
from chatsvc.store.database import Database
from chatsvc.usecases.account_cache import AccountCache, AccountState, RequestCount
from chatsvc.usecases.channel_secrets import ChannelCache, OpenChannel, opened
from chatsvc.usecases.history_cache import ConversationKey, HistoryCache
from chatsvc.usecases.knowledge_cache import KnowledgeCache


class NoHistories(HistoryCache):
    """A cache that keeps nothing: the next message of a conversation may be answered by another process."""

    def put(self, conversation: ConversationKey, history: ConversationHistory, since: int, generation: int) -> None:
        """See HistoryCache.put."""


class SharedAccounts(AccountCache):
    """Reads keys and accounts for each request. A revoked key, a changed plan or a spent allowance counts from the next one on."""

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self.histories = NoHistories()
        self._requests: WeakValueDictionary[str, RequestCount] = WeakValueDictionary()

    async def key(self, secret: str) -> ApiKey | None:
        """See AccountCache.key."""
        if not key_rules.is_well_formed(secret):
            return None
        return await keys.find(self._db, key_rules.digest(secret))

    async def account(self, account_id: str) -> AccountState | None:
        """See AccountCache.account."""
        holding = await accounts.read(self._db, account_id)
        if holding is None:
            self._accounts.pop(account_id, None)
            return None
        requests = self._requests.get(account_id) or RequestCount()
        self._requests[account_id] = requests
        state = self._accounts[account_id] = AccountState(holding, requests)
        return state


class SharedKnowledge(KnowledgeCache):
    """Keeps an index until the knowledge in the store has another version."""

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        self._versions: dict[str, int] = {}

    async def of(self, bot: Bot) -> Knowledge:
        """See KnowledgeCache.of."""
        # Read before the entries: an index that is newer than its version is built again, an older one is never kept.
        version = await knowledge.version(self._db, bot.id)
        if self._versions.get(bot.id, version) != version:
            self.invalidate(bot.id)
        self._versions[bot.id] = version
        return await super().of(bot)


class SharedChannels(ChannelCache):
    """Reads the channels of a bot each time."""

    async def of_bot(self, bot_id: str) -> Mapping[str, OpenChannel]:
        """See ChannelCache.of_bot."""
        return {one.channel.channel: opened(self._key, one) for one in await stored_channels.of_bot(self._db, bot_id)}
