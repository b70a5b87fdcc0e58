"""Queries of API keys: create, find, list, revoke, and note use (help/interface.md 3.1).

Only digests of keys are stored.
"""

from collections.abc import Mapping

from chatsvc.domain.models import ApiKey
from chatsvc.store.database import Connection, quick, reads, writes
from chatsvc.store.owners import ACCOUNT_IN_SCOPE, SOME_ACCOUNTS, Accounts, listed

_COLUMNS = "id, account_id, label, prefix, created_at, expires_at, revoked_at, last_used_at"

_OF_KEY = ", ".join(f"k.{name}" for name in _COLUMNS.split(", "))
_OF_SOME = f"{SOME_ACCOUNTS} CROSS JOIN api_keys k ON k.account_id = o.id"
_OF_ALL = "api_keys k CROSS JOIN accounts o ON o.id = k.account_id AND o.deleted_at IS NULL"


@writes
def create(connection: Connection, key: ApiKey, digest: bytes) -> None:
    """Write a new key."""
    connection.execute(f"INSERT INTO api_keys (digest, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", (digest, *key))


def found(connection: Connection, digest: bytes) -> ApiKey | None:
    """Find the key with this digest within a unit, revoked and expired ones too."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM api_keys WHERE digest = ?", (digest,)).fetchone()
    return ApiKey(*row) if row else None


find = quick(found)


@reads
def page(connection: Connection, accounts: Accounts, limit: int, after: tuple[int, str] | None = None) -> list[ApiKey]:
    """Read keys, oldest first, behind the one created at `after` with that id. Those of deleted accounts are left out."""
    owned = _OF_ALL if accounts is None else _OF_SOME
    rows = connection.execute(
        f"SELECT {_OF_KEY} FROM {owned} WHERE (k.created_at, k.id) > (?2, ?3) ORDER BY k.created_at, k.id LIMIT ?4",
        (listed(accounts), *(after or (-1, "")), limit),
    )
    return [ApiKey(*row) for row in rows]


@writes
def revoke(connection: Connection, key_id: str, accounts: Accounts, now: int) -> ApiKey | None:
    """Revoke a key of these accounts (None for all) for good, the first time counts. Return None if there is none."""
    revoke = f"UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?3 AND {ACCOUNT_IN_SCOPE} RETURNING {_COLUMNS}"
    row = connection.execute(revoke, (listed(accounts), now, key_id)).fetchone()
    return ApiKey(*row) if row else None


@writes
def note_use(connection: Connection, uses: Mapping[str, int]) -> None:
    """Write when keys were last used: `uses` maps a key's id to the instant."""
    rows = [(instant, key_id) for key_id, instant in uses.items()]
    connection.executemany("UPDATE api_keys SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE id = ?", rows)
