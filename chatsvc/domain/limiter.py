"""Limits of an account: requests of a minute (help/interface.md 7), and messages of a month (help/interface.md 5.3).

The window of a minute begins on the minute of the clock. The allowance of a month is exact under any concurrency.
"""

from __future__ import annotations

from dataclasses import dataclass
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


class Allowance:
    """One account's counts in this process: what was committed, and what is reserved. Nothing waits: check and reservation are one step."""

    __slots__ = ("credits", "limit", "reserved", "used")

    def __init__(self, limit: int, credits: int, used: dict[str, int]) -> None:
        self.limit = limit
        self.credits = credits
        self.used = used
        self.reserved: dict[str, int] = {}

    def _left_of_plan(self, month: str) -> int:
        """Count the messages that the plan still allows in `month`. Negative where credits pay for some in flight."""
        return max(0, self.limit - self.used.get(month, 0)) - self.reserved.get(month, 0)

    def left(self, month: str) -> int:
        """Count the messages that may still be accepted in `month`. Those of the plan and credits, less those in flight."""
        on_credit = sum(max(0, -self._left_of_plan(other)) for other in self.reserved)
        return max(0, self._left_of_plan(month)) + max(0, self.credits - on_credit)

    def reserve(self, month: str) -> HeldMessage | None:
        """Hold one message of `month` (`2026-11`); None where none is left."""
        if self._left_of_plan(month) <= 0 and not self.left(month):
            return None
        self.reserved[month] = self.reserved.get(month, 0) + 1
        return HeldMessage(month, self)


@dataclass(slots=True)
class HeldMessage:
    """One message of an allowance that has been accepted and is not answered yet. Memory holds it in `allowance`, or the store.

    turn: number of the open turn in the store that holds it; None where memory does. is_first: no earlier turn of its conversation is open.
    """

    month: str
    allowance: Allowance | None = None
    turn: int | None = None
    is_first: bool = True
    is_open: bool = True

    def close(self) -> None:
        """Hold it no more: it was charged, or is given back. A second time does nothing."""
        if self.is_open and self.allowance is not None:
            self.allowance.reserved[self.month] -= 1
            if not self.allowance.reserved[self.month]:
                del self.allowance.reserved[self.month]
        self.is_open = False
