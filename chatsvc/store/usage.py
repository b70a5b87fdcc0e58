"""Query that sums the newest usage records of a period by day, bot and channel.

Its time depends on the cap of records and not on the history (SPEC.md 2.5).
"""

from __future__ import annotations

from typing import NamedTuple

from chatsvc.domain.analytics import UsageRow, UsageTotals
from chatsvc.domain.times import DAY_MS
from chatsvc.store.database import Connection, reads


class Summary(NamedTuple):
    """Sums over the newest records of a window. `covers_from` is the time of the oldest counted one if the cap was reached."""

    covers_from: int | None
    rows: list[UsageRow]


@reads
def summary(connection: Connection, account_id: str, start: int, end: int, cap: int) -> Summary:
    """Sum the newest `cap` records by day, bot and channel. From `start` to `end`, Unix milliseconds, inclusive."""
    newest = (
        "SELECT created_at, number, bot_id, channel, tokens, cost_micro_usd FROM usage_records"
        " WHERE account_id = ?1 AND created_at BETWEEN ?2 AND ?3 ORDER BY created_at DESC, number DESC LIMIT ?4"
    )
    scope = (account_id, start, end, cap)
    rows = connection.execute(
        f"""
        SELECT created_at / {DAY_MS}, bot_id, channel, count(*), sum(tokens), sum(cost_micro_usd), min(created_at)
        FROM ({newest}) page GROUP BY 1, 2, 3
        """,
        scope,
    ).fetchall()
    capped = sum(row[3] for row in rows) == cap
    beyond = capped and connection.execute(f"{newest} OFFSET ?5", (*scope[:3], 1, cap)).fetchone()
    return Summary(
        min(row[6] for row in rows) if beyond else None,
        [UsageRow(row[0] * DAY_MS, row[1], row[2], UsageTotals(*row[3:6])) for row in rows],
    )
