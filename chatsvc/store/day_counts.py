"""Counts for each bot and each day in the bot's time zone. A count is added in the transaction that writes the counted record.

This module also sums up usage records. The time for that is bounded by the cap of records (help/interface.md 5.6).
"""

from collections.abc import Mapping
from typing import NamedTuple

from chatsvc.domain.analytics import ENTRY, RESPONSE_S, Quality, UsageRow, UsageTotals, UsedEntry
from chatsvc.domain.times import DAY_MS, local_day
from chatsvc.store.database import Connection, reads

MOST_ENTRIES, ENTRY_DAYS = 10, 30


def add(connection: Connection, bot_id: str, counted_at: int, times: Mapping[str, int], item: str = "", zone: str | None = None) -> None:
    """Add `times` to a bot's counts of a day, within the unit that writes the counted record.

    The day is that of `counted_at` in the bot's time zone. The names in `times` are those of domain.analytics.COUNTED. `item` is the
    counted object, such as an entry's id.
    """
    zone = zone or _zone(connection, bot_id)
    if zone is not None:
        day = local_day(counted_at, zone)
        connection.executemany(
            """
            INSERT INTO day_counts (bot_id, name, day, item, times) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (bot_id, name, day, item) DO UPDATE SET times = day_counts.times + excluded.times
            """,
            [(bot_id, name, day, item, number) for name, number in times.items() if number],
        )


def _zone(connection: Connection, bot_id: str) -> str | None:
    """Return the time zone of a bot, or None if the bot was deleted in the meantime."""
    row = connection.execute("SELECT timezone FROM bots WHERE id = ?", (bot_id,)).fetchone()
    return row[0] if row else None


def take_back(connection: Connection, bot_id: str, counted_at: int, name: str) -> None:
    """Subtract one from a bot's count of the day of `counted_at`. Do nothing if this count has been deleted."""
    zone = _zone(connection, bot_id)
    if zone is not None:
        connection.execute(
            "UPDATE day_counts SET times = times - 1 WHERE bot_id = ? AND name = ? AND day = ? AND item = '' AND times > 0",
            (bot_id, name, local_day(counted_at, zone)),
        )


def note_response(connection: Connection, conversation: int, answered_at: int, operator_id: str | None = None) -> None:
    """Count the response time of an operator's first message to a waiting visitor. Do nothing if no visitor waits."""
    row = connection.execute(
        "SELECT bot_id, waiting_since FROM conversations WHERE number = ? AND waiting_since IS NOT NULL", (conversation,)
    ).fetchone()
    if row is not None:
        seconds = max(0, answered_at - row[1]) // 1000
        add(connection, row[0], answered_at, {RESPONSE_S: 1}, f"{seconds} {operator_id or ''}".strip())
        connection.execute("UPDATE conversations SET waiting_since = NULL WHERE number = ?", (conversation,))


class PeriodCounts(NamedTuple):
    """Counts of a period by day and bot, and of the previous period by bot. `responses` counts the items of RESPONSE_S (response times)."""

    rows: dict[tuple[int, str], Quality]
    before: dict[str, Quality]
    responses: dict[str, int]
    responses_before: dict[str, int]
    entries: list[UsedEntry]


_OF_PERIOD = (
    "bots b CROSS JOIN day_counts d ON d.bot_id = b.id AND d.name IN ({}) AND d.day >= ?3 AND d.day < ?4"
    " WHERE b.account_id = ?1 AND (?2 IS NULL OR b.id = ?2)"
)
_COUNTS, _OF_ENTRIES, _OF_RESPONSES = (
    _OF_PERIOD.format(", ".join(map(repr, names))) for names in (Quality._fields, (ENTRY,), (RESPONSE_S,))
)


@reads
def of_period(connection: Connection, account_id: str, bot_id: str | None, first: int, length: int) -> PeriodCounts:
    """Sum up a period of `length` milliseconds from `first` on, and the previous period. Count one bot, or all bots of the account.

    Entries are counted for the last ENTRY_DAYS days only, since there is one count for each entry and day.
    """
    now = (account_id, bot_id, first, first + length)
    before = (account_id, bot_id, first - length, first)
    lately = (account_id, bot_id, first + length - min(length, ENTRY_DAYS * DAY_MS), first + length)

    rows: dict[tuple[int, str], dict[str, int]] = {}
    for bot, name, times, day in connection.execute(f"SELECT d.bot_id, d.name, d.times, d.day FROM {_COUNTS}", now):
        rows.setdefault((day, bot), {})[name] = times
    bots: dict[str, dict[str, int]] = {}
    by_bot = f"SELECT d.bot_id, d.name, CAST(sum(d.times) AS BIGINT) FROM {_COUNTS} GROUP BY d.bot_id, d.name"
    for bot, name, times in connection.execute(by_bot, before):
        bots.setdefault(bot, {})[name] = times
    responses = f"SELECT d.item, CAST(sum(d.times) AS BIGINT) FROM {_OF_RESPONSES} GROUP BY d.item"
    entries = connection.execute(
        f"""
        SELECT k.bot_id, k.id, k.question, used.times FROM (
            SELECT d.item AS id, CAST(sum(d.times) AS BIGINT) AS times FROM {_OF_ENTRIES} GROUP BY d.item) AS used
        JOIN knowledge_entries k ON k.id = used.id ORDER BY used.times DESC, k.number LIMIT ?5
        """,
        (*lately, MOST_ENTRIES),
    )
    return PeriodCounts(
        {key: Quality(**counts) for key, counts in rows.items()},
        {bot: Quality(**counts) for bot, counts in bots.items()},
        dict(connection.execute(responses, now)),
        dict(connection.execute(responses, before)),
        [UsedEntry(*row) for row in entries],
    )


@reads
def usage_summary(connection: Connection, account_id: str, start: int, end: int, cap: int) -> tuple[int | None, list[UsageRow]]:
    """Sum the newest `cap` usage records from `start` to `end` (inclusive, Unix milliseconds) by day, bot and channel.

    Return two results: the time of the oldest counted record (None if all records were counted), and the sums.
    """
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
    sums = [UsageRow(row[0] * DAY_MS, row[1], row[2], UsageTotals(*row[3:6])) for row in rows]
    return min(row[6] for row in rows) if beyond else None, sums
