"""Rules for operators' passwords, and growing delays after wrong passwords."""

import hashlib
import re
import unicodedata
from collections.abc import Container
from ipaddress import ip_address, ip_network
from itertools import pairwise
from typing import NamedTuple

from chatsvc.domain import refusals

LEAST, MOST = 12, 256  # characters
_LEET = str.maketrans("@4310$57!", "aaeiossti")
_ENDS = re.compile(r"^[\W\d_]+|[\W\d_]+$")


def normalised(password: str) -> str:
    """Return a password in the Unicode form in which it is hashed. Keyboards encode the same letter in several ways."""
    return unicodedata.normalize("NFKC", password)


def check(password: str, email: str, common: Container[str]) -> str:
    """Return the normalised password; raises Refused. `common` has lower-case words and passwords that are easy to guess."""
    text = normalised(password)
    if len(text) < LEAST:
        raise refusals.password_too_short(least=LEAST)
    if len(text) > MOST:
        raise refusals.password_too_long(most=MOST)
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise refusals.text_invalid(field="password")
    if text.casefold() == email.casefold():
        raise refusals.password_is_email()
    if is_common(text, common):
        raise refusals.password_common()
    return text


def is_common(password: str, common: Container[str]) -> bool:
    """Return whether a password is common, a common one with digits and signs added, or a simple pattern."""
    text = password.casefold()
    core = _ENDS.sub("", text)
    # Without a letter it is a date, a telephone number or the like.
    steps = {ord(second) - ord(first) for first, second in pairwise(text)}
    is_monotonous = len(set(text)) < 4 or len(_unit(text)) < 5 or len(steps) == 1  # few characters, repeats, or the alphabet
    if not core or is_monotonous:
        return True
    units = [_unit(spelled) for spelled in (text, core, core.translate(_LEET))]
    return text in common or any(unit in common or _ENDS.sub("", unit) in common for unit in units)


def _unit(text: str) -> str:
    """Return the shortest part that gives `text` when it is repeated, such as "ab" for "ababa", or the whole text."""
    for length in range(1, len(text) // 2 + 1):
        if text[:length] * (len(text) // length) + text[: len(text) % length] == text:
            return text[:length]
    return text


WINDOW_MS = 900_000
EMAIL_FAILURES, ADDRESS_FAILURES, ANYWHERE_FAILURES = 5, 20, 20
LONGEST_S = 60
MOST_FAILURES = 60_000  # kept; an attempt counts for up to three keys


class SignInAttempt(NamedTuple):
    """An attempt to sign in: the keys under which it is counted, and its time in milliseconds."""

    keys: tuple[bytes, ...]
    attempted_at: int


def delay_s(failures: int, allowed: int) -> int:
    """Return the pause in seconds after a number of failures. It is 0 below `allowed`, then 1, and doubles each time up to 60."""
    return 0 if failures < allowed else min(LONGEST_S, 1 << min(failures - allowed, 6))


def counted(email: str, address: str, *, is_known: bool = False) -> dict[bytes, int]:
    """Return the keys under which an attempt to sign in is counted. The value of a key is the number of failures without delay.

    The attempt's own key comes first. `address` is the client's address, or the id of a session that must repeat its password.
    `is_known` is true for a session, and for an address from which the operator has signed in before. These are counted separately. For
    other addresses, failures of an e-mail address are counted twice: by group of client addresses, so that a stranger does not delay the
    owner, and for all client addresses together, which slows guessing from many places.
    """
    if is_known:
        keys = {_key("known", email, network(address)): EMAIL_FAILURES}
    else:
        # The network from which one person may easily take other addresses.
        keys = {_key("group", email, network(address, 24, 48)): EMAIL_FAILURES, _key("email", email): ANYWHERE_FAILURES}
    keys[_key("address", network(address))] = ADDRESS_FAILURES
    return keys


def network(address: str, bits_of_4: int = 32, bits_of_6: int = 64) -> str:
    """Return the network of an address. By default it is an IPv4 address itself, or the /64 of an IPv6 address (one customer's)."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    return str(ip_network((parsed, bits_of_4 if parsed.version == 4 else bits_of_6), strict=False).network_address)


def _key(kind: str, *texts: str) -> bytes:
    # Digests have one size, however long a text a stranger sends.
    return hashlib.blake2b(repr((kind, *texts)).encode("utf-8", "surrogatepass"), digest_size=16).digest()
