"""Sums of usage records (SPEC.md 2.5), in time that depends on the cap and not on the history."""

from __future__ import annotations

from typing import NamedTuple

from chatsvc.domain.times import DAY_MS
from chatsvc.store.database import Connection, Database


class Summary(NamedTuple):
    """Totals over the newest records of a window; `covers_from` is the time of the oldest counted one if the cap was reached."""

    covers_from: int | None
    messages: int
    tokens: int
    cost_micro_usd: int
    by_day: dict[int, int]
    by_bot: dict[str, int]


async def summary(db: Database, account_id: str, start: int, end: int, cap: int) -> Summary:
    """Sum the newest `cap` records from `start` to `end` (Unix milliseconds, inclusive); `by_day` counts days from the epoch."""
    newest = (
        "SELECT created_at, number, bot_id, tokens, cost_micro_usd FROM usage_records"
        " WHERE account_id = ?1 AND created_at BETWEEN ?2 AND ?3 ORDER BY created_at DESC, number DESC LIMIT ?4"
    )

    def unit(connection: Connection) -> Summary:
        scope = (account_id, start, end, cap)
        rows = connection.execute(
            f"""
            SELECT created_at / {DAY_MS}, bot_id, count(*), sum(tokens), sum(cost_micro_usd), min(created_at)
            FROM ({newest}) GROUP BY 1, 2
            """,
            scope,
        ).fetchall()
        by_day: dict[int, int] = {}
        by_bot: dict[str, int] = {}
        for day, bot_id, count, *_ in rows:
            by_day[day] = by_day.get(day, 0) + count
            by_bot[bot_id] = by_bot.get(bot_id, 0) + count
        messages = sum(row[2] for row in rows)
        beyond = messages == cap and connection.execute(f"{newest} OFFSET ?5", (*scope[:3], 1, cap)).fetchone()
        return Summary(
            min(row[5] for row in rows) if beyond else None,
            messages,
            sum(row[3] for row in rows),
            sum(row[4] for row in rows),
            by_day,
            by_bot,
        )

    return await db.read(unit)
