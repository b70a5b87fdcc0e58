"""Counts messages that bots send by WhatsApp in a month, up to each bot's limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from chatsvc.store.database import Connection, Database, Together, reads, writes


class _Send(NamedTuple):
    bot_id: str
    month: str
    limit: int | None


def _reserve(connection: Connection, sends: list[_Send]) -> list[bool]:
    """Count messages in order, as far as the limits go."""
    left: dict[_Send, int] = {}
    for place, count in Counter(sends).items():
        bot_id, month, limit = place
        connection.execute("INSERT INTO whatsapp_sends (bot_id, month, sent) VALUES (?, ?, 0) ON CONFLICT DO NOTHING", (bot_id, month))
        (sent,) = connection.execute("SELECT sent FROM whatsapp_sends WHERE bot_id = ? AND month = ?", (bot_id, month)).fetchone()
        left[place] = count if limit is None else max(0, min(count, limit - sent))
        connection.execute("UPDATE whatsapp_sends SET sent = sent + ? WHERE bot_id = ? AND month = ?", (left[place], bot_id, month))
    reserved = []
    for place in sends:
        reserved.append(left[place] > 0)
        left[place] -= 1
    return reserved


async def reserve_send(db: Database, bot_id: str, month: str, limit: int | None) -> bool:
    """Count a message that is about to be sent. False, without a count, where the month's limit is reached."""
    return await db.write(Together(_reserve, _Send(bot_id, month, limit)))


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
