"""Signed tokens of the web widget. A token is for a visitor, for a site with the widget, or for an address that gets mails.

A token is its parts as JSON and their HMAC-SHA-256, both in base64url. The browser stores only the visitor's token.
"""

import hashlib
import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode

VISITOR, SITE, MAIL = "visitor", "site", "mail"
_MOST = 2000  # characters


def _mac(key: str, kind: str, text: bytes) -> bytes:
    return hmac.digest(key.encode(), kind.encode() + b"\n" + text, hashlib.sha256)


def _token(key: str, kind: str, text: bytes) -> str:
    return f"{_encoded(text)}.{_encoded(_mac(key, kind, text))}"


def _encoded(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def sign(key: str, kind: str, *parts: str) -> str:
    return _token(key, kind, json.dumps(parts, separators=(",", ":")).encode())


def read(key: str, kind: str, token: str) -> tuple[str, ...] | None:
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
    """Return the user_id of the visitor whose first message had this Idempotency-Key. Nobody can guess it without the channel's key."""
    return _mac(key, "user", f"{bot_id}\n{first}".encode()).hex()[:32]
