"""Counts messages that bots send by WhatsApp in a month, up to each bot's limit."""

from __future__ import annotations

from collections.abc import Sequence

from chatsvc.store.database import Connection, reads, writes


@writes
def reserve_send(connection: Connection, bot_id: str, month: str, limit: int | None) -> bool:
    """Count a message that is about to be sent. False, without a count, where the month's limit is reached."""
    connection.execute("INSERT INTO whatsapp_sends (bot_id, month, sent) VALUES (?, ?, 0) ON CONFLICT DO NOTHING", (bot_id, month))
    count = "UPDATE whatsapp_sends SET sent = sent + 1 WHERE bot_id = ?1 AND month = ?2 AND (?3 IS NULL OR sent < ?3)"
    return connection.execute(count, (bot_id, month, limit)).rowcount == 1


@writes
def release_send(connection: Connection, bot_id: str, month: str) -> None:
    """Take back the count of a message that was surely not sent."""
    connection.execute("UPDATE whatsapp_sends SET sent = sent - 1 WHERE bot_id = ? AND month = ? AND sent > 0", (bot_id, month))


@reads
def sends(connection: Connection, bot_ids: Sequence[str], month: str) -> dict[str, int]:
    """Return the messages that bots have sent in a month."""
    found = {}
    for bot_id in bot_ids:
        row = connection.execute("SELECT sent FROM whatsapp_sends WHERE bot_id = ? AND month = ?", (bot_id, month)).fetchone()
        found[bot_id] = int(row[0]) if row else 0
    return found
