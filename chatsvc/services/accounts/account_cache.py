"""Cache of API keys, accounts and bots.

A single process updates the cache after each of its commits, in their order. So a request needs no query, and a revoked key, a changed
plan or a used-up allowance takes effect with the next request. Each of several processes compares its cached version with the store's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from chatsvc.domain import keys as key_rules
from chatsvc.domain.limiter import AccountVersion, Allowance
from chatsvc.domain.models import Account, ApiKey, Bot, ConversationKey, HistoryMessage
from chatsvc.store import accounts
from chatsvc.store.database import Database, Unit, Versioned

if TYPE_CHECKING:
    from chatsvc.store.exchanges import Counts


class AccountState:
    """An account in memory, with its bots and allowance. `version` shows whether another process has changed the account."""

    __slots__ = ("account", "allowance", "bots", "counted", "keys", "version")

    def __init__(self, holding: accounts.Holding, version: AccountVersion) -> None:
        self.account = holding.account
        self.bots = {bot.id: bot for bot in holding.bots}
        self.allowance = Allowance(holding.account.messages_limit, holding.account.message_credits, holding.used)
        self.allowance.reserved = holding.held
        self.keys: dict[bytes, ApiKey] = {}  # by their digests
        self.version = version
        self.counted = True  # whether the counts are those of `version`

    def update_account(self, account: Account) -> None:
        """Replace the cached account by its changed row, and update its allowance."""
        self.account = account
        self.allowance.limit = account.messages_limit
        self.allowance.credits = account.message_credits

    def apply_exchange(self, bot_id: str, month: str, counts: Counts) -> None:
        """Update the cached counts after an exchange (a message and its reply) was committed."""
        self.allowance.used[month] = counts.month_used
        self.allowance.credits = counts.credits
        if counts.credits != self.account.message_credits:
            self.account = self.account._replace(message_credits=counts.credits)
        self.bots[bot_id] = self.bots[bot_id]._replace(messages_used=counts.bot_used)


class AccountCache:
    """Read-through cache of accounts. A single process updates the cache after each change.

    `versioned` is None for a single process. Otherwise it is a function that runs a reading unit, and returns the unit's result and the
    account's version from the same snapshot.
    """

    def __init__(self, db: Database, versioned: Callable[[str, Unit[Any]], Awaitable[Versioned]] | None = None) -> None:
        self._db, self._versioned = db, versioned
        self._accounts: dict[str, AccountState] = {}
        self._account_of_key: dict[bytes, str] = {}
        self.key_uses: dict[str, int] = {}
        # Words of turns without an answer: context of the next turn, never stored.
        self.unanswered: dict[ConversationKey, list[HistoryMessage]] = {}

    async def key(self, secret: str) -> tuple[ApiKey | None, AccountState | None]:
        """Look up an API key and its account; raises StoreUnavailable. The caller then has to call `confirm`.

        No query is made for a malformed key. The account is None if it does not exist any more.
        """
        digest, known = key_rules.digest(secret), self._account_of_key
        state = self._accounts.get(known.get(digest, ""))
        if state is not None and digest in state.keys:
            return state.keys[digest], state
        key = await accounts.find_key(self._db, digest) if key_rules.is_well_formed(secret) else None
        if key is None or key.account_id is None:
            return key, None
        if self._versioned is None:
            state = self._accounts.get(key.account_id) or await self._load(key.account_id)
            if state is not None and known is self._account_of_key:  # nothing was revoked since the key was read
                known[digest], state.keys[digest] = key.account_id, key
            return key, state
        known[digest] = key.account_id  # which never changes
        state = await self._load(key.account_id, digest)
        return (state.keys.get(digest, key) if state is not None else key), state

    def invalidate_keys(self) -> None:
        self._account_of_key = {}

    async def account(self, account_id: str) -> AccountState | None:
        """Return an account in its current state, or None if the account does not exist any more. Raises StoreUnavailable."""
        state = self._accounts.get(account_id) if self._versioned is None else None
        return state or await self._load(account_id)

    async def bot(self, account_id: str | None, bot_id: str | None) -> Bot | None:
        """Return a bot, or None if the bot or its account does not exist any more. Raises StoreUnavailable."""
        state = await self.account(account_id) if account_id else None
        return state.bots.get(bot_id or "") if state else None

    def confirm(self, state: AccountState, version: AccountVersion | None) -> bool:
        """Return whether the cached account is valid. `version` is its version in the store, or None for a single process.

        If only `activity` is newer there, the account stays valid, but its counts are read again before their next use.
        """
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
        """Return the account with its current counts of messages. Raises StoreUnavailable."""
        return state if state.counted else await self._load(state.account.id) or state

    def remove_account(self, account_id: str) -> None:
        """Remove a deleted account from the cache. Also forget all keys, and all messages that got no reply."""
        self._accounts.pop(account_id, None)
        self.invalidate_keys()
        self.unanswered.clear()

    async def flush_key_uses(self) -> None:
        """Write to the store when each key was last used. If this fails, the times are kept for the next call."""
        uses, self.key_uses = self.key_uses, {}
        if not uses:
            return
        try:
            await accounts.note_use(self._db, uses)
        except BaseException:
            self.key_uses = {**uses, **self.key_uses}
            raise

    async def _load(self, account_id: str, digest: bytes | None = None) -> AccountState | None:
        if self._versioned is None:
            holding, key, version = await accounts.hold(self._db, account_id), None, AccountVersion(0, 0)
        else:
            unit = partial(accounts.holding_and_key, account_id=account_id, digest=digest)
            (holding, key), version = await self._versioned(account_id, unit)
        before = self._accounts.get(account_id)
        if holding is None:
            self._accounts.pop(account_id, None)
            return None
        if before is not None and self._versioned is None:
            state = before  # nobody else has changed it
        else:
            state = AccountState(holding, version)
            if before is not None and before.version.settings == version.settings:
                state.keys = before.keys
            if before is None or before.version <= version:
                self._accounts[account_id] = state
        if key is not None and digest is not None:
            state.keys[digest] = key
        return state
