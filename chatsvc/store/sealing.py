"""Encryption of stored secrets by AES-256-GCM, bound to the row that contains them.

For a new master key, all secrets are encrypted again in one transaction.
"""

import secrets
from collections.abc import Callable
from contextlib import suppress

from chatsvc.store import facts
from chatsvc.store.database import Connection, writes
from chatsvc.store.master_key import MasterKey
from chatsvc.store.tables import TABLES

# One byte before the rest, so that another cipher can come one day and be told from this one.
_VERSION = b"\x01"
_NONCE_BYTES = 12
_TAG_BYTES = 16


class Unsealable(Exception):
    """Failure to decrypt: another key, another row, or changed bytes. The text names the row and contains no secret."""


def seal(key: MasterKey, purpose: str, plaintext: str, row: str) -> bytes:
    """Encrypt a secret for the store. Return version, random nonce, ciphertext and tag.

    `row` is the name of the secret's row (table and id). The secret cannot be decrypted for any other row.
    """
    # Imported where it is used: the command line starts without it.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(_NONCE_BYTES)
    return _VERSION + nonce + AESGCM(key(purpose)).encrypt(nonce, plaintext.encode(), _VERSION + row.encode())


def unseal(key: MasterKey, purpose: str, sealed: bytes, row: str) -> str:
    """Decrypt a secret with the first known key that fits. During a rotation of the master key, two are known. Raises Unsealable."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce, rest = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
    if sealed[:1] != _VERSION or len(rest) < _TAG_BYTES:
        raise Unsealable(f"the secret of {row} is not in a form that this version can read")
    for derived in key.every(purpose):
        with suppress(InvalidTag, UnicodeDecodeError):
            return AESGCM(derived).decrypt(nonce, rest, _VERSION + row.encode()).decode()
    raise Unsealable(f"the secret of {row} cannot be opened: it was sealed with another master key, or it has been changed")


# Purpose of the key, table, SELECT and UPDATE of each column with sealed secrets.
_STATEMENTS = [
    (
        rule.purpose,
        table.name,
        f"SELECT {rule.row}, {column} FROM {table.name} WHERE {column} IS NOT NULL",
        f"UPDATE {table.name} SET {column} = ? WHERE {rule.row} = ?",
    )
    for table in TABLES
    if (rule := table.sealed)
    for column in rule.columns
]


def row_name(table: str, key: str) -> str:
    """Return the name of the row to which the encryption binds a secret."""
    return f"{table}/{key}"


@writes
def reseal(connection: Connection, keys: MasterKey, check: bytes, change: Callable[[str, str, bytes], bytes | None]) -> tuple[int, int]:
    """Encrypt all secrets for the master key with the check value `check`, in one transaction. Raises OtherMasterKey.

    `keys` are the keys with which `change` decrypts. They are checked, since another process may have changed the store's key meanwhile.
    `change` gets purpose, row and secret, and returns the secret encrypted again, or None if it cannot be decrypted. Return how many
    secrets were encrypted, and how many could not be decrypted.
    """
    keys.of(facts.check_in(connection))
    sealed, unusable = 0, 0
    for purpose, table, select, update in _STATEMENTS:
        secrets = connection.execute(select).fetchall()
        sealed_anew = [(new, key) for key, old in secrets if (new := change(purpose, row_name(table, key), old)) is not None]
        connection.executemany(update, sealed_anew)
        sealed, unusable = sealed + len(sealed_anew), unusable + len(secrets) - len(sealed_anew)
    connection.execute("UPDATE store_facts SET value = ? WHERE name = ?", (check, facts.CHECK))
    return sealed, unusable
