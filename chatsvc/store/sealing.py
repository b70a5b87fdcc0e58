"""Encryption of stored secrets by AES-256-GCM, bound to the row that holds them."""

import secrets
from collections.abc import Iterable

# One byte before the rest, so that another cipher can come one day and be told from this one.
_VERSION = b"\x01"
_NONCE_BYTES = 12
_TAG_BYTES = 16


class Unsealable(Exception):
    """Failure to decrypt: another key, another row, or changed bytes. The text names the row and no secret."""


def seal(key: bytes, plaintext: str, row: str) -> bytes:
    """`plaintext` as it may be stored: version, random nonce, ciphertext and tag.

    `key`: 32 bytes that serve this purpose alone (`MasterKey`, called with a purpose). `row`: which row
    holds it, table and id; in any other row it cannot be opened.
    """
    # Imported where it is used: the command line starts without it.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(_NONCE_BYTES)
    return _VERSION + nonce + AESGCM(key).encrypt(nonce, plaintext.encode(), _bound(row))


def unseal(key: bytes, sealed: bytes, row: str) -> str:
    """Decrypt a value of seal(); raises Unsealable."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce, rest = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
    if sealed[:1] != _VERSION or len(rest) < _TAG_BYTES:
        raise Unsealable(f"the secret of {row} is not in a form that this version can read")
    try:
        return AESGCM(key).decrypt(nonce, rest, _bound(row)).decode()
    except (InvalidTag, UnicodeDecodeError):
        raise Unsealable(f"the secret of {row} cannot be opened: it was sealed with another master key, or it has been changed") from None


def unseal_with_any(keys: Iterable[bytes], sealed: bytes, row: str) -> str:
    """Decrypt with the first key that fits. During a rotation of the master key there are two."""
    fault = Unsealable(f"there is no key for the secret of {row}")
    for key in keys:
        try:
            return unseal(key, sealed, row)
        except Unsealable as raised:
            fault = raised
    raise fault


def _bound(row: str) -> bytes:
    return _VERSION + row.encode()
