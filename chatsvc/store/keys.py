"""API keys: their digests alone (SPEC.md 5.3)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

from chatsvc.domain.models import ApiKey
from chatsvc.store.database import Database

_COLUMNS = "id, account_id, label, prefix, created_at, expires_at, revoked_at, last_used_at"


async def create(db: Database, key: ApiKey, digest: bytes) -> None:
    """Write a new key."""

    def unit(connection: sqlite3.Connection) -> None:
        connection.execute(
            f"INSERT INTO api_keys (digest, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (digest, key.id, key.account_id, key.label, key.prefix, key.created_at, key.expires_at, key.revoked_at, key.last_used_at),
        )

    await db.write(unit)


async def find(db: Database, digest: bytes) -> ApiKey | None:
    """The key with this digest, revoked and expired ones too."""

    def unit(connection: sqlite3.Connection) -> ApiKey | None:
        row = connection.execute(f"SELECT {_COLUMNS} FROM api_keys WHERE digest = ?", (digest,)).fetchone()
        return ApiKey(*row) if row else None

    return await db.read(unit)


async def list_all(db: Database, account_id: str | None) -> list[ApiKey]:
    """The keys of one account, or of all, oldest first; those of deleted accounts are not listed."""

    owner, values = ("IS NOT NULL", ()) if account_id is None else ("= ?", (account_id,))

    def unit(connection: sqlite3.Connection) -> list[ApiKey]:
        rows = connection.execute(f"SELECT {_COLUMNS} FROM api_keys WHERE account_id {owner} ORDER BY created_at, id", values)
        return [ApiKey(*row) for row in rows]

    return await db.read(unit)


async def revoke(db: Database, key_id: str, now: int, applied: Callable[[ApiKey | None], None]) -> ApiKey | None:
    """Revoke a key for good (the first time counts); None where there is none."""

    def unit(connection: sqlite3.Connection) -> ApiKey | None:
        row = connection.execute(
            f"UPDATE api_keys SET revoked_at = coalesce(revoked_at, ?) WHERE id = ? AND account_id IS NOT NULL RETURNING {_COLUMNS}",
            (now, key_id),
        ).fetchone()
        return ApiKey(*row) if row else None

    return await db.write(unit, applied)


async def note_use(db: Database, uses: Mapping[str, int]) -> None:
    """Write when keys were last used: `uses` maps a key's id to the instant."""
    rows = [(instant, key_id) for key_id, instant in uses.items()]

    def unit(connection: sqlite3.Connection) -> None:
        connection.executemany("UPDATE api_keys SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE id = ?", rows)

    await db.write(unit)
