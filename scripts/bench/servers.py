"""Servers for comparisons, each run as `python servers.py KIND ...`. The first line of output contains the URL.

stock BODY          aiohttp with one route, whose handler encodes the JSON value of the file BODY at each request
watched CONFIG      chatsvc without changes; on SIGUSR1 it prints the number of its tasks
product CONFIG      chatsvc with an engine that answers at once
nothing CONFIG      the same, but exchanges are not written to the store
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path
from typing import Any

import uvloop
from aiohttp import web
from standin import REPLY

from chatsvc import app
from chatsvc import config as configuration
from chatsvc.app import App
from chatsvc.domain.models import Usage
from chatsvc.engines import Reply
from chatsvc.store import exchanges


def _tell(port: int) -> None:
    print(json.dumps({"event": "listening", "url": f"http://127.0.0.1:{port}"}), flush=True)


async def _stock(body: str) -> None:
    value = json.loads(await asyncio.to_thread(Path(body).read_bytes))

    async def encode(_: web.Request) -> web.Response:
        return web.json_response(value)

    stock = web.Application()
    stock.router.add_get("/api/v2/chatbots", encode)
    runner = web.AppRunner(stock, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    _tell(runner.addresses[0][1])
    await asyncio.Event().wait()


class _AtOnce:
    """Engine that answers at once."""

    async def start(self) -> None: ...

    async def reply(self, _: Any) -> Reply:
        return Reply(REPLY, Usage(200, 40))

    async def close(self) -> None: ...


async def _serve(kind: str, config_file: str) -> None:
    def ready(started: App) -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, lambda: print(json.dumps({"tasks": len(asyncio.all_tasks())}), flush=True))
        if kind != "watched":
            started.services.engines["knowledge"] = _AtOnce()
        _tell(started.port)

    async def record(*_: object) -> exchanges.Counts:
        return exchanges.Counts(1, 0, 1)

    if kind == "nothing":
        exchanges.record = record  # type: ignore[assignment]  # the same for callers
    await app.serve(configuration.load(Path(config_file), {}), ready)


if __name__ == "__main__":
    kind, file = sys.argv[1:]
    uvloop.run(_stock(file) if kind == "stock" else _serve(kind, file))
