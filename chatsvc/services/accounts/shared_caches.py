"""Caches of accounts and indexes for one of several processes: by version, or read from the store each time."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from chatsvc.domain import keys as key_rules
from chatsvc.domain.limiter import AccountVersion
from chatsvc.domain.models import ApiKey, Bot
from chatsvc.engines import Knowledge
from chatsvc.services.accounts.account_cache import AccountCache, AccountState, RequestCount
from chatsvc.services.knowledge.knowledge_cache import KnowledgeCache
from chatsvc.store import accounts, keys, knowledge
from chatsvc.store.database import Connection, Database, Unit, Versioned

# Reads with a unit, and the version of an account on the same snapshot.
ReadVersioned = Callable[[str, Unit[Any]], Awaitable[Versioned]]


class SharedAccounts(AccountCache):
    """Keeps keys and accounts for requests, as long as the account has the version of which they were read."""

    def __init__(self, db: Database, versioned: ReadVersioned) -> None:
        super().__init__(db)
        self._versioned = versioned
        self._requests: WeakValueDictionary[str, RequestCount] = WeakValueDictionary()

    async def key(self, secret: str) -> ApiKey | None:
        if not key_rules.is_well_formed(secret):
            return None
        digest = key_rules.digest(secret)
        known = self._keys.get(digest)
        state = self._accounts.get(known.account_id or "") if known is not None else None
        if state is not None and digest in state.keys:
            return state.keys[digest]
        key = await keys.find(self._db, digest)
        if key is None or key.account_id is None:
            return key
        self._keys[digest] = key  # for its account, which never changes
        state = await self._load(key.account_id, digest)
        return state.keys.get(digest, key) if state is not None else key

    async def account(self, account_id: str) -> AccountState | None:
        """See AccountCache.account. It is as the store has it."""
        return await self._load(account_id)

    async def of_key(self, key: ApiKey) -> AccountState | None:
        account_id = key.account_id or ""
        state = self._accounts.get(account_id)
        return state if state is not None or not account_id else await self._load(account_id)

    def confirm(self, state: AccountState, version: AccountVersion | None) -> bool:
        """See AccountCache.confirm. A new activity alone costs the rendered pages."""
        if version is None:
            return True
        if version != state.version:
            # Another process may have answered or erased the visitor.
            self.unanswered.clear()
        if version.settings > state.version.settings:
            # Without its keys it is read again by the next request.
            cached = self._accounts.get(state.account.id)
            if cached is not None and version.settings > cached.version.settings:
                cached.keys = {}
            return False
        if version.activity > state.version.activity:
            state.version = version._replace(settings=state.version.settings)
            state.counted = False
        return True

    async def counted(self, state: AccountState) -> AccountState:
        return state if state.counted else await self._load(state.account.id) or state

    async def _load(self, account_id: str, digest: bytes | None = None) -> AccountState | None:
        snapshot = await self._versioned(account_id, partial(_read, account_id, digest))
        holding, key = snapshot.result
        if holding is None:
            self._accounts.pop(account_id, None)
            return None
        before = self._accounts.get(account_id)
        requests = self._requests.get(account_id) or RequestCount()
        self._requests[account_id] = requests
        state = AccountState(holding, requests)
        state.version = snapshot.version
        if before is not None and before.version.settings == snapshot.version.settings:
            state.keys = before.keys
        if key is not None and digest is not None:
            state.keys[digest] = key
        if before is None or before.version <= snapshot.version:
            self._accounts[account_id] = state
        return state


def _read(account_id: str, digest: bytes | None, connection: Connection) -> tuple[accounts.Holding | None, ApiKey | None]:
    return accounts.holding(connection, account_id), keys.found(connection, digest) if digest is not None else None


class SharedKnowledge(KnowledgeCache):
    """Keeps an index until the knowledge in the store has another version."""

    def __init__(self, db: Database) -> None:
        super().__init__(db)
        # Of bots: the version of the knowledge, and that of the account when it was read, which grows with it.
        self._versions: dict[str, tuple[int, int | None]] = {}

    async def of(self, bot: Bot, settings: int | None = None) -> Knowledge:
        before, at = self._versions.get(bot.id, (None, None))
        if settings is None or settings != at:
            # Read before the entries: an index that is newer than its version is built again, an older one is never kept.
            version = await knowledge.version(self._db, bot.id)
            if before not in (None, version):
                self.invalidate(bot.id)
            self._versions[bot.id] = version, settings
        return await super().of(bot)
