"""The rate limit (help/interface.md 7). A fixed window that begins on the minute of the clock."""

from typing import NamedTuple, Protocol

WINDOW_S = 60


class AccountVersion(NamedTuple):
    """Numbers that grow with each change of an account. `settings`: its row, keys and bots; `activity`: its conversations."""

    settings: int
    activity: int


class Slot(NamedTuple):
    """State of a key's rate-limit window. `reset` is its end in Unix seconds, `version` that of the key's account at this moment."""

    taken: bool
    limit: int
    remaining: int
    reset: int
    version: AccountVersion | None = None


def untouched(limit: int, now_ms: int) -> Slot:
    """Return the full window, for a caller without a valid key."""
    return Slot(False, limit, limit, (now_ms // (WINDOW_S * 1000) + 1) * WINDOW_S)


class RateLimiter(Protocol):
    """Counts the requests of each key, in this process or over several. `limit` is that of a window."""

    limit: int

    async def take(self, key_id: str, now_ms: int, account_id: str = "") -> Slot:
        """Take one slot of the key's window; `taken` is False where none was left."""
        ...

    async def peek(self, key_id: str | None, now_ms: int, account_id: str = "") -> Slot:
        """Show the window without taking a slot. The whole limit where the key is unknown."""
        ...


class Limiter:
    """Counts the requests of each key in memory. All counts go when the next window begins, so memory is bounded by the active keys."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._window = 0
        self._counts: dict[str, int] = {}

    async def take(self, key_id: str, now_ms: int, account_id: str = "") -> Slot:
        slot = await self.peek(key_id, now_ms, account_id)
        if not slot.remaining:
            return slot
        self._counts[key_id] = self._counts.get(key_id, 0) + 1
        return slot._replace(taken=True, remaining=slot.remaining - 1)

    async def peek(self, key_id: str | None, now_ms: int, account_id: str = "") -> Slot:
        del account_id
        window = now_ms // (WINDOW_S * 1000)
        # A clock set back by less than a window must not hand out the same window twice; one set back further is believed.
        if window > self._window or window < self._window - 1:
            self._window = window
            self._counts.clear()
        return Slot(False, self.limit, max(0, self.limit - self._counts.get(key_id or "", 0)), (self._window + 1) * WINDOW_S)
