"""Caches of API keys, accounts and bots: of a process that works alone, and of one of several.

Each write of a process that works alone updates its cache after the commit, in the order of the commits: a request needs no query, and a
revoked key, a changed plan or a spent allowance counts from the next request on. One of several goes by the version of the account.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from chatsvc.domain import keys as key_rules
from chatsvc.domain.allowance import Allowance
from chatsvc.domain.limiter import AccountVersion
from chatsvc.domain.models import Account, ApiKey, Bot, ConversationKey, HistoryMessage
from chatsvc.store import accounts, keys
from chatsvc.store.database import Connection, Database, StoreUnavailable, Unit, Versioned

if TYPE_CHECKING:
    from chatsvc.store.exchanges import Counts


class RequestCount:
    """Number of an account's requests in flight in this process."""

    __slots__ = ("__weakref__", "in_flight")

    def __init__(self) -> None:
        self.in_flight = 0


class AccountState:
    """An account in memory: its bots, its allowance and its requests in flight."""

    __slots__ = ("account", "allowance", "bots", "counted", "keys", "pages", "requests", "version")

    def __init__(self, holding: accounts.Holding, requests: RequestCount | None = None) -> None:
        self.account = holding.account
        self.bots = {bot.id: bot for bot in holding.bots}
        self.allowance = Allowance(holding.account.messages_limit, holding.account.message_credits, holding.used)
        self.allowance.reserved = holding.held
        self.requests = requests or RequestCount()
        # Its keys by their digests, and the version of its pages and counts: where other processes may change it.
        self.keys: dict[bytes, ApiKey] = {}
        self.version = AccountVersion(0, 0)
        self.counted = True  # whether the counts are those of `version`

    def update_account(self, account: Account) -> None:
        """Take over the account's changed row."""
        self.account = account
        self.allowance.limit = account.messages_limit
        self.allowance.credits = account.message_credits

    def update_bot(self, bot: Bot) -> Bot:
        """Add or replace a bot, and return it."""
        self.bots[bot.id] = bot
        return bot

    def apply_exchange(self, bot_id: str, month: str, counts: Counts) -> None:
        """Take over the counts of a committed exchange."""
        self.allowance.used[month] = counts.month_used
        self.allowance.credits = counts.credits
        if counts.credits != self.account.message_credits:
            self.account = self.account._replace(message_credits=counts.credits)
        self.bots[bot_id] = self.bots[bot_id]._replace(messages_used=counts.bot_used)


class AccountCache:
    """Read-through cache over the store; the use-cases that write invalidate it."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._keys: dict[bytes, ApiKey] = {}
        self._accounts: dict[str, AccountState] = {}
        self._key_generation = 0
        self.key_uses: dict[str, int] = {}
        # Words of turns without an answer: context of the next turn, never stored.
        self.unanswered: dict[ConversationKey, list[HistoryMessage]] = {}

    async def key(self, secret: str) -> ApiKey | None:
        """Look up an API key; raises StoreUnavailable. A malformed one is unknown without a query."""
        if (fault := self._db.lost) is not None:
            raise StoreUnavailable(fault)
        digest = key_rules.digest(secret)
        key = self._keys.get(digest)
        if key is None and key_rules.is_well_formed(secret):
            generation = self._key_generation
            key = await keys.find(self._db, digest)
            # A key read before a revocation must not be cached after it.
            if key is not None and generation == self._key_generation:
                self._keys[digest] = key
        return key

    def invalidate_keys(self) -> None:
        self._key_generation += 1
        self._keys.clear()

    async def account(self, account_id: str) -> AccountState | None:
        """Look up an account, None where it is gone; raises StoreUnavailable."""
        state = self._accounts.get(account_id)
        if state is None and (holding := await accounts.hold(self._db, account_id)) is not None:
            state = self._accounts.setdefault(account_id, AccountState(holding))
        return state

    async def bot(self, account_id: str | None, bot_id: str | None) -> Bot | None:
        """Look up a bot, None where it or its account is gone; raises StoreUnavailable."""
        state = await self.account(account_id) if account_id else None
        return state.bots.get(bot_id or "") if state else None

    async def of_key(self, key: ApiKey) -> AccountState | None:
        """Look up the account of a key for a request that `confirm` follows; None where it is gone. Raises StoreUnavailable."""
        return await self.account(key.account_id) if key.account_id else None

    def confirm(self, state: AccountState, version: AccountVersion | None) -> bool:
        """Report whether what is kept of an account holds at its present version; None where nobody else changes it."""
        del state
        return version is None

    async def counted(self, state: AccountState) -> AccountState:
        """Return the account with its counts of this moment; raises StoreUnavailable."""
        return state

    def cached(self, account_id: str) -> AccountState | None:
        return self._accounts.get(account_id)

    def drop_unanswered(self) -> None:
        """Drop all unanswered words: some of them are erased."""
        self.unanswered.clear()

    def remove_account(self, account_id: str) -> None:
        """Drop a deleted account, with all keys and unanswered words."""
        self._accounts.pop(account_id, None)
        self.invalidate_keys()
        self.unanswered.clear()

    async def flush_key_uses(self) -> None:
        """Write the keys' times of last use. After a fault they are kept for the next call."""
        uses, self.key_uses = self.key_uses, {}
        if not uses:
            return
        try:
            await keys.note_use(self._db, uses)
        except BaseException:
            self.key_uses = {**uses, **self.key_uses}
            raise


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
