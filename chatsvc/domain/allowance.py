"""The monthly allowance (help/interface.md 5.3). What an account may still send, exactly, under any concurrency."""

from __future__ import annotations

from typing import Protocol


class Allowance:
    """One account's counts in this process: what was committed, and what is reserved. Nothing waits: check and reservation are one step."""

    __slots__ = ("credits", "limit", "reserved", "used")

    def __init__(self, limit: int, credits: int, used: dict[str, int]) -> None:
        self.limit = limit
        self.credits = credits
        self.used = used
        self.reserved: dict[str, int] = {}

    def _left_of_plan(self, month: str) -> int:
        """Messages that the plan still allows in `month`. Negative where credits pay for some in flight."""
        return max(0, self.limit - self.used.get(month, 0)) - self.reserved.get(month, 0)

    def left(self, month: str) -> int:
        """Count the messages that may still be accepted in `month`. Those of the plan and credits, less those in flight."""
        on_credit = sum(max(0, -self._left_of_plan(other)) for other in self.reserved)
        return max(0, self._left_of_plan(month)) + max(0, self.credits - on_credit)

    def reserve(self, month: str) -> Reservation | None:
        """Hold one message of `month` (`2026-11`); None where none is left."""
        return Reservation(self, month) if self._left_of_plan(month) > 0 or self.left(month) else None


class HeldMessage(Protocol):
    """Message of an allowance, held for a turn in memory or in the store."""

    month: str

    @property
    def turn(self) -> int | None:
        """Number of the open turn in the store that holds it; None where memory does."""
        ...

    def charge(self, used: int, credits: int, *, awaited: bool) -> None:
        """Take over the counts that its transaction left. awaited: whether somebody at another process has awaited the end of its turn."""
        ...


class Reservation:
    """One message that has been accepted and is not answered yet."""

    __slots__ = ("_allowance", "_open", "month")

    def __init__(self, allowance: Allowance, month: str) -> None:
        self._allowance = allowance
        self._open = True
        self.month = month
        allowance.reserved[month] = allowance.reserved.get(month, 0) + 1

    @property
    def turn(self) -> None:
        """See HeldMessage.turn."""
        return None

    def release(self) -> None:
        """Give it back; a second time does nothing."""
        if not self._open:
            return
        self._open = False
        reserved = self._allowance.reserved
        reserved[self.month] -= 1
        if not reserved[self.month]:
            del reserved[self.month]

    def charge(self, used: int, credits: int, *, awaited: bool = False) -> None:
        """See HeldMessage.charge."""
        del awaited
        self.release()
        self._allowance.used[self.month] = used
        self._allowance.credits = credits
