"""The monthly allowance: what may still be accepted, held against a model that pays message by message."""

import copy

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from chatsvc.domain.limiter import Allowance, HeldMessage

MONTHS = ("2026-11", "2026-12", "2027-01")
months = st.sampled_from(MONTHS)


class Ledger:
    """The naive model: every message pays in turn, from the month's plan while it lasts, then from the credits."""

    def __init__(self, limit: int, credits: int) -> None:
        self.limit = limit
        self.credits = credits
        self.used: dict[str, int] = {}

    def pay(self, month: str) -> bool:
        """Charge one message. False where nothing was left, which no transaction undoes."""
        self.used[month] = self.used.get(month, 0) + 1
        if self.used[month] <= self.limit:
            return True
        if self.credits == 0:
            return False
        self.credits -= 1
        return True

    def could_still_accept(self, month: str, answering: list[str]) -> int:
        """The messages left this month once all reservations are charged."""
        future = copy.deepcopy(self)
        for other in answering:
            future.pay(other)
        count = 0
        while future.pay(month):
            count += 1
        return count


class AllowanceAgainstTheLedger(RuleBasedStateMachine):
    """Messages accepted, answered, failed, and the administrator's changes, in any order over three months."""

    reservations = Bundle("reservations")

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger(3, 2)
        self.allowance = Allowance(3, 2, {})
        self.answering: list[str] = []
        self.broke_it = False

    @rule(target=reservations, month=months)
    def accept(self, month: str) -> object:
        expected = self.ledger.could_still_accept(month, self.answering)
        reservation = self.allowance.reserve(month)
        assert (reservation is not None) == (expected > 0)
        if reservation is None:
            return multiple()
        assert reservation.month == month
        self.answering.append(month)
        return reservation

    @rule(reservation=consumes(reservations))
    def fail(self, reservation: HeldMessage) -> None:
        reservation.close()
        reservation.close()
        self.answering.remove(reservation.month)

    @rule(reservation=consumes(reservations))
    def answer(self, reservation: HeldMessage) -> None:
        paid = self.ledger.pay(reservation.month)
        # Only an administrator who takes away what was promised can leave a message unpaid.
        assert paid or self.broke_it
        reservation.close()
        self.allowance.used[reservation.month], self.allowance.credits = self.ledger.used[reservation.month], self.ledger.credits
        self.answering.remove(reservation.month)

    @rule(limit=st.integers(0, 6))
    def set_limit(self, limit: int) -> None:
        self.broke_it |= limit < self.ledger.limit
        self.ledger.limit = self.allowance.limit = limit

    @rule(credits=st.integers(0, 4))
    def set_credits(self, credits: int) -> None:
        self.broke_it |= credits < self.ledger.credits
        self.ledger.credits = self.allowance.credits = credits

    @invariant()
    def what_is_left_is_what_the_ledger_says(self) -> None:
        for month in MONTHS:
            assert self.allowance.left(month) == self.ledger.could_still_accept(month, self.answering)
        assert self.allowance.used == self.ledger.used
        assert self.allowance.reserved == {month: self.answering.count(month) for month in set(self.answering)}


TestAllowanceAgainstTheLedger = AllowanceAgainstTheLedger.TestCase
TestAllowanceAgainstTheLedger.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
