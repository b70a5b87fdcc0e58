"""Limits of an account: requests in a minute (help/interface.md 7), and messages in a month (help/interface.md 5.3).

A window begins with each minute of the clock. The allowance of a month is exact under any concurrency.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

WINDOW_S = 60


class AccountVersion(NamedTuple):
    """Numbers that grow with each change of an account: `settings` for its row, keys and bots, `activity` for its conversations."""

    settings: int
    activity: int


class Slot(NamedTuple):
    """State of a key's rate-limit window. `reset` is its end in Unix seconds; `version` is the current version of the key's account."""

    taken: bool
    limit: int
    remaining: int
    reset: int
    version: AccountVersion | None = None


def untouched(limit: int, now_ms: int) -> Slot:
    """Return the state of an unused window, for a caller without a valid key."""
    return Slot(False, limit, limit, (now_ms // (WINDOW_S * 1000) + 1) * WINDOW_S)


class RateLimiter(Protocol):
    """Counter of the requests of each key, in one process or over several processes. `limit` is the number allowed in a window."""

    limit: int

    async def take(self, key_id: str, now_ms: int, account_id: str = "", slots: int = 1) -> Slot:
        """Take one slot of the key's window, or none if `slots` is 0, and return the state of the window.

        `taken` is False in the result if no slot was left. An empty `key_id` stands for an unknown key, whose window is unused.
        """
        ...


class Limiter:
    """Counter of the requests of each key in memory. All counts are deleted when the next window begins, so memory is bounded."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._window = 0
        self._counts: dict[str, int] = {}

    async def take(self, key_id: str, now_ms: int, account_id: str = "", slots: int = 1) -> Slot:
        del account_id
        window = now_ms // (WINDOW_S * 1000)
        # A clock set back by less than a window must not hand out the same window twice; one set back further is believed.
        if window > self._window or window < self._window - 1:
            self._window = window
            self._counts.clear()
        used = self._counts.get(key_id, 0)
        taken = slots > 0 and used < self.limit
        if taken:
            self._counts[key_id] = used = used + 1
        return Slot(taken, self.limit, max(0, self.limit - used), (self._window + 1) * WINDOW_S)


class Allowance:
    """Numbers of committed and reserved messages of an account in this process. Check and reservation are one step, without waiting."""

    __slots__ = ("credits", "limit", "reserved", "used")

    def __init__(self, limit: int, credits: int, used: dict[str, int]) -> None:
        self.limit = limit
        self.credits = credits
        self.used = used
        self.reserved: dict[str, int] = {}

    def _left_of_plan(self, month: str) -> int:
        """Return how many messages the plan still allows in `month`. It is negative if credits pay for messages in flight."""
        return max(0, self.limit - self.used.get(month, 0)) - self.reserved.get(month, 0)

    def left(self, month: str) -> int:
        """Return how many messages may still be accepted in `month`, by plan and credits, without those in flight."""
        on_credit = sum(max(0, -self._left_of_plan(other)) for other in self.reserved)
        return max(0, self._left_of_plan(month)) + max(0, self.credits - on_credit)

    def reserve(self, month: str) -> HeldMessage | None:
        """Reserve one message of `month` (`2026-11`). Return None if none is left."""
        if self._left_of_plan(month) <= 0 and not self.left(month):
            return None
        self.reserved[month] = self.reserved.get(month, 0) + 1
        return HeldMessage(month, self)


@dataclass(slots=True)
class HeldMessage:
    """A reserved message: it has been accepted and is not answered yet. The reservation is in memory (`allowance`), or in the store.

    `turn` is the row number of the reservation in the store, or None for a reservation in memory. `is_first` is true if
    no earlier message of the conversation waits for its reply.
    """

    month: str
    allowance: Allowance | None = None
    turn: int | None = None
    is_first: bool = True
    is_open: bool = True

    def close(self) -> None:
        """End the reservation after the message was charged or has failed. A second call does nothing."""
        if self.is_open and self.allowance is not None:
            self.allowance.reserved[self.month] -= 1
            if not self.allowance.reserved[self.month]:
                del self.allowance.reserved[self.month]
        self.is_open = False
