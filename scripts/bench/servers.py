"""Servers to compare with, each run as `python servers.py KIND ...`. The first line of output has the url.

stock BODY          aiohttp as it comes: one route, whose handler encodes the JSON value of the file BODY at each request
watched CONFIG      chatsvc as it is, which tells on SIGUSR1 how many tasks it has
product CONFIG      chatsvc with an engine that answers at once
nothing CONFIG      the same, but an exchange is not written
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

from chatsvc import config as configuration
from chatsvc.domain.models import Usage

REPLY = "We are open from Monday to Saturday, nine to six; on Sundays by appointment. Is there anything else you would like to know?"
TOKENS = 240


def _tell(port: int) -> None:
    print(json.dumps({"event": "listening", "url": f"http://127.0.0.1:{port}"}), flush=True)


async def _stock(body: str) -> None:
    value = json.loads(await asyncio.to_thread(Path(body).read_bytes))

    async def encode(_: web.Request) -> web.Response:
        return web.json_response(value)

    app = web.Application()
    app.router.add_get("/api/v2/chatbots", encode)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    _tell(runner.addresses[0][1])
    await asyncio.Event().wait()


class _AtOnce:
    """An engine that answers at once."""

    async def start(self) -> None:
        """See Engine.start."""

    async def reply(self, _: Any) -> Any:
        """See Engine.reply."""
        from chatsvc.engines import Reply

        return Reply(REPLY, Usage(TOKENS - 40, 40))

    async def close(self) -> None:
        """See Engine.close."""


async def _serve(config_file: str, *, at_once: bool) -> None:
    from chatsvc.app import App, serve

    def ready(app: App) -> None:
        tasks = lambda: print(json.dumps({"tasks": len(asyncio.all_tasks())}), flush=True)  # noqa: E731  # for a signal
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, tasks)
        if at_once:
            app.services.engines["knowledge"] = _AtOnce()
        _tell(app.port)

    await serve(configuration.load(Path(config_file), {}), ready)


def _write_nothing() -> None:
    from chatsvc.store import exchanges

    async def record(_: Any, exchange: Any) -> Any:
        del exchange
        return exchanges.Counts(1, 0, 1)

    exchanges.record = record


def main(kind: str, file: str) -> None:
    """Run one server."""
    match kind:
        case "stock":
            asyncio.run(_stock(file))
        case "watched":
            uvloop.run(_serve(file, at_once=False))
        case "product":
            uvloop.run(_serve(file, at_once=True))
        case "nothing":
            _write_nothing()
            uvloop.run(_serve(file, at_once=True))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
