"""A data folder for a benchmark: an account with three bots and some keys, limits out of the way, and as many rows as asked for."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import tempfile
import uuid
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness import progress

from chatsvc import config as configuration
from chatsvc.domain.actors import ANONYMOUS, local_user
from chatsvc.domain.analytics import ENTRY, RESPONSE_S, Quality
from chatsvc.domain.models import CHANNELS
from chatsvc.domain.times import DAY_MS, now_ms, start_of_day, without_fraction
from chatsvc.services.accounts import accounts, bots, keys
from chatsvc.services.accounts.account_cache import AccountCache
from chatsvc.services.services import Services
from chatsvc.services.team import operators, sessions
from chatsvc.store.folder import Folder
from chatsvc.store.master_key import open_master_key
from chatsvc.store.sqlite.group_commit import GroupCommitDatabase

CONFIG = """\
server: {listen: "127.0.0.1:0"}
limits: {requests_per_minute: 1000000, max_in_flight: 4096, connections: 10000, connections_per_address: 10000}
"""
OFFLINE = "models: {offline: {engine: knowledge}}\n"
BOTS = 3
KEYS = 8  # the configuration allows a key a million requests a minute, which one alone could come to
BATCH = 50_000
# The columns that are filled in.
CONVERSATION = (
    "number, id, account_id, bot_id, channel, user_id, visitor_name, visitor_email, last_message_at, created_at, updated_at,"
    " message_count, dialogue"
)
USAGE = "number, account_id, bot_id, created_at, tokens, cost_micro_usd, channel"
REQUEST = "number, id, bot_id, conversation, request_type, status, message, visitor_name, source_page_host, created_at, updated_at"
APPOINTMENT = "number, id, request, bot_id, status, appointment_date, appointment_time, appointment_at, created_at, updated_at"
PASSWORD = "violet staple harbour"  # noqa: S105  # of throw-away operators


@dataclass(frozen=True)
class Instance:
    """An installation of chatsvc: its place and its callers' keys."""

    config: Path
    account: str
    bots: tuple[str, ...]
    keys: tuple[str, ...]

    @property
    def database(self) -> Path:
        """Its SQLite file."""
        return self.config.parent / "data" / "chatsvc.db"

    def size(self) -> int:
        """Bytes of its SQLite file and the file's log."""
        return sum(file.stat().st_size for file in self.database.parent.glob("chatsvc.db*"))

    def conversations(self, count: int) -> None:
        """Insert conversations of 90 days over all bots and channels, not in order of time."""
        chance, now = random.Random(count), now_ms()

        def row(number: int) -> tuple[object, ...]:
            last = now - chance.randrange(90 * DAY_MS)
            began = last - chance.randrange(DAY_MS)
            known = number % 2
            return (
                number + 1,
                str(uuid.UUID(int=chance.getrandbits(128), version=4)),
                self.account,
                self.bots[number % BOTS],
                CHANNELS[number // BOTS % len(CHANNELS)],
                f"visitor-{number:09d}",
                f"Visitor {number:09d}" if known else None,
                f"visitor-{number:09d}@example.com" if known else None,
                last,
                began,
                last,
                2 * chance.randrange(1, 8),
                None,
            )

        with self._filling() as connection:
            _insert(connection, "conversations", CONVERSATION, map(row, range(count)), count)
            connection.execute(
                "INSERT INTO conversation_counts (account_id, bot_id, channel, conversations)"
                " SELECT account_id, bot_id, channel, count(*) FROM conversations GROUP BY 1, 2, 3"
            )

    def messages(self) -> None:
        """Insert a question and its answer into each conversation. Let some visitors wait, and assign some conversations."""
        with self._filling() as connection:
            progress("messages: two of each conversation")
            connection.execute(
                """
                INSERT INTO messages (conversation, id, role, content, created_at)
                SELECT c.number, lower(hex(randomblob(16))), role.value,
                    'Do you rent bicycles on Saturday, and what does a day cost for two adults and a child?', c.last_message_at
                FROM conversations c CROSS JOIN json_each('["user", "assistant"]') role
                """
            )
            # From now on: after ten minutes the bot would take requests from them, which loads its engine into an idle service.
            waits = "UPDATE conversations SET handling = 'waiting', handling_since = ? WHERE number % 40000 = 0"
            connection.execute(waits, (now_ms(),))
            connection.execute("UPDATE conversations SET assignee = (SELECT max(id) FROM operators) WHERE number % 500 = 0")

    def usage(self, count: int) -> None:
        """Fill in usage records of 30 days, in the order of time."""
        chance, now = random.Random(count), now_ms()

        def row(number: int) -> tuple[object, ...]:
            at = now - 30 * DAY_MS * (count - number) // count
            tokens, cost, channel = chance.randrange(100, 4000), chance.randrange(10, 400), CHANNELS[number // BOTS % len(CHANNELS)]
            return number + 1, self.account, self.bots[number % BOTS], at, tokens, cost, channel

        with self._filling() as connection:
            _insert(connection, "usage_records", USAGE, map(row, range(count)), count)

    def day_counts(self) -> None:
        """Fill in what is counted of 180 days: of each bot and day all figures, 100 of its 300 entries, and 20 response times."""
        chance, today = random.Random(1), start_of_day(now_ms())
        entries = {bot: [str(uuid.UUID(int=chance.getrandbits(128), version=4)) for _ in range(300)] for bot in self.bots}
        entry = (
            "INSERT INTO knowledge_entries (id, bot_id, question, alt, answer, language, created_at)"
            " VALUES (?, ?, 'Until when?', '[]', 'Ten.', 'en', ?)"
        )
        count = "INSERT INTO day_counts (bot_id, name, day, item, times) VALUES (?, ?, ?, ?, ?)"
        with self._filling() as connection:
            progress("day_counts: 180 days")
            for bot, known in entries.items():
                connection.executemany(entry, [(one, bot, today) for one in known])
                for day in range(today - 179 * DAY_MS, today + 1, DAY_MS):
                    items = [(name, "") for name in Quality._fields]
                    items += [(ENTRY, one) for one in chance.sample(known, 100)]
                    items += [(RESPONSE_S, str(seconds)) for seconds in chance.sample(range(5, 1200), 20)]
                    connection.executemany(count, [(bot, name, day, item, chance.randrange(1, 50)) for name, item in items])

    def requests(self, count: int) -> None:
        """Insert requests of 90 days for the oldest conversations, half with an appointment."""
        now = now_ms()

        def request(number: int) -> tuple[object, ...]:
            at = now - 90 * DAY_MS * (count - number) // count
            bot, status = self.bots[number % BOTS], ("new", "in_progress", "done")[number % 3]
            words = (f"Visitor {number:09d}", "shop.example.com")
            return number + 1, str(uuid.UUID(int=number)), bot, number + 1, "contact", status, "Please call me back.", *words, at, at

        def appointment(number: int) -> tuple[object, ...]:
            at = now + (number - count // 4) * 3_600_000
            day, created = without_fraction(at)[:10], now - DAY_MS
            of = 2 * number
            return number + 1, str(uuid.UUID(int=number)), of + 1, self.bots[of % BOTS], "pending", day, "10:30", at, created, created

        with self._filling() as connection:
            _insert(connection, "requests", REQUEST, map(request, range(count)), count)
            _insert(connection, "appointments", APPOINTMENT, map(appointment, range(count // 2)), count // 2)

    def sessions(self, count: int) -> list[str]:
        """Add so many owners of the account who are signed in; return their session tokens."""
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, _hire(self.config, self.account, count)).result()

    @contextmanager
    def _filling(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self.database, isolation_level=None)
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA cache_size=-400000")
        connection.execute("BEGIN")
        yield connection
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()


def _insert(connection: sqlite3.Connection, table: str, columns: str, rows: Iterator[tuple[object, ...]], count: int) -> None:
    marks = ", ".join("?" for _ in columns.split(","))
    statement = f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608  # the names above
    indexes = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = ?", (table,)
    ).fetchall()
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    for done in range(0, count, BATCH):
        connection.executemany(statement, (next(rows) for _ in range(min(BATCH, count - done))))
        progress(f"{table}: {min(done + BATCH, count):,} of {count:,}")
    for _, sql in indexes:
        connection.execute(sql)


def _make(folder: Path, settings: str, bot_count: int) -> Instance:
    file = folder / "config.yaml"
    file.write_text(CONFIG + settings, "utf-8")
    # In a thread of its own: benchmarks call this within their event loop as well.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, _furnish(file, bot_count)).result()


@asynccontextmanager
async def _services(file: Path) -> AsyncIterator[Services]:
    config = configuration.load(file, {})
    data = Folder(config.data_dir)
    data.prepare()
    secret = open_master_key(data)
    db = await GroupCommitDatabase.open(data.database)
    try:
        yield Services(config, db, secret, AccountCache(db))
    finally:
        await db.close()


async def _furnish(file: Path, bot_count: int) -> Instance:
    caller = local_user(0)
    async with _services(file) as services:
        account = (await accounts.create(services, caller, name="Benchmark")).account.id
        await accounts.change(services, caller, account=account, messages_limit=accounts.MOST)
        made = [
            await bots.create(services, caller, name=f"Assistant {number}", description="Answers questions about bicycles.")
            for number in range(bot_count)
        ]
        secrets = tuple([(await keys.create(services, caller)).secret for _ in range(KEYS)])
    return Instance(file, account, tuple(bot.id for bot in made), secrets)


async def _hire(file: Path, account: str, count: int) -> list[str]:
    async with _services(file) as services:
        tokens = []
        for number in range(count):
            made = await operators.add(
                services, local_user(0), email=f"owner-{number}@example.com", name=f"Owner {number}", account=account, role="owner"
            )
            link = (made.link or "").rpartition("/")[2]
            tokens.append((await sessions.set_password(services, ANONYMOUS, token=link, password=PASSWORD)).token)
    return tokens


@contextmanager
def instances(count: int, settings: str = "", bots: int = BOTS, models: str = OFFLINE) -> Iterator[list[Instance]]:
    """So many throw-away instances, `settings` and `models` added to their configuration; nothing of them stays."""
    with tempfile.TemporaryDirectory(prefix="chatsvc-bench-") as folder:
        made = []
        for number in range(count):
            (Path(folder) / str(number)).mkdir()
            made.append(_make(Path(folder) / str(number), settings + models, bots))
        yield made
