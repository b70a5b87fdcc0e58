"""Queries of chatbots: list, create, change and delete; and the latest runs of their tests.

Every query contains the owner, so that a bot of another account is not found.
"""

import json
from collections.abc import Callable, Mapping

from chatsvc.domain import refusals
from chatsvc.domain.bot_tests import BotTestRun
from chatsvc.domain.models import Bot
from chatsvc.store.database import Connection, assign, reads, writes
from chatsvc.store.owners import ALL_BOTS, SOME_BOTS, Accounts, listed
from chatsvc.store.tables import ACCOUNT, CHILDREN_FIRST, deletion_of_bot

_COLUMNS = ", ".join(Bot._fields)
_OF_BOT = ", ".join(f"b.{name}" for name in Bot._fields)
CHANGEABLE = frozenset(Bot._fields) - {"id", "account_id", "messages_used", "created_at"}


def _bot(row: tuple[object, ...]) -> Bot:
    bot = Bot(*row)  # type: ignore[arg-type]  # the columns are the fields
    ask_back = None if bot.ask_back is None else bool(bot.ask_back)
    return bot._replace(active=bool(bot.active), ask_back=ask_back, hand_off=bool(bot.hand_off))


# Columns of a row of bots_from_json, of the table `b`.
BOT_OF_ACCOUNT = f"b.number, {_OF_BOT}"


def bots_from_json(text: str) -> list[Bot]:
    """Parse a JSON array in which each bot is an array of the columns BOT_OF_ACCOUNT. Return the bots, oldest first."""
    return [_bot(tuple(values)) for _, *values in sorted(json.loads(text))]


@reads
def page(connection: Connection, accounts: Accounts, limit: int, after: tuple[str, int] | None = None) -> list[tuple[Bot, int]]:
    """Read bots with their row numbers, account by account. `after` is account and number of the last bot of the previous page."""
    bots = ALL_BOTS if accounts is None else SOME_BOTS
    rows = connection.execute(
        f"""
        SELECT {_OF_BOT}, b.number FROM {bots} WHERE (b.account_id, b.number) > (?2, ?3)
        ORDER BY b.account_id, b.number LIMIT ?4
        """,
        (listed(accounts), *(after or ("", 0)), limit),
    )
    return [(_bot(row[:-1]), row[-1]) for row in rows]


@writes
def create(connection: Connection, bot: Bot, most: int) -> Bot | None:
    """Write a new bot; return None if the account already has `most` bots."""
    return insert(connection, bot) if count(connection, bot.account_id) < most else None


def count(connection: Connection, account_id: str) -> int:
    """Count an account's bots within a unit."""
    return int(connection.execute("SELECT count(*) FROM bots WHERE account_id = ?", (account_id,)).fetchone()[0])


def of_account(connection: Connection, account_id: str) -> list[Bot]:
    """Read an account's bots within a unit, oldest first."""
    return [_bot(row) for row in connection.execute(f"SELECT {_COLUMNS} FROM bots WHERE account_id = ? ORDER BY number", (account_id,))]


def insert(connection: Connection, bot: Bot) -> Bot:
    """Insert a bot within a unit."""
    marks = ", ".join("?" * len(Bot._fields))
    connection.execute(f"INSERT INTO bots ({_COLUMNS}) VALUES ({marks})", bot)
    return bot


def change(connection: Connection, bot: Bot, changes: Mapping[str, object]) -> Bot:
    """Write the columns of a bot that `changes` names, within a unit. Return the changed bot."""
    update = f"UPDATE bots SET {assign(changes, CHANGEABLE)} WHERE id = ? AND account_id = ? RETURNING {_COLUMNS}"
    return _bot(connection.execute(update, (*changes.values(), bot.id, bot.account_id)).fetchone())


@writes
def update(connection: Connection, bot: Bot, changes: Callable[[Bot], Mapping[str, object]], now: int) -> Bot:
    """Write the columns that `changes` returns for the stored bot. Return the changed bot.

    Raises `bot_not_found`, and `nothing_to_change` if `changes` returns no columns.
    """
    row = connection.execute(f"SELECT {_COLUMNS} FROM bots WHERE id = ? AND account_id = ?", (bot.id, bot.account_id)).fetchone()
    if row is None:
        raise refusals.bot_not_found(bot=bot.id)
    columns = changes(_bot(row))
    if not columns:
        raise refusals.nothing_to_change()
    return change(connection, bot, {**columns, "updated_at": now})


_DELETIONS = tuple(deletion_of_bot(table) for table in CHILDREN_FIRST if table.of_bot or table.owner not in (None, ACCOUNT, "id"))
_BATCH = 1000  # rows: small enough not to delay other writers


@writes
def delete(connection: Connection, bot: Bot) -> bool:
    """Delete one batch of the records of a bot, and the bot itself in the last batch. Return False once the bot is deleted."""
    return any(connection.execute(statement, (bot.id, _BATCH)).rowcount >= _BATCH for statement in _DELETIONS)


MOST_RUNS = 20
_MOST_QUESTIONS = 10  # that failed, of one run


@writes
def add_run(connection: Connection, bot_id: str, run: BotTestRun) -> None:
    """Insert a run of a bot's tests, and delete the bot's oldest runs beyond MOST_RUNS."""
    questions = json.dumps(list(run.questions)[:_MOST_QUESTIONS], ensure_ascii=False)
    connection.execute(
        "INSERT INTO bot_test_runs (bot_id, at, actor_name, tests, failed, questions) VALUES (?, ?, ?, ?, ?, ?)",
        (bot_id, run.run_at, run.by, run.tests, run.failed, questions),
    )
    connection.execute(
        """
        DELETE FROM bot_test_runs WHERE bot_id = ?1 AND number NOT IN (
            SELECT number FROM bot_test_runs WHERE bot_id = ?1 ORDER BY number DESC LIMIT ?2)
        """,
        (bot_id, MOST_RUNS),
    )


@reads
def latest_runs(connection: Connection, bot_id: str) -> list[BotTestRun]:
    """List the stored test runs of a bot, newest first."""
    rows = connection.execute(
        "SELECT at, actor_name, tests, failed, questions FROM bot_test_runs WHERE bot_id = ? ORDER BY number DESC", (bot_id,)
    )
    return [BotTestRun(run_at, by, tests, failed, json.loads(questions)) for run_at, by, tests, failed, questions in rows]


@reads
def calendar(connection: Connection, bot_id: str) -> int:
    """Return how often the address of a bot's calendar was renewed."""
    row = connection.execute("SELECT calendar FROM bots WHERE id = ?", (bot_id,)).fetchone()
    return int(row[0]) if row else 0


@writes
def renew_calendar(connection: Connection, bot_id: str) -> int:
    """Renew the address of a bot's calendar. Return how often it was renewed."""
    row = connection.execute("UPDATE bots SET calendar = calendar + 1 WHERE id = ? RETURNING calendar", (bot_id,)).fetchone()
    return int(row[0]) if row else 0
