"""Keys, accounts and bots as this process holds them.

One process alone writes the database, and each write puts its result here right after its commit; so what is held is what is
stored, and a request needs no look-up. A revoked key, a changed plan, a spent allowance hold from the very next request on.
"""

from __future__ import annotations

from chatsvc.domain.allowance import Allowance
from chatsvc.domain.models import Account, ApiKey, Bot
from chatsvc.store import accounts, keys
from chatsvc.store.database import Database
from chatsvc.usecases.pasts import Pasts


class Held:
    """An account in memory, with its bots and its allowance."""

    __slots__ = ("account", "allowance", "bots", "rendered")

    def __init__(self, holding: accounts.Holding) -> None:
        self.account = holding.account
        self.bots = {bot.id: bot for bot in holding.bots}
        self.allowance = Allowance(holding.account.messages_limit, holding.account.message_credits, holding.used)
        # What front ends have rendered of bots and conversations. Each change puts an empty one in its place, so that what was read
        # before the change and rendered after it is not kept.
        self.rendered: dict[object, bytes] = {}

    def take(self, account: Account | None) -> None:
        """The account's row has changed."""
        if account is not None:
            self.account = account
            self.allowance.limit = account.messages_limit
            self.allowance.credits = account.message_credits

    def put(self, bot: Bot | None) -> None:
        """A bot is new or has changed; each exchange changes one, its count."""
        if bot is not None:
            self.bots[bot.id] = bot
            self.rendered = {}


class Directory:
    """Read-through over the store; writers keep it true."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._keys: dict[bytes, ApiKey] = {}
        self._accounts: dict[str, Held] = {}
        self._key_changes = 0
        self.key_uses: dict[str, int] = {}
        self.pasts = Pasts()

    async def key(self, digest: bytes) -> ApiKey | None:
        """The key with this digest; raises StoreUnavailable."""
        key = self._keys.get(digest)
        if key is None:
            changes = self._key_changes
            key = await keys.find(self._db, digest)
            # A key read before a revocation must not be kept after it.
            if key is not None and changes == self._key_changes:
                self._keys[digest] = key
        return key

    def forget_keys(self) -> None:
        """A key has changed: read them anew."""
        self._key_changes += 1
        self._keys.clear()

    async def account(self, account_id: str) -> Held | None:
        """The account, None where it is gone; raises StoreUnavailable."""
        held = self._accounts.get(account_id)
        if held is None:
            await accounts.hold(self._db, account_id, self._hold)
            held = self._accounts.get(account_id)
        return held

    def _hold(self, holding: accounts.Holding | None) -> None:
        if holding is not None:
            self._accounts.setdefault(holding.account.id, Held(holding))

    def forget_rendered(self, account_id: str) -> None:
        """Some of what the account has is gone: nothing that shows it must be told again, and no answer lean on it."""
        held = self._accounts.get(account_id)
        if held is not None:
            held.rendered = {}
        self.pasts.forget()

    def forget_account(self, account_id: str) -> None:
        """The account has been deleted."""
        self._accounts.pop(account_id, None)
        self.forget_keys()
        self.pasts.forget()

    async def flush_key_uses(self) -> None:
        """Write when keys were last used; what could not be written stays for the next time."""
        uses, self.key_uses = self.key_uses, {}
        if not uses:
            return
        try:
            await keys.note_use(self._db, uses)
        except BaseException:
            self.key_uses = {**uses, **self.key_uses}
            raise
