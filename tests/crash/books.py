"""The books of a store that nobody has open: everything that is counted twice has to be the same twice."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from chatsvc.domain.times import local_day
from tests import tables
from tests.postgres import is_sqlite
from tests.store.inspection import query

Rows = list[tuple[Any, ...]]

# The store counts messages of a month by the name that SQLite has for it.
STRFTIME = """
    CREATE OR REPLACE FUNCTION strftime(text, bigint, text) RETURNS text LANGUAGE sql AS
        $$ SELECT to_char(to_timestamp($2) AT TIME ZONE 'UTC', 'YYYY-MM') $$
"""

# Each pair says the same thing in two ways; the second way counts what is really there.
AGREEMENTS = tables.rows("crash/agreements")
DAY_COUNTS = "SELECT bot_id, day, sum(times) FROM day_counts WHERE name = 'answered' GROUP BY 1, 2"
USED = "SELECT bot_id, timezone, u.created_at FROM usage_records u JOIN bots ON bots.id = bot_id"


def disagreements(database: Path) -> list[str]:
    """Everything that does not agree; empty where all is well."""
    faults: list[str] = []
    if not is_sqlite(database):
        query(database, STRFTIME)
        return disagreements_in(partial(query, database))
    for check, good in (("integrity_check", [("ok",)]), ("foreign_key_check", [])):
        result = query(database, f"PRAGMA {check}")
        if result != good:
            faults.append(f"{check}: {result}")
    return faults + disagreements_in(partial(query, database))


def disagreements_in(rows: Callable[[str], Rows]) -> list[str]:
    """Everything that does not agree in the store that `rows` reads."""
    faults: list[str] = []
    for name, statement, other in AGREEMENTS:
        counts, counted = rows(statement), rows(other)
        if counts != counted:
            faults.append(f"{name}: {set(counts) ^ set(counted)}")
    answered = Counter({(bot, day): int(times) for bot, day, times in rows(DAY_COUNTS)})
    used = Counter((bot, local_day(created_at, zone)) for bot, zone, created_at in rows(USED))
    if answered != used:
        faults.append(f"counts of each local day and usage records: {answered - used} {used - answered}")
    spoken_in: dict[int, list[str]] = {}
    for number, role in rows("SELECT conversation, role FROM messages ORDER BY number"):
        spoken_in.setdefault(number, []).append(role)
    for number, spoken in spoken_in.items():
        if spoken != ["user", "assistant"] * (len(spoken) // 2):
            faults.append(f"the messages of conversation {number} do not alternate: {spoken}")
    return faults


def threads(database: Path) -> dict[str, list[tuple[str, str]]]:
    """The exchanges of each visitor, in order: (message, reply)."""
    rows = query(
        database,
        "SELECT user_id, role, content FROM messages JOIN conversations ON conversations.number = conversation ORDER BY messages.number",
    )
    messages: dict[str, list[str]] = {}
    for user_id, _, content in rows:
        messages.setdefault(user_id, []).append(content)
    return {user_id: list(zip(texts[::2], texts[1::2], strict=True)) for user_id, texts in messages.items()}


def times_written(database: Path) -> Counter[str]:
    """How often each message of a visitor was written."""
    return Counter(message for exchanges in threads(database).values() for message, _ in exchanges)


def totals(database: Path) -> tuple[int, int, int]:
    """Messages, tokens and micro-dollars of all usage records."""
    ((messages, tokens, cost),) = query(database, "SELECT count(*), total(tokens), total(cost_micro_usd) FROM usage_records")
    return int(messages), int(tokens), int(cost)


def credits_left(database: Path) -> dict[str, int]:
    return dict(query(database, "SELECT id, message_credits FROM accounts"))
