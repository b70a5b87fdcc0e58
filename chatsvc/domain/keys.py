"""API keys (help/interface.md 3). A key is `csk_`, 32 random base62 characters and a checksum of 6."""

import hashlib
import re
import secrets
import string
import zlib

from chatsvc.domain.models import ApiKey

PREFIX = "csk_"
_ALPHABET = string.digits + string.ascii_uppercase + string.ascii_lowercase
_SHAPE = re.compile(r"csk_[0-9A-Za-z]{38}")
SHOWN = 10  # characters of a key by which its owner recognises it


def _checksum(text: str) -> str:
    number, digits = zlib.crc32(text.encode("ascii")), ""
    for _ in range(6):
        number, rest = divmod(number, 62)
        digits = _ALPHABET[rest] + digits
    return digits


def generate() -> str:
    """Generate a new key, which is shown once and never stored."""
    body = PREFIX + "".join(secrets.SystemRandom().choices(_ALPHABET, k=32))
    return body + _checksum(body)


def is_well_formed(key: str) -> bool:
    """Return whether a key has the right form and checksum. The store is not asked."""
    return _SHAPE.fullmatch(key) is not None and _checksum(key[:-6]) == key[-6:]


def digest(key: str) -> bytes:
    """Return the SHA-256 of the key. Only this digest is stored (help/interface.md 3.1)."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def status(key: ApiKey, now: int) -> str:
    """Return "active", "revoked" or "expired" for a key. `now` is in milliseconds."""
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= now else "active"
