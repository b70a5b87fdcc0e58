"""Encryption of stored secrets by AES-256-GCM, bound to the row that holds them.

All are sealed anew for another master key in one transaction.
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
    """Failure to decrypt: another key, another row, or changed bytes. The text names the row and no secret."""


def seal(key: MasterKey, purpose: str, plaintext: str, row: str) -> bytes:
    """Encrypt a secret for the store: version, random nonce, ciphertext and tag.

    `row` names the row that holds it, table and id; in any other row it cannot be opened.
    """
    # Imported where it is used: the command line starts without it.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(_NONCE_BYTES)
    return _VERSION + nonce + AESGCM(key(purpose)).encrypt(nonce, plaintext.encode(), _VERSION + row.encode())


def unseal(key: MasterKey, purpose: str, sealed: bytes, row: str) -> str:
    """Decrypt with the first key that fits: during a rotation of the master key there are two. Raises Unsealable."""
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
    """Name the row to which a secret is bound by its encryption."""
    return f"{table}/{key}"


@writes
def reseal(connection: Connection, keys: MasterKey, check: bytes, change: Callable[[str, str, bytes], bytes | None]) -> tuple[int, int]:
    """Seal all secrets for the master key with this check value, in one transaction. Raises OtherMasterKey.

    keys: those that `change` opens secrets with. Another process may have changed the store's key since it was read.
    `change` gets purpose, row and sealed secret and returns it sealed anew, or None. Returns how many it sealed and how many not.
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
