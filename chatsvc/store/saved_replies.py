"""Queries for the saved replies of an account."""

from chatsvc.domain.models import SavedReply
from chatsvc.store.database import Connection, reads, writes


@reads
def all_of(connection: Connection, account_id: str) -> list[SavedReply]:
    """List an account's saved replies by name."""
    rows = connection.execute("SELECT name, text FROM saved_replies WHERE account_id = ? ORDER BY name", (account_id,))
    return [SavedReply(*row) for row in rows]


@writes
def put(connection: Connection, account_id: str, reply: SavedReply, at: int, most: int) -> bool:
    """Write a saved reply, in place of one of the same name. Return False if the account has `most` already."""
    (others,) = connection.execute(
        "SELECT count(*) FROM saved_replies WHERE account_id = ? AND name <> ?", (account_id, reply.name)
    ).fetchone()
    if others >= most:
        return False
    connection.execute(
        """
        INSERT INTO saved_replies (account_id, name, text, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?4)
        ON CONFLICT (account_id, name) DO UPDATE SET text = excluded.text, updated_at = excluded.updated_at
        """,
        (account_id, *reply, at),
    )
    return True


@writes
def remove(connection: Connection, account_id: str, name: str) -> SavedReply | None:
    """Delete a saved reply; return None if there is none."""
    row = connection.execute(
        "DELETE FROM saved_replies WHERE account_id = ? AND name = ? RETURNING name, text", (account_id, name)
    ).fetchone()
    return SavedReply(*row) if row else None
