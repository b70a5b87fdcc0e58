"""Growing delays after wrong passwords and codes (DECISIONS.md section 6, "passwords").

The failures are kept in memory: a table would let strangers write to the store, and a restart, which they cannot cause, only allows a
few more attempts. Several processes count apart, each with delays up to the longest.
"""

from __future__ import annotations

import hashlib
from ipaddress import ip_address, ip_network
from typing import NamedTuple

WINDOW_MS = 900_000
EMAIL_FAILURES, ADDRESS_FAILURES, ANYWHERE_FAILURES = 5, 20, 20
LONGEST_S = 60
MOST_KEYS = 20_000


class SignInAttempt(NamedTuple):
    """An attempt to sign in. Digests of what it counts for, its own first, and its time in milliseconds."""

    keys: tuple[bytes, ...]
    at: int


def delay_s(failures: int, allowed: int) -> int:
    """Return the pause after that many failures. None below `allowed`, then 1 s, doubled by each further one, at most 60 s."""
    return 0 if failures < allowed else min(LONGEST_S, 1 << min(failures - allowed, 6))


class SignInDelays:
    """Counts failed attempts of the last 15 minutes by e-mail address and by client address.

    An e-mail address is counted for each group of client addresses apart, so that a stranger's failures do not hold its owner up, and
    for all of them together, which slows guessing from many places. An address from which its operator has signed in before counts for
    itself alone. Memory is bounded: beyond MOST_KEYS the key with the oldest attempt is forgotten.
    """

    def __init__(self) -> None:
        self._failures: dict[bytes, list[int]] = {}

    def begin(self, email: str, place: str, now: int, *, is_known: bool = False) -> SignInAttempt | int:
        """Begin an attempt, which counts as failed until it is `passed`. If there were too many, return the seconds to wait.

        `place` is the client address or, for the password asked for again, the id of the session; `is_known` is true for that and for
        an address from which the operator has signed in before. Counting before the password is verified bounds attempts that run at
        the same time.
        """
        if is_known:
            counted = {_key("known", email, network(place)): EMAIL_FAILURES}
        else:
            counted = {_key("group", email, _group(place)): EMAIL_FAILURES, _key("email", email): ANYWHERE_FAILURES}
        counted[_key("address", network(place))] = ADDRESS_FAILURES
        wait = max(self._wait_ms(key, allowed, now) for key, allowed in counted.items())
        if wait > 0:
            return -(-wait // 1000)
        for key in counted:
            failures = self._failures.pop(key, [])
            self._failures[key] = [*failures, now]  # at the end of the order by age
        while len(self._failures) > MOST_KEYS:
            del self._failures[next(iter(self._failures))]
        return SignInAttempt(tuple(counted), now)

    def passed(self, attempt: SignInAttempt) -> None:
        """Forget the failures of the e-mail address from there. Of what others share, this attempt alone."""
        self.withdraw(attempt)
        self._failures.pop(attempt.keys[0], None)

    def withdraw(self, attempt: SignInAttempt) -> None:
        """Take back an attempt that was neither right nor wrong."""
        for key in attempt.keys:
            failures = self._failures.get(key, [])
            if attempt.at in failures:
                failures.remove(attempt.at)
            if not failures:
                self._failures.pop(key, None)

    def _wait_ms(self, key: bytes, allowed: int, now: int) -> int:
        # A clock that was set back must not make anybody wait for long.
        failures = [at for at in self._failures.get(key, ()) if now - WINDOW_MS < at <= now]
        if key in self._failures:
            self._failures[key] = failures
        return failures[-1] + delay_s(len(failures), allowed) * 1000 - now if failures else 0


def network(address: str) -> str:
    """Return the /64 network of an IPv6 address, which is one customer's. Other addresses as they are."""
    return _within(address, 32, 64)


def _group(address: str) -> str:
    """Return the network of an address from which one person may easily take others."""
    return _within(address, 24, 48)


def _within(address: str, bits_of_4: int, bits_of_6: int) -> str:
    try:
        found = ip_address(address)
    except ValueError:
        return address
    return str(ip_network((found, bits_of_4 if found.version == 4 else bits_of_6), strict=False).network_address)


def _key(kind: str, *texts: str) -> bytes:
    # Digests have one size, however long a text a stranger sends.
    return hashlib.blake2b(repr((kind, *texts)).encode("utf-8", "surrogatepass"), digest_size=16).digest()
