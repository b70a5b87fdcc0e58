"""Admission control. How many connections without a valid key there may be, in all and for each address, and the bytes of their bodies.

A connection is counted by a Lease from the moment it is read until it closes or a request on it is authenticated. A body is counted
until its request is authenticated or answered, whatever earlier requests of its connection were.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

IDLE_S = 1.0  # before a connection is closed in favour of another one
MOST_BODIES = 8 * 1024 * 1024  # bytes of all bodies together whose senders are unknown


class Lease:
    """One counted connection or request; `release` may be called any number of times."""

    __slots__ = ("_admission", "_counts_in_total", "share")

    def __init__(self, admission: Admission, share: str | None, *, counts_in_total: bool) -> None:
        self._admission: Admission | None = admission
        self._counts_in_total = counts_in_total
        self.share = share

    def release(self) -> None:
        admission, self._admission = self._admission, None
        if admission is not None:
            admission.release(self, counts_in_total=self._counts_in_total)

    @property
    def is_wanted(self) -> bool:
        """Whether a connection waits that could take this lease."""
        return self._admission is not None and self._admission.is_wanted(self.share)

    def set_idle(self, close: Callable[[], bool] | None) -> None:
        """Mark the connection as idle. `close` closes it if its lease is needed, and returns False if it is idle no more. None: busy."""
        if self._admission is not None:
            self._admission.set_idle(self, close)


class Admission:
    """Counts leases.

    `on_release` is called with the share of each lease that ends, `on_idle` when a connection becomes idle; `is_wanted` tells whether
    a connection waits that could take a lease of the given share.
    """

    def __init__(self, connections: int, per_share: int) -> None:
        self._connections = connections
        self._per_share = per_share
        self._total = 0
        self._body_bytes = 0
        self._shares: Counter[str] = Counter()
        # The longest idle first, with the time since when.
        self._idle: dict[Lease, tuple[Callable[[], bool], float]] = {}
        self.on_release: Callable[[str | None], None] | None = None
        self.on_idle: Callable[[], None] | None = None
        self.is_wanted: Callable[[str | None], bool] = lambda _: False

    @property
    def is_full(self) -> bool:
        """Whether all leases are taken, whatever the address."""
        return self._total >= self._connections

    def take(self, share: str | None) -> Lease | None:
        """Take a lease for a connection; None where the total or the share is exhausted. A share of None has no limit."""
        if self.is_full or self._is_exhausted(share):
            return None
        self._total += 1
        return self._count(share, counts_in_total=True)

    def take_request(self, share: str) -> Lease | None:
        """Take a lease for a request that a trusted proxy forwards. Its connection is counted by itself."""
        return None if self._is_exhausted(share) else self._count(share, counts_in_total=False)

    def _is_exhausted(self, share: str | None) -> bool:
        return share is not None and self._shares[share] >= self._per_share

    def _count(self, share: str | None, *, counts_in_total: bool) -> Lease:
        if share is not None:
            self._shares[share] += 1
        return Lease(self, share, counts_in_total=counts_in_total)

    def release(self, lease: Lease, *, counts_in_total: bool) -> None:
        self._idle.pop(lease, None)
        self._total -= counts_in_total
        if lease.share is not None:
            self._shares[lease.share] -= 1
            if not self._shares[lease.share]:
                del self._shares[lease.share]
        if counts_in_total and self.on_release is not None:
            self.on_release(lease.share)

    def set_idle(self, lease: Lease, close: Callable[[], bool] | None) -> None:
        self._idle.pop(lease, None)
        if close is not None:
            self._idle[lease] = close, time.monotonic()
            if self.on_idle is not None:
                self.on_idle()

    def take_bytes(self, size: int) -> bool:
        """Count bytes of an unknown sender's body. Return False, and count nothing, if they are too many."""
        if self._body_bytes + size > MOST_BODIES:
            return False
        self._body_bytes += size
        return True

    def release_bytes(self, size: int) -> None:
        """Stop counting bytes of a body."""
        self._body_bytes -= size

    def close_idle(self, share: str | None) -> bool:
        """Close the connection idle longest, more than a moment, whose lease one of this share could take. Return whether there was one."""
        exhausted, latest = self._is_exhausted(share), time.monotonic() - IDLE_S
        for lease, (close, since) in tuple(self._idle.items()):
            if since > latest:
                break
            if (not exhausted or lease.share == share) and close():
                self._idle.pop(lease, None)
                return True
        return False
