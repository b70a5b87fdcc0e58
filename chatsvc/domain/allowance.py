"""The monthly allowance (help/interface.md 5.3). What an account may still send, exactly, under any concurrency."""

from __future__ import annotations

from dataclasses import dataclass


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
