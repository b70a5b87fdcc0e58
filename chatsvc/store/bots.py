"""Chatbots; a bot is always asked for together with its owner, so that another account's does not exist."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping

from chatsvc.domain.models import Bot
from chatsvc.store.database import Database, assign

_COLUMNS = ", ".join(Bot._fields)
CHANGEABLE = frozenset(Bot._fields) - {"id", "account_id", "messages_used", "created_at"}


def _bot(row: tuple[object, ...]) -> Bot:
    bot = Bot(*row)  # type: ignore[arg-type]  # the columns are the fields
    return bot._replace(active=bool(bot.active), ask_back=None if bot.ask_back is None else bool(bot.ask_back))


def bots_of(connection: sqlite3.Connection, account_id: str) -> list[Bot]:
    """The account's bots, oldest first."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM bots WHERE account_id = ? ORDER BY number", (account_id,))
    return [_bot(row) for row in rows]


async def owner(db: Database, bot_id: str) -> str | None:
    """The account that a bot belongs to; for the administrator, who may name any bot."""

    def unit(connection: sqlite3.Connection) -> str | None:
        row = connection.execute(
            "SELECT account_id FROM bots JOIN accounts ON accounts.id = bots.account_id WHERE bots.id = ? AND deleted_at IS NULL", (bot_id,)
        ).fetchone()
        return row[0] if row else None

    return await db.read(unit)


async def create(db: Database, bot: Bot, most: int, applied: Callable[[Bot | None], None]) -> Bot | None:
    """Write a new bot; None where the account already has `most` of them."""

    def unit(connection: sqlite3.Connection) -> Bot | None:
        count = connection.execute("SELECT count(*) FROM bots WHERE account_id = ?", (bot.account_id,)).fetchone()[0]
        if count >= most:
            return None
        marks = ", ".join("?" * len(Bot._fields))
        connection.execute(f"INSERT INTO bots ({_COLUMNS}) VALUES ({marks})", bot)
        return bot

    return await db.write(unit, applied)


async def update(db: Database, bot: Bot, changes: Mapping[str, object], applied: Callable[[Bot], None]) -> Bot:
    """Write the settings named in `changes` and give the bot back as it now stands."""
    assignments = assign(changes, CHANGEABLE)

    def unit(connection: sqlite3.Connection) -> Bot:
        row = connection.execute(
            f"UPDATE bots SET {assignments} WHERE id = ? AND account_id = ? RETURNING {_COLUMNS}",
            (*changes.values(), bot.id, bot.account_id),
        ).fetchone()
        return _bot(row)

    return await db.write(unit, applied)
