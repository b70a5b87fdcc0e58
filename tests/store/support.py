"""Records to put into a store, and ways to look at what it holds."""

import asyncio
import sqlite3
import uuid
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from chatsvc.domain.actors import Actor
from chatsvc.domain.models import Account, ApiKey, Bot, ChangeOrigin, Entry, Exchange, Synonyms
from chatsvc.store import accounts, bots, exchanges, knowledge, unanswered
from chatsvc.store.database import Database
from chatsvc.store.master_key import MasterKey
from tests.fakes import START
from tests.postgres import RUNNING, open_store, query

T = TypeVar("T")


def new_account(account_id: str = "account", limit: int = 1000, credits: int = 0) -> Account:
    """An account on the enterprise plan."""
    return Account(account_id, f"name of {account_id}", "enterprise", "active", limit, credits, START, START)


def new_bot(bot_id: str = "bot", account_id: str = "account") -> Bot:
    """A bot with every text filled in."""
    return Bot(
        bot_id,
        account_id,
        f"name of {bot_id}",
        "what it is for",
        "offline",
        True,
        0,
        START,
        START,
        f"instructions of {bot_id}",
        greeting="Hi",
    )


def new_exchange(
    bot_id: str = "bot",
    account_id: str = "account",
    user_id: str = "visitor",
    *,
    channel: str = "api",
    at: int = START,
    text: str = "hello",
    key: str | None = None,
    month: str = "2026-11",
    turn: int | None = None,
) -> exchanges.NewExchange:
    """One message with its reply."""
    return exchanges.NewExchange(
        Exchange(bot_id, user_id, channel, text, f"reply to {text}", at + 5),
        account_id,
        accepted_at=at,
        month=month,
        tokens=12,
        cost_micro_usd=34,
        idempotency=exchanges.Idempotency(key, b"digest of the fields", f'{{"reply": "reply to {text}"}}') if key else None,
        turn=turn,
    )


def in_database(path: Path, work: Callable[[Database], Awaitable[T]], key: MasterKey | None = None) -> T:
    """Open a database, run `work` on it in a new event loop, and close it."""

    async def run() -> T:
        db = await open_store(path, key, readers=0)
        try:
            return await work(db)
        finally:
            await db.close()

    return asyncio.run(run())


def origin(at: int = START) -> ChangeOrigin:
    """The origin of a change to knowledge."""
    return ChangeOrigin(str(uuid.uuid4()), at, Actor("user", "0", "root"), "cli")


async def furnish(db: Database, account_id: str = "account", bot_ids: Sequence[str] = ("bot",)) -> None:
    """An account with bots, a key each, and an entry of knowledge each."""
    await accounts.create(db, new_account(account_id))
    for bot_id in bot_ids:
        await bots.create(db, new_bot(bot_id, account_id), 1000)
        entry = Entry(str(uuid.uuid4()), f"question of {bot_id}", (f"alt of {bot_id}",), f"answer of {bot_id}", "en", f"{bot_id}.md")
        await knowledge.replace(
            db, bot_id, [knowledge.FromFile(f"{bot_id}.md", [entry], [Synonyms((f"words of {bot_id}", "b"), f"{bot_id}.md")])], origin()
        )
        question = unanswered.AskedQuestion(f"folded of {bot_id}", f"question of {bot_id}", "en", ("api", f"asker of {bot_id}"))
        await unanswered.note(db, bot_id, question, START)
        key = ApiKey(str(uuid.uuid4()), account_id, f"label of {bot_id}", "csk_prefix", START, None, None, START)
        await accounts.create_key(db, key, b"digest " + bot_id.encode())


async def chat(db: Database, **fields: object) -> exchanges.Counts | None:
    """Write one exchange."""
    return await exchanges.record(db, new_exchange(**fields))  # type: ignore[arg-type]  # the names are those of new_exchange


def rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    """The committed rows, read by another process."""
    if RUNNING:
        return query(path, sql)
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def dump(path: Path) -> list[str]:
    """Every row of every table of the service, as SQL, without counters of numbers once used and of transactions."""
    if RUNNING:
        of_schema = "relnamespace = to_regnamespace(current_schema()) AND relkind = 'r' AND relname <> 'nodes'"
        tables = query(path, f"SELECT relname FROM pg_class WHERE {of_schema} ORDER BY relname")  # noqa: S608
        texts = [f"SELECT 'INSERT INTO \"{table}\" VALUES' || one FROM {table} one" for (table,) in tables]  # noqa: S608
        return [str(line) for (line,) in query(path, " UNION ALL ".join(texts))]
    with closing(sqlite3.connect(path)) as connection:
        lines = [line for line in connection.iterdump() if line.startswith("INSERT INTO")]
    return [line for line in lines if not line.startswith('INSERT INTO "sqlite_sequence"')]
