"""A bot's knowledge: its entries, in the order in which they were added."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence

from chatsvc.domain.models import Entry
from chatsvc.store.database import Database

_COLUMNS = "id, question, alt, answer, language, source"


def _entry(row: tuple[str, str, str, str, str, str | None]) -> Entry:
    entry_id, question, alt, answer, language, source = row
    return Entry(entry_id, question, tuple(json.loads(alt)), answer, language, source)


async def entries(db: Database, bot_id: str) -> list[Entry]:
    """All entries of a bot."""

    def unit(connection: sqlite3.Connection) -> list[Entry]:
        return [
            _entry(row)
            for row in connection.execute(f"SELECT {_COLUMNS} FROM knowledge_entries WHERE bot_id = ? ORDER BY number", (bot_id,))
        ]

    return await db.read(unit)


async def replace_source(
    db: Database, bot_id: str, *, source: str, added: Sequence[Entry], now: int, applied: Callable[[int], None]
) -> int:
    """Put `added` in the place of what came from `source` before; gives the number of entries that went."""
    marks = ", ".join("?" * 8)
    rows = [(e.id, bot_id, e.question, json.dumps(e.alt, ensure_ascii=False), e.answer, e.language, e.source, now) for e in added]

    def unit(connection: sqlite3.Connection) -> int:
        gone = connection.execute("DELETE FROM knowledge_entries WHERE bot_id = ? AND source = ?", (bot_id, source)).rowcount
        connection.executemany(
            f"INSERT INTO knowledge_entries (id, bot_id, question, alt, answer, language, source, created_at) VALUES ({marks})",
            rows,
        )
        return gone

    return await db.write(unit, applied)


async def remove(db: Database, bot_id: str, entry_id: str, applied: Callable[[Entry | None], None]) -> Entry | None:
    """Take one entry out; None where the bot has none with this id."""

    def unit(connection: sqlite3.Connection) -> Entry | None:
        row = connection.execute(
            f"DELETE FROM knowledge_entries WHERE bot_id = ? AND id = ? RETURNING {_COLUMNS}", (bot_id, entry_id)
        ).fetchone()
        return _entry(row) if row else None

    return await db.write(unit, applied)
