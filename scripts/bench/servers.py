"""Servers to compare with, each run as `python servers.py KIND ...`. The first line of output has the url.

bare BODY           aiohttp alone on uvloop: one route, whose handler encodes the JSON value of the file BODY at each request with orjson
stock BODY          the same as aiohttp comes: asyncio's own loop, the standard library's json
watched CONFIG      chatsvc as it is, which tells on SIGUSR1 how many tasks it has
product CONFIG      chatsvc with an engine that answers at once
nothing CONFIG      the same, but an exchange is not written
one-commit CONFIG   chatsvc's interface with its gates over the usual way to write: each request its own transaction of aiosqlite
"""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import sys
import uuid
from functools import partial
from pathlib import Path
from typing import Any

import aiosqlite
import orjson
import uvloop
from aiohttp import web

from chatsvc import config as configuration
from chatsvc.domain.models import Exchange, Usage
from chatsvc.domain.times import month
from chatsvc.store.sqlite.writer import open_writer

REPLY = "We are open from Monday to Saturday, nine to six; on Sundays by appointment. Is there anything else you would like to know?"
TOKENS, COST = 240, 40


def _tell(port: int) -> None:
    print(json.dumps({"event": "listening", "url": f"http://127.0.0.1:{port}"}), flush=True)


async def _bare(body: str, *, stock: bool) -> None:
    value = json.loads(await asyncio.to_thread(Path(body).read_bytes))

    async def encode_with_json(_: web.Request) -> web.Response:
        return web.json_response(value)

    async def encode_with_orjson(_: web.Request) -> web.Response:
        return web.Response(body=orjson.dumps(value), content_type="application/json")

    app = web.Application()
    app.router.add_get("/api/v2/data", encode_with_json if stock else encode_with_orjson)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    _tell(runner.addresses[0][1])
    await asyncio.Event().wait()


class _AtOnce:
    """An engine that answers at once."""

    async def reply(self, _: Any) -> Any:
        """See Engine.reply."""
        from chatsvc.engines import Reply

        return Reply(REPLY, Usage(TOKENS - 40, 40))

    async def close(self) -> None:
        """See Engine.close."""


async def _watched(config_file: str) -> None:
    """The service as it is, which tells on SIGUSR1 how many tasks it has."""
    from chatsvc.app import App, serve

    def ready(app: App) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, lambda: print(json.dumps({"tasks": len(asyncio.all_tasks())}), flush=True))
        _tell(app.port)

    await serve(configuration.load(Path(config_file), {}), ready)


async def _product(config_file: str) -> None:
    from chatsvc.app import App, serve

    def ready(app: App) -> None:
        app.services.engines["knowledge"] = _AtOnce()
        _tell(app.port)

    await serve(configuration.load(Path(config_file), {}), ready)


def _write_nothing() -> None:
    from chatsvc.store import exchanges

    async def record(_: Any, exchange: Any) -> Any:
        del exchange
        return exchanges.Counts(1, 0, 1)

    exchanges.record = record


class _OneCommit:
    """POST /messages with the rows of store/exchanges.py: a transaction a request on one connection, each statement awaited."""

    def __init__(self, config_file: str) -> None:
        self._data = configuration.load(Path(config_file), {}).data_dir
        self._file = self._data / "baseline.db"
        self._db: aiosqlite.Connection | None = None
        self._turn = asyncio.Lock()

    async def _connection(self) -> aiosqlite.Connection:
        if self._db is None:
            # A file of its own: chatsvc's belongs to chatsvc's one writer.
            shutil.copy(self._data / "chatsvc.db", self._file)
            self._db = await aiosqlite.Connection(partial(open_writer, self._file), iter_chunk_size=64)
        return self._db

    async def run(self, config_file: str) -> None:
        """Serve, and let go of the connection in the end."""
        try:
            await _product(config_file)
        finally:
            if self._db:
                await self._db.close()

    async def __call__(self, context: Any) -> bytes:
        """The operation."""
        from chatsvc.api import bodies, render
        from chatsvc.domain import shapes
        from chatsvc.services.accounts import bots

        message = bodies.parse_message(context.body)
        bot = bots.find(context.state, message.chatbot_id)
        exchange = Exchange(bot.id, message.user_id or uuid.uuid4().hex, "api", message.message, REPLY, context.services.clock())
        async with self._turn:
            await self._write(context.state.account.id, exchange)
        return render.success(shapes.exchange(exchange))

    async def _write(self, account: str, x: Exchange) -> None:
        db, now = await self._connection(), x.created_at
        await db.execute("BEGIN IMMEDIATE")
        rows: Any = await db.execute_fetchall(
            """
            INSERT INTO conversations (id, account_id, bot_id, channel, user_id, last_message_at, created_at, updated_at, message_count)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?6, 2)
            ON CONFLICT (bot_id, channel, user_id) DO UPDATE SET
                last_message_at = excluded.last_message_at, updated_at = excluded.updated_at, message_count = message_count + 2
            RETURNING number, message_count
            """,
            (str(uuid.uuid4()), account, x.chatbot_id, x.channel, x.user_id, now),
        )
        number, count = rows[0]
        if count == 2:
            await db.execute(
                "INSERT INTO conversation_counts (account_id, bot_id, channel, conversations) VALUES (?, ?, ?, 1)"
                " ON CONFLICT DO UPDATE SET conversations = conversations + 1",
                (account, x.chatbot_id, x.channel),
            )
        await db.executemany(
            "INSERT INTO messages (conversation, id, role, content, created_at) VALUES (?, ?, ?, ?, ?)",
            [(number, str(uuid.uuid4()), "user", x.message, now), (number, str(uuid.uuid4()), "assistant", x.reply, now)],
        )
        await db.execute(
            "INSERT INTO usage_records (account_id, bot_id, created_at, tokens, cost_micro_usd) VALUES (?, ?, ?, ?, ?)",
            (account, x.chatbot_id, now, TOKENS, COST),
        )
        await db.execute("UPDATE bots SET messages_used = messages_used + 1 WHERE id = ?", (x.chatbot_id,))
        await db.execute(
            "INSERT INTO allowances VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET messages_used = messages_used + 1", (account, month(now))
        )
        await db.commit()


def _put_in_place(operation: Any) -> None:
    from chatsvc.api import operations

    operations.send_message = operation  # before chatsvc.app is imported, which builds the route table


def main(kind: str, file: str) -> None:
    """Run one server."""
    match kind:
        case "bare":
            uvloop.run(_bare(file, stock=False))
        case "stock":
            asyncio.run(_bare(file, stock=True))
        case "watched":
            uvloop.run(_watched(file))
        case "product":
            uvloop.run(_product(file))
        case "nothing":
            _write_nothing()
            uvloop.run(_product(file))
        case "one-commit":
            operation = _OneCommit(file)
            _put_in_place(operation)
            uvloop.run(operation.run(file))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
