"""Queries of visitors' addresses on messaging platforms, and counts of the messages that bots send there in a month."""

import json
from collections.abc import Sequence

from chatsvc.domain.channels import PHONE, PLATFORMS, PlatformAddress
from chatsvc.domain.models import ConversationKey
from chatsvc.store.database import Connection, quick, reads, writes

_ON_PLATFORM = f"c.channel IN ({', '.join(repr(name) for name in PLATFORMS)})"


@quick
def address(connection: Connection, visitor: ConversationKey) -> PlatformAddress | None:
    """Return the address by which a visitor is reached. The phone number, where it is known; the latest."""
    row = connection.execute(
        """
        SELECT a.kind, a.value FROM conversations c JOIN whatsapp_addresses a ON a.conversation = c.number
        WHERE c.bot_id = ? AND c.channel = ? AND c.user_id = ? ORDER BY a.is_current DESC, a.kind = ? DESC, a.number DESC LIMIT 1
        """,
        (*visitor, PHONE),
    ).fetchone()
    return PlatformAddress(*row) if row else None


@reads
def linked(connection: Connection, bot_id: str, user_id: str) -> list[str]:
    """List the visitors who turned out to be the same person: a younger conversation has an address that led on to an older one."""
    rows = connection.execute(
        f"""
        SELECT DISTINCT o.user_id FROM conversations c JOIN whatsapp_addresses a ON a.conversation = c.number
        JOIN whatsapp_addresses b ON b.bot_id = a.bot_id AND b.kind = a.kind AND b.value = a.value AND b.conversation <> c.number
        JOIN conversations o ON o.number = b.conversation
        WHERE c.bot_id = ?1 AND {_ON_PLATFORM} AND c.user_id = ?2 AND (
            (a.is_current = 1 AND b.is_current = 0 AND (o.created_at, o.number) > (c.created_at, c.number))
            OR (a.is_current = 0 AND b.is_current = 1 AND (o.created_at, o.number) < (c.created_at, c.number)))
        """,
        (bot_id, user_id),
    )
    return [user for (user,) in rows]


@reads
def phones(connection: Connection, conversation_ids: Sequence[str]) -> dict[str, str]:
    """Return the visitors' phone numbers of those conversations that have one, by the conversations' ids. The latest one counts."""
    rows = connection.execute(
        """
        SELECT c.id, '+' || a.value FROM json_each(?) one CROSS JOIN conversations c ON c.id = one.value
        JOIN whatsapp_addresses a ON a.conversation = c.number WHERE a.kind = ? ORDER BY a.is_current, a.number
        """,
        (json.dumps(conversation_ids), PHONE),
    )
    return dict(rows.fetchall())


@reads
def last_word_at(connection: Connection, conversation_id: str) -> int | None:
    """Return the time of the visitor's last message in a conversation."""
    row = connection.execute(
        """
        SELECT max(m.created_at) FROM conversations c JOIN messages m ON m.conversation = c.number
        WHERE c.id = ? AND m.role = 'user'
        """,
        (conversation_id,),
    ).fetchone()
    return row[0]  # type: ignore[no-any-return]


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
    counts = {}
    for bot_id in bot_ids:
        row = connection.execute("SELECT sent FROM whatsapp_sends WHERE bot_id = ? AND month = ?", (bot_id, month)).fetchone()
        counts[bot_id] = int(row[0]) if row else 0
    return counts
