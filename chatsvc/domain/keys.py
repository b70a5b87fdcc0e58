"""API keys (help/interface.md 3), and signed tokens of the web widget.

An API key is `csk_`, 32 random base62 characters and a checksum of 6. A token is for a visitor, for a site with the widget, or for an
address that gets mails. It has its parts as JSON and their HMAC-SHA-256, both in base64url. The browser stores only the visitor's token.
"""

import hashlib
import hmac
import json
import re
import secrets
import string
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode

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


VISITOR, SITE, MAIL = "visitor", "site", "mail"
_MOST = 2000  # characters


def _mac(key: str, kind: str, text: bytes) -> bytes:
    return hmac.digest(key.encode(), kind.encode() + b"\n" + text, hashlib.sha256)


def _token(key: str, kind: str, text: bytes) -> str:
    return f"{_encoded(text)}.{_encoded(_mac(key, kind, text))}"


def _encoded(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def sign_token(key: str, kind: str, *parts: str) -> str:
    return _token(key, kind, json.dumps(parts, separators=(",", ":")).encode())


def read_token(key: str, kind: str, token: str) -> tuple[str, ...] | None:
    """Return the parts of a token, or None if it was not made with this key for this kind."""
    if len(token) > _MOST or not token.isascii():
        return None
    body = token.partition(".")[0]
    try:
        text = urlsafe_b64decode(body + "=" * (-len(body) % 4))
    except ValueError:
        return None
    # The whole token is compared: decoding takes several spellings of the same bytes.
    if not hmac.compare_digest(token, _token(key, kind, text)):
        return None
    return tuple(json.loads(text))


def user_id_of(key: str, bot_id: str, first: str) -> str:
    """Return a visitor's user_id, which nobody can guess without the channel's key. `first` is their first message's Idempotency-Key."""
    return _mac(key, "user", f"{bot_id}\n{first}".encode()).hex()[:32]
