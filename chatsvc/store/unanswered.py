"""Queries of questions without an answer: count, list, delete and mask them.

Each text is stored once, with its count and the visitors who asked it.
"""

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from chatsvc.store import day_counts
from chatsvc.store.database import LAST, Connection, reads, writes

MOST_KEPT = 10_000  # questions a bot
_CLEAN_EVERY = 100  # new questions, over all bots: to clean up at each would cost more than to write it


class UnansweredGroup(NamedTuple):
    """A group of similar questions. `asked` has their wordings, most frequent first; `channels` are those of visitors with a user_id.

    `id` is the number of the most frequent question. `answered` is true if the knowledge answers it by now and nobody has asked it
    without getting an answer since then; it is None until that is decided.
    """

    id: int
    question: str
    times: int
    asked: list[str]
    language: str
    last_asked_at: int
    channels: list[str]
    answered: bool | None
    group_id: int


class MissedQuestion(NamedTuple):
    """An unanswered question of a bot, or a group of similar ones. `id` is the number of the most frequent question."""

    bot_id: str
    id: int
    question: str
    language: str
    times: int
    group_id: int


class AskedQuestion(NamedTuple):
    """A question to store. Its `folded` text identifies it. `visitor` is (channel, user_id), or None for a visitor without a user_id.

    `group_id` is the id of the group that the question joins, or None for a new group.
    """

    folded: str
    wording: str
    language: str
    visitor: tuple[str, str] | None = None
    group_id: int | None = None


@writes
def note(connection: Connection, bot_id: str, question: AskedQuestion, now: int) -> None:
    """Store an unanswered question, or count a known one again. Sometimes delete the rarest and oldest questions beyond MOST_KEPT."""
    # The bot may have been deleted in the meantime.
    row = connection.execute(
        """
        INSERT INTO unanswered_questions (bot_id, folded, question, language, times, first_asked_at, last_asked_at, masked, group_id)
        SELECT id, ?2, ?3, ?4, 1, ?5, ?5, 1, ?6 FROM bots WHERE id = ?1
        ON CONFLICT (bot_id, folded) DO UPDATE SET
            times = unanswered_questions.times + 1, last_asked_at = max(unanswered_questions.last_asked_at, excluded.last_asked_at)
        RETURNING number, times
        """,
        (bot_id, question.folded, question.wording, question.language, now, question.group_id),
    ).fetchone()
    if row is None:
        return
    number, times = row
    if times == 1 and question.group_id is None:
        connection.execute("UPDATE unanswered_questions SET group_id = number WHERE number = ?", (number,))
    day_counts.add(connection, bot_id, now, {"unanswered": 1})
    if question.visitor:
        connection.execute(
            """
            INSERT INTO unanswered_askers (question, bot_id, channel, user_id, wording, times, last_asked_at)
            VALUES (?, ?, ?, ?, ?, 1, ?)
            ON CONFLICT (question, channel, user_id) DO UPDATE SET
                times = unanswered_askers.times + 1, last_asked_at = max(unanswered_askers.last_asked_at, excluded.last_asked_at)
            """,
            (number, bot_id, *question.visitor, question.wording, now),
        )
    if times == 1 and number % _CLEAN_EVERY == 0:
        rarest = f"SELECT number FROM unanswered_questions WHERE bot_id = ? ORDER BY times DESC, last_asked_at DESC LIMIT {LAST} OFFSET ?"
        _delete(connection, connection.execute(rarest, (bot_id, MOST_KEPT)))


def _delete(connection: Connection, rows: Iterable[tuple[int]]) -> int:
    deleted = [number for (number,) in rows]
    numbers = json.dumps(deleted)
    connection.execute("DELETE FROM unanswered_askers WHERE question IN (SELECT CAST(value AS BIGINT) FROM json_each(?))", (numbers,))
    count = connection.execute(
        "DELETE FROM unanswered_questions WHERE number IN (SELECT CAST(value AS BIGINT) FROM json_each(?))", (numbers,)
    ).rowcount
    # The id of a group is the number of one of its questions.
    left = connection.execute(
        """
        SELECT group_id, min(number) FROM unanswered_questions
        WHERE group_id IN (SELECT CAST(value AS BIGINT) FROM json_each(?)) GROUP BY group_id
        """,
        (numbers,),
    ).fetchall()
    connection.executemany("UPDATE unanswered_questions SET group_id = ?2 WHERE group_id = ?1", left)
    return count


@reads
def newest_groups(connection: Connection, bot_id: str, language: str, limit: int) -> list[tuple[int, str]]:
    """Return the ids and first questions of a bot's newest groups in a language."""
    return connection.execute(
        """
        SELECT group_id, question FROM unanswered_questions WHERE bot_id = ? AND number = group_id AND language = ?
        ORDER BY number DESC LIMIT ?
        """,
        (bot_id, language, limit),
    ).fetchall()


_STATE = """
    CASE WHEN max(last_asked_at) > ?2 THEN 0 ELSE max(CASE WHEN checked_change = ?3 THEN is_answered ELSE -1 END) END
"""


@reads
def groups(
    connection: Connection,
    bot_id: str,
    limit: int,
    wordings: int,
    *,
    start: int = 0,
    change: tuple[int, int] = (0, 0),
    answered: bool | None = None,
    words: Sequence[str] = (),
    group_id: int | None = None,
) -> list[UnansweredGroup]:
    """List groups of questions, most frequent first, each with at most `wordings` wordings.

    `words` selects groups with all these words, `group_id` a single group. `answered` selects groups that the knowledge answers (or
    not) since `change`, its last change (number and time); groups for which this is undecided are always listed.
    """
    other, (change_number, changed_at) = None if answered is None else int(not answered), change
    rows = connection.execute(
        f"""
        SELECT group_id, sum(times), max(last_asked_at), {_STATE} FROM unanswered_questions q
        WHERE bot_id = ?1 AND masked = 1 AND (?6 IS NULL OR group_id = ?6) AND NOT EXISTS (
            SELECT 1 FROM json_each(?7) j WHERE NOT EXISTS (
                SELECT 1 FROM unanswered_questions w
                WHERE w.group_id = q.group_id AND w.bot_id = q.bot_id AND instr(w.folded, j.value) > 0))
        GROUP BY group_id HAVING ?8 IS NULL OR {_STATE} <> ?8 ORDER BY sum(times) DESC, group_id LIMIT ?4 OFFSET ?5
        """,
        (bot_id, changed_at, change_number, limit, start, group_id, json.dumps(list(words)), other),
    ).fetchall()
    read_groups: list[UnansweredGroup] = []
    for row_id, times, last_asked_at, state in rows:
        questions = connection.execute(
            """
            SELECT number, question, language FROM unanswered_questions
            WHERE bot_id = ? AND group_id = ? AND masked = 1 ORDER BY times DESC, last_asked_at DESC LIMIT ?
            """,
            (bot_id, row_id, wordings),
        ).fetchall()
        channels = connection.execute(
            """
            SELECT DISTINCT a.channel FROM unanswered_askers a JOIN unanswered_questions q ON q.number = a.question
            WHERE q.bot_id = ? AND q.group_id = ? ORDER BY a.channel
            """,
            (bot_id, row_id),
        ).fetchall()
        (number, question, language), *_ = questions
        asked, names = [wording for _, wording, _ in questions], [name for (name,) in channels]
        is_answered = None if state < 0 else bool(state)
        read_groups.append(UnansweredGroup(number, question, int(times), asked, language, last_asked_at, names, is_answered, row_id))
    return read_groups


@reads
def group_of(connection: Connection, bot_id: str, number: int) -> int | None:
    """Return the id of a question's group, or None if the bot has no question with this number."""
    row = connection.execute(
        "SELECT group_id FROM unanswered_questions WHERE bot_id = ? AND number = ? AND masked = 1", (bot_id, number)
    ).fetchone()
    return row[0] if row else None


@writes
def decide(connection: Connection, bot_id: str, decided: Sequence[tuple[int, bool]], change: int) -> None:
    """Store for each group in `decided` whether the knowledge answers it. `change` is the number of the knowledge's last change."""
    connection.executemany(
        "UPDATE unanswered_questions SET checked_change = ?3, is_answered = ?4 WHERE bot_id = ?1 AND group_id = ?2",
        [(bot_id, group_id, change, int(is_answered)) for group_id, is_answered in decided],
    )


@reads
def most_frequent(
    connection: Connection, account_id: str, limit: int = MOST_KEPT, since: int = 0, bot_id: str | None = None
) -> list[MissedQuestion]:
    """List an account's most frequent unanswered questions that were asked since an instant (ms). `bot_id` selects one bot."""
    rows = connection.execute(
        """
        SELECT q.bot_id, q.number, q.question, q.language, q.times, q.group_id FROM bots b
        CROSS JOIN unanswered_questions q ON q.number IN (
            SELECT n.number FROM unanswered_questions n
            WHERE n.bot_id = b.id AND n.masked = 1 AND n.last_asked_at >= ?3 AND (?4 IS NULL OR b.id = ?4)
                ORDER BY n.times DESC, n.last_asked_at DESC LIMIT ?2)
        WHERE b.account_id = ?1 ORDER BY q.times DESC, q.last_asked_at DESC LIMIT ?2
        """,
        (account_id, limit, since, bot_id),
    )
    return [MissedQuestion(*row) for row in rows]


@writes
def clear(connection: Connection, bot_id: str, group_id: int | None = None) -> int:
    """Delete a bot's unanswered questions, or only those of a group. Return the number of deleted questions."""
    find = "SELECT number FROM unanswered_questions WHERE bot_id = ?1 AND (?2 IS NULL OR group_id = ?2)"
    return _delete(connection, connection.execute(find, (bot_id, group_id)).fetchall())


@writes
def erase(connection: Connection, bot_id: str, user_id: str) -> int:
    """Delete the questions of a visitor to a bot on all channels, and return their number. The counts of other visitors do not change."""
    rows = connection.execute("SELECT number FROM unanswered_askers WHERE bot_id = ? AND user_id = ?", (bot_id, user_id)).fetchall()
    forget_askers(connection, [number for (number,) in rows])
    return len(rows)


def forget_askers(connection: Connection, askers: Sequence[int]) -> None:
    """Delete rows that link a visitor to questions (`askers` are their numbers), and questions that nobody else has asked."""
    gone: list[tuple[int]] = []
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
            gone.append((question,))
    _delete(connection, gone)


@reads
def unmasked(connection: Connection, limit: int) -> list[tuple[int, str, str, str, str]]:
    """List questions whose personal data is not masked yet. Each has row number, bot, text, language and country."""
    return connection.execute(
        """
        SELECT q.number, q.bot_id, q.question, q.language, b.country FROM unanswered_questions q JOIN bots b ON b.id = q.bot_id
        WHERE q.masked = 0 ORDER BY q.number LIMIT ?
        """,
        (limit,),
    ).fetchall()


@writes
def mask(connection: Connection, number: int, folded: str | None, wording: str, group_id: int | None) -> None:
    """Replace a stored question by a wording without personal data, and merge equal questions. If `folded` is None, delete the question."""
    if folded is None:
        _delete(connection, [(number,)])
        return
    # Another question of the same text is merged into this one.
    other = connection.execute(
        """
        SELECT o.number, o.times, o.first_asked_at, o.last_asked_at FROM unanswered_questions q JOIN unanswered_questions o
        ON o.bot_id = q.bot_id AND o.folded = ? AND o.number <> q.number WHERE q.number = ?
        """,
        (folded, number),
    ).fetchone()
    if other is not None:
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
        _delete(connection, [other[:1]])
        connection.execute(
            """
            UPDATE unanswered_questions SET times = times + ?, first_asked_at = min(first_asked_at, ?),
                last_asked_at = max(last_asked_at, ?)
            WHERE number = ?
            """,
            (*other[1:], number),
        )
    connection.execute(
        "UPDATE unanswered_questions SET folded = ?, question = ?, masked = 1, group_id = ? WHERE number = ?",
        (folded, wording, number if group_id is None else group_id, number),
    )
    connection.execute("UPDATE unanswered_askers SET wording = ? WHERE question = ?", (wording, number))
