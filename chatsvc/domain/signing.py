"""Signatures of deliveries (SPEC.md 6.3): HMAC-SHA256 over the raw bytes of the body."""

import hashlib
import hmac
import secrets

PREFIX = "whsec_"
_FORM = "sha256="


def generate_signing_key() -> str:
    """A new signing key: `whsec_` and 43 characters of base64url (256 bits). It is shown once."""
    return PREFIX + secrets.token_urlsafe(32)


def sign(key: str, body: bytes) -> str:
    """The value of X-Service-Signature: `sha256=` and lowercase hex. The HMAC key is the whole string's bytes, prefix included."""
    return _FORM + hmac.digest(key.encode(), body, hashlib.sha256).hex()


def verify(key: str, body: bytes, signature: str) -> bool:
    """Whether `signature` (the header's value) is that of `body`, the raw bytes received. Compares in constant time."""
    return hmac.compare_digest(sign(key, body).encode(), signature.encode("utf-8", "surrogatepass"))
