"""Growing delays after wrong passwords and codes (DECISIONS.md section 6, "passwords").

store/sign_in_failures.py keeps the failures, so that the delays hold over all processes of a store and over restarts.
"""

import hashlib
from ipaddress import ip_address, ip_network
from typing import NamedTuple

WINDOW_MS = 900_000
EMAIL_FAILURES, ADDRESS_FAILURES, ANYWHERE_FAILURES = 5, 20, 20
LONGEST_S = 60
MOST_FAILURES = 60_000  # kept; an attempt counts for up to three keys


class SignInAttempt(NamedTuple):
    """An attempt to sign in. Its keys, its own first, and its time in milliseconds."""

    keys: tuple[bytes, ...]
    at: int


def delay_s(failures: int, allowed: int) -> int:
    """Return the pause after that many failures. None below `allowed`, then 1 s, doubled by each further one, at most 60 s."""
    return 0 if failures < allowed else min(LONGEST_S, 1 << min(failures - allowed, 6))


def counted(email: str, place: str, *, is_known: bool = False) -> dict[bytes, int]:
    """Return the keys of an attempt with their numbers of free failures.

    The attempt's own key comes first. `place` is the client address or, for the password asked for again, the id of the session.
    `is_known` is true for that and for an address from which the operator has signed in before: it counts for itself alone. Else an e-mail
    address is counted for each group of client addresses apart, so that a stranger's failures do not hold its owner up, and for all of
    them together, which slows guessing from many places.
    """
    if is_known:
        keys = {_key("known", email, network(place)): EMAIL_FAILURES}
    else:
        keys = {_key("group", email, _group(place)): EMAIL_FAILURES, _key("email", email): ANYWHERE_FAILURES}
    keys[_key("address", network(place))] = ADDRESS_FAILURES
    return keys


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
