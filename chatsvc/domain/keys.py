"""API keys (SPEC.md section 5, DECISIONS.md section 1): `csk_`, 32 random base62 characters and 6 of checksum."""

from __future__ import annotations

import hashlib
import os
import re
import zlib

PREFIX = "csk_"
_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_SHAPE = re.compile(r"csk_[0-9A-Za-z]{38}")
_SHOWN = 10


def _base62(number: int, length: int) -> str:
    digits = ""
    for _ in range(length):
        number, rest = divmod(number, 62)
        digits = _ALPHABET[rest] + digits
    return digits


def _checksum(text: str) -> str:
    return _base62(zlib.crc32(text.encode("ascii")), 6)


def generate() -> str:
    """A new key; it is shown once and never kept."""
    # 256 bits for 191: what the remainder favours is far below notice.
    body = PREFIX + _base62(int.from_bytes(os.urandom(32), "big"), 32)
    return body + _checksum(body)


def is_well_formed(key: str) -> bool:
    """Whether shape and checksum are right, which needs no look-up."""
    return _SHAPE.fullmatch(key) is not None and _checksum(key[:-6]) == key[-6:]


def digest(key: str) -> bytes:
    """SHA-256 of the key: all that is kept of it (SPEC.md 5.3)."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def shown_prefix(key: str) -> str:
    """What may be shown of a key afterwards, so that its owner can tell it from others."""
    return key[:_SHOWN]
