"""What visitors asked a bot in vain: each question once, with how often it came. It is kept without who asked."""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

from chatsvc.store.database import Database

MOST_KEPT = 10_000  # questions a bot
_CLEAN_EVERY = 100  # new questions, over all bots: looking at each would cost more than writing it


class Asked(NamedTuple):
    """A question that the bot's knowledge had no answer to."""

    question: str
    language: str
    times: int
    last_asked_at: int


async def note(db: Database, bot_id: str, folded: str, question: str, language: str, now: int) -> None:
    """Count a question; one of the same folded text is the same. Beyond MOST_KEPT or so the rarest and oldest go."""

    def unit(connection: sqlite3.Connection) -> None:
        # The bot may have been deleted while its reply was awaited.
        row = connection.execute(
            """
            INSERT INTO unanswered_questions (bot_id, folded, question, language, times, first_asked_at, last_asked_at)
            SELECT id, ?2, ?3, ?4, 1, ?5, ?5 FROM bots WHERE id = ?1
            ON CONFLICT (bot_id, folded) DO UPDATE SET times = times + 1, last_asked_at = max(last_asked_at, excluded.last_asked_at)
            RETURNING number, times
            """,
            (bot_id, folded, question, language, now),
        ).fetchone()
        if row and row[1] == 1 and row[0] % _CLEAN_EVERY == 0:
            connection.execute(
                """
                DELETE FROM unanswered_questions WHERE number IN (
                    SELECT number FROM unanswered_questions WHERE bot_id = ?1
                    ORDER BY times DESC, last_asked_at DESC LIMIT -1 OFFSET ?2)
                """,
                (bot_id, MOST_KEPT),
            )

    await db.write(unit)


async def most_asked(db: Database, bot_id: str) -> list[Asked]:
    """All that is kept of a bot, what was asked most and last first."""

    def unit(connection: sqlite3.Connection) -> list[Asked]:
        rows = connection.execute(
            """
            SELECT question, language, times, last_asked_at FROM unanswered_questions WHERE bot_id = ?
            ORDER BY times DESC, last_asked_at DESC
            """,
            (bot_id,),
        )
        return [Asked(*row) for row in rows]

    return await db.read(unit)


async def clear(db: Database, bot_id: str) -> int:
    """Forget what a bot was asked in vain; gives the number of questions."""
    return await db.write(lambda connection: connection.execute("DELETE FROM unanswered_questions WHERE bot_id = ?", (bot_id,)).rowcount)
