"""A chatsvc whose bots capture a request from every message and tell it to URL: `python capturing.py CONFIG URL`."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import uvloop

from chatsvc import config as configuration
from chatsvc.app import App, serve
from chatsvc.domain.actors import local_user
from chatsvc.domain.captures import Captured
from chatsvc.engines import Reply, Turn
from chatsvc.services.accounts import webhooks


class _Captures:
    """An engine that answers at once and takes a request down."""

    async def start(self) -> None:
        """See Engine.start."""

    async def reply(self, turn: Turn) -> Reply:
        """See Engine.reply."""
        return Reply("Noted.", captured=Captured("contact", turn.message, visitor_email=turn.message.split()[-1]))

    async def close(self) -> None:
        """See Engine.close."""


async def _run(config_file: str, url: str, bots: list[str]) -> None:
    setting: list[asyncio.Task[None]] = []

    async def set_webhooks(app: App) -> None:
        for bot in bots:
            await webhooks.put(app.services, local_user(0), bot=bot, url=url, events=["request.created"])
        print(json.dumps({"event": "listening", "url": app.url}), flush=True)

    def ready(app: App) -> None:
        app.services.engines["knowledge"] = _Captures()
        setting.append(asyncio.create_task(set_webhooks(app)))

    await serve(configuration.load(Path(config_file), {}), ready)


if __name__ == "__main__":
    uvloop.run(_run(sys.argv[1], sys.argv[2], sys.argv[3:]))
