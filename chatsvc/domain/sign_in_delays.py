"""Growing delays after wrong passwords and codes (DECISIONS.md section 6, "passwords").

The failures are kept in memory: a table would let strangers write to the store, and a restart, which they cannot cause, only allows a
few more attempts. Several processes count apart, each with delays up to the longest.
"""

from __future__ import annotations

import hashlib
from ipaddress import ip_address, ip_network
from typing import NamedTuple

WINDOW_MS = 900_000
EMAIL_FAILURES, ADDRESS_FAILURES = 5, 20
LONGEST_S = 60
MOST_KEYS = 20_000


class SignInAttempt(NamedTuple):
    """An attempt to sign in. Digests of e-mail address and client address, and its time in milliseconds."""

    email: bytes
    address: bytes
    at: int


def delay_s(failures: int, allowed: int) -> int:
    """Return the pause after that many failures. None below `allowed`, then 1 s, doubled by each further one, at most 60 s."""
    return 0 if failures < allowed else min(LONGEST_S, 1 << min(failures - allowed, 6))


class SignInDelays:
    """Counts failed attempts of the last 15 minutes by e-mail address and by client address.

    Memory is bounded: beyond MOST_KEYS the key with the oldest attempt is forgotten.
    """

    def __init__(self) -> None:
        self._failures: dict[bytes, list[int]] = {}

    def begin(self, email: str, address: str, now: int) -> SignInAttempt | int:
        """Begin an attempt, which counts as failed until it is `passed`. If there were too many, return the seconds to wait.

        Counting before the password is verified bounds attempts that run at the same time.
        """
        attempt = SignInAttempt(_key("email", email), _key("address", _network(address)), now)
        wait = max(self._wait_ms(attempt.email, EMAIL_FAILURES, now), self._wait_ms(attempt.address, ADDRESS_FAILURES, now))
        if wait > 0:
            return -(-wait // 1000)
        for key in attempt[:2]:
            failures = self._failures.pop(key, [])
            self._failures[key] = [*failures, now]  # at the end of the order by age
        while len(self._failures) > MOST_KEYS:
            del self._failures[next(iter(self._failures))]
        return attempt

    def passed(self, attempt: SignInAttempt) -> None:
        """Forget the failures of the e-mail address. Of the client's address, which may have its own account, this attempt alone."""
        self._failures.pop(attempt.email, None)
        self.withdraw(attempt)

    def withdraw(self, attempt: SignInAttempt) -> None:
        """Take back an attempt that was neither right nor wrong."""
        for key in attempt[:2]:
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


def _network(address: str) -> str:
    """Return the /64 network of an IPv6 address, which is one customer's. Other addresses as they are."""
    try:
        found = ip_address(address)
    except ValueError:
        return address
    return address if found.version == 4 else str(ip_network((found, 64), strict=False))


def _key(kind: str, text: str) -> bytes:
    # Digests have one size, however long a text a stranger sends.
    return hashlib.blake2b(f"{kind} {text}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
