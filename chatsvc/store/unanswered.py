"""Queries of questions without an answer: count, list, delete and mask them.

Each text is stored once, with its count and the visitors who asked it.
"""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from chatsvc.store import day_counts
from chatsvc.store.database import Connection, reads, writes
from chatsvc.store.day_counts import DayCount

MOST_KEPT = 10_000  # questions a bot
_CLEAN_EVERY = 100  # new questions, over all bots: to clean up at each would cost more than to write it


class Asked(NamedTuple):
    """One question with its count. `last_asked_at` is in Unix milliseconds, `channels` are those of visitors with a user_id."""

    number: int
    question: str
    language: str
    times: int
    last_asked_at: int
    channels: tuple[str, ...] = ()


class BotQuestion(NamedTuple):
    """A question without an answer, with its bot."""

    bot_id: str
    asked: Asked


class AskedQuestion(NamedTuple):
    """A question to note: `folded` identifies it. `visitor` is (channel, user_id), None for a visitor without a user_id."""

    folded: str
    wording: str
    language: str
    visitor: tuple[str, str] | None = None


class Unmasked(NamedTuple):
    """A stored question whose personal data has not been masked yet."""

    number: int
    question: str
    language: str
    country: str


@writes
def note(connection: Connection, bot_id: str, question: AskedQuestion, now: int) -> None:
    """Count a question; beyond MOST_KEPT the rarest and oldest are deleted."""
    again = connection.execute(
        """
        UPDATE unanswered_questions SET times = times + 1, last_asked_at = max(last_asked_at, ?)
        WHERE bot_id = ? AND folded = ? RETURNING number, times
        """,
        (now, bot_id, question.folded),
    ).fetchone()
    # The bot may have been deleted in the meantime.
    row = (
        again
        or connection.execute(
            """
        INSERT INTO unanswered_questions (bot_id, folded, question, language, times, first_asked_at, last_asked_at, masked)
        SELECT id, ?2, ?3, ?4, 1, ?5, ?5, 1 FROM bots WHERE id = ?1 RETURNING number, times
        """,
            (bot_id, question.folded, question.wording, question.language, now),
        ).fetchone()
    )
    if row is None:
        return
    day_counts.add(connection, [DayCount(bot_id, "unanswered", now)])
    if question.visitor:
        connection.execute(
            """
            INSERT INTO unanswered_askers (question, bot_id, channel, user_id, wording, times, last_asked_at)
            VALUES (?, ?, ?, ?, ?, 1, ?)
            ON CONFLICT (question, channel, user_id) DO UPDATE SET
                times = unanswered_askers.times + 1, last_asked_at = max(unanswered_askers.last_asked_at, excluded.last_asked_at)
            """,
            (row[0], bot_id, *question.visitor, question.wording, now),
        )
    if row[1] == 1 and row[0] % _CLEAN_EVERY == 0:
        _delete(connection, connection.execute(_RAREST, (bot_id, MOST_KEPT)))


_RAREST = (
    "SELECT number FROM unanswered_questions WHERE bot_id = ?1 ORDER BY times DESC, last_asked_at DESC LIMIT 9223372036854775807 OFFSET ?2"
)
_OF_BOT = "SELECT number FROM unanswered_questions WHERE bot_id = ?1"


def _delete(connection: Connection, rows: Iterable[tuple[int]]) -> int:
    numbers = json.dumps([number for (number,) in rows])
    connection.execute("DELETE FROM unanswered_askers WHERE question IN (SELECT CAST(value AS BIGINT) FROM json_each(?))", (numbers,))
    return connection.execute(
        "DELETE FROM unanswered_questions WHERE number IN (SELECT CAST(value AS BIGINT) FROM json_each(?))", (numbers,)
    ).rowcount


@reads
def most_asked(connection: Connection, bot_id: str) -> list[Asked]:
    """List a bot's questions, the most frequent and newest first."""
    rows = connection.execute(
        """
        SELECT q.number, q.question, q.language, q.times, q.last_asked_at,
            (SELECT group_concat(DISTINCT a.channel) FROM unanswered_askers a WHERE a.question = q.number)
        FROM unanswered_questions q WHERE q.bot_id = ? ORDER BY q.times DESC, q.last_asked_at DESC
        """,
        (bot_id,),
    )
    return [
        Asked(number, question, language, times, last_asked_at, tuple(sorted(channels.split(","))) if channels else ())
        for number, question, language, times, last_asked_at, channels in rows
    ]


_MOST_FREQUENT = """
    SELECT q.bot_id, q.number, q.question, q.language, q.times, q.last_asked_at FROM bots b
    CROSS JOIN unanswered_questions q ON q.number IN (
        SELECT n.number FROM unanswered_questions n WHERE n.bot_id = b.id AND n.last_asked_at >= ?3 AND (?4 IS NULL OR b.id = ?4)
            ORDER BY n.times DESC, n.last_asked_at DESC LIMIT ?2)
    WHERE b.account_id = ?1 ORDER BY q.times DESC, q.last_asked_at DESC LIMIT ?2
"""


@reads
def most_frequent(connection: Connection, account_id: str, limit: int, since: int = 0, bot_id: str | None = None) -> list[BotQuestion]:
    """List an account's most frequent questions that were asked since an instant. `bot_id` selects one bot."""
    rows = connection.execute(_MOST_FREQUENT, (account_id, limit, since, bot_id))
    return [BotQuestion(row[0], Asked(*row[1:])) for row in rows]


@writes
def clear(connection: Connection, bot_id: str, numbers: Sequence[int] | None = None) -> int:
    """Delete a bot's questions, or those of `numbers`; return how many there were."""
    of_bot = connection.execute(_OF_BOT, (bot_id,)).fetchall()
    return _delete(connection, [row for row in of_bot if numbers is None or row[0] in numbers])


@writes
def erase(connection: Connection, bot_id: str, user_id: str) -> int:
    """Delete what a visitor asked a bot, on all channels; return how many questions. Counts of other visitors stay."""
    rows = connection.execute("SELECT number FROM unanswered_askers WHERE bot_id = ? AND user_id = ?", (bot_id, user_id)).fetchall()
    forget_askers(connection, [number for (number,) in rows])
    return len(rows)


def forget_askers(connection: Connection, askers: Sequence[int]) -> None:
    """Delete a visitor's links to questions, and questions without other links, within a unit."""
    for number in askers:
        question, times = connection.execute(
            "DELETE FROM unanswered_askers WHERE number = ? RETURNING question, times", (number,)
        ).fetchone()
        # The wording may be this visitor's: another one takes its place.
        (left,) = connection.execute(
            """
            UPDATE unanswered_questions SET times = times - ?2, question = coalesce(
                (SELECT wording FROM unanswered_askers WHERE question = ?1 ORDER BY number LIMIT 1), folded)
            WHERE number = ?1 RETURNING times
            """,
            (question, times),
        ).fetchone()
        if left <= 0:
            connection.execute("DELETE FROM unanswered_questions WHERE number = ?", (question,))


@reads
def unmasked(connection: Connection, limit: int) -> list[Unmasked]:
    """List unmasked questions of an older version or an import, with language and country."""
    rows = connection.execute(
        """
        SELECT q.number, q.question, q.language, b.country FROM unanswered_questions q JOIN bots b ON b.id = q.bot_id
        WHERE q.masked = 0 ORDER BY q.number LIMIT ?
        """,
        (limit,),
    )
    return [Unmasked(*row) for row in rows]


@writes
def mask(connection: Connection, masked: Sequence[tuple[int, str, str]]) -> None:
    """Replace stored questions by (number, folded, wording) without personal data; equal ones are merged."""
    for number, folded, wording in masked:
        _merge(connection, number, folded)
        connection.execute(
            "UPDATE unanswered_questions SET folded = ?, question = ?, masked = 1 WHERE number = ?", (folded, wording, number)
        )
        connection.execute("UPDATE unanswered_askers SET wording = ? WHERE question = ?", (wording, number))


def _merge(connection: Connection, number: int, folded: str) -> None:
    """Merge another question of the same text into this one, and delete it."""
    other = connection.execute(
        """
        SELECT o.number, o.times, o.first_asked_at, o.last_asked_at FROM unanswered_questions q JOIN unanswered_questions o
        ON o.bot_id = q.bot_id AND o.folded = ? AND o.number <> q.number WHERE q.number = ?
        """,
        (folded, number),
    ).fetchone()
    if other is None:
        return
    connection.execute(
        """
        INSERT INTO unanswered_askers (question, bot_id, channel, user_id, wording, times, last_asked_at)
        SELECT ?, bot_id, channel, user_id, wording, times, last_asked_at FROM unanswered_askers WHERE question = ?
        ON CONFLICT (question, channel, user_id) DO UPDATE SET
            times = unanswered_askers.times + excluded.times,
            last_asked_at = max(unanswered_askers.last_asked_at, excluded.last_asked_at)
        """,
        (number, other[0]),
    )
    connection.execute("DELETE FROM unanswered_askers WHERE question = ?", other[:1])
    connection.execute("DELETE FROM unanswered_questions WHERE number = ?", other[:1])
    connection.execute(
        """
        UPDATE unanswered_questions SET times = times + ?, first_asked_at = min(first_asked_at, ?), last_asked_at = max(last_asked_at, ?)
        WHERE number = ?
        """,
        (*other[1:], number),
    )
