"""E-mail addresses whose owners want no more mails with answers from an account. Their digests alone are stored."""

from __future__ import annotations

from chatsvc.domain.mails import address_digest
from chatsvc.store.database import Connection, Database


async def add(db: Database, account_id: str, digest: bytes, now: int) -> None:
    """Send an address no more mails with answers."""

    def unit(connection: Connection) -> None:
        connection.execute(
            """
            INSERT INTO mail_stops (account_id, digest, created_at) SELECT ?1, ?2, ?3
            WHERE NOT EXISTS (SELECT 1 FROM mail_stops WHERE account_id = ?1 AND digest = ?2)
            """,
            (account_id, digest, now),
        )

    await db.write(unit)


async def find(db: Database, bot_id: str, recipient: str) -> bool:
    """Report whether an address gets no mails from the account of a bot."""
    return await db.read(lambda connection: is_stopped(connection, bot_id, recipient))


def is_stopped(connection: Connection, bot_id: str, recipient: str) -> bool:
    """Report the same within a unit."""
    row = connection.execute(
        "SELECT 1 FROM bots b JOIN mail_stops s ON s.account_id = b.account_id AND s.digest = ? WHERE b.id = ?",
        (address_digest(recipient), bot_id),
    ).fetchone()
    return row is not None
