"""Counters and histograms of the running service, kept as plain numbers for speed.

The metrics listener turns them into Prometheus text.

Every key comes from a table of the program or from the configuration, so their number is small. There are no keys for paths or visitors.
An account has a key only while it has requests in flight.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from chatsvc.domain.models import Usage

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Histogram:
    """Histogram of values. `counts` has a count for each bucket up to a bound, and one for higher values. `total` is the values' sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def note(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def quantile(self, part: float) -> float | None:
        """Estimate a quantile, linearly within a bucket; it is at most the last bound. Return None if there are no values."""
        rank, below, low = part * sum(self.counts), 0, 0.0
        for count, bound in zip(self.counts, self.bounds, strict=False):
            if count and below + count >= rank:
                return low + (bound - low) * (rank - below) / count
            below, low = below + count, bound
        return float(self.bounds[-1]) if any(self.counts) else None


class Spending(NamedTuple):
    """Tokens of replies, and their cost."""

    usage: Usage = Usage()
    cost_micro_usd: int = 0


NOTHING = Spending()


class Tallies:
    """The counts of one process, since it started. At most `most` requests may be in flight, and at most half of them for one account."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.in_flight = 0
        self._of_accounts: Counter[str] = Counter()
        # By operation, status and error code ("" for none).
        self.requests: Counter[tuple[str, int, str]] = Counter()
        self.durations: defaultdict[str, Histogram] = defaultdict(Histogram)
        # By tier and outcome: "ok", or the reason of the 502.
        self.replies: defaultdict[tuple[str, str], Histogram] = defaultdict(Histogram)
        # By tier and plan: tokens and micro-dollars.
        self.spendings: dict[tuple[str, str], Spending] = {}

    def has_room(self, account_id: str) -> bool:
        """Return whether another request of an account may begin."""
        return self.in_flight < self.most and self._of_accounts[account_id] < max(1, self.most // 2)

    @contextmanager
    def in_flight_of(self, account_id: str) -> Iterator[None]:
        """Count a request of an account while it is in flight."""
        self.in_flight += 1
        self._of_accounts[account_id] += 1
        try:
            yield
        finally:
            self.in_flight -= 1
            self._of_accounts[account_id] -= 1
            if not self._of_accounts[account_id]:
                del self._of_accounts[account_id]

    def spent(self, tier: str, plan: str, usage: Usage, cost_micro_usd: int) -> None:
        """Count the tokens and the cost of a committed reply."""
        before = self.spendings.get((tier, plan), NOTHING)
        self.spendings[tier, plan] = Spending(before.usage.plus(usage), before.cost_micro_usd + cost_micro_usd)
