"""`chatsvc demo`: a throw-away instance that answers a real message over HTTP."""

from __future__ import annotations

import asyncio
import gc
import json
import shlex
import signal
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chatsvc.cli.output import json_option

if TYPE_CHECKING:
    from chatsvc.app import App

Say = Callable[[str, dict[str, Any]], None]


@click.command()
@click.option("--once", is_flag=True, help="End after the first reply.")
@json_option
def demo(once: bool, as_json: bool) -> None:
    """Try it: a throw-away instance with a sample bot that answers a real message. Nothing of it stays."""
    import uvloop

    from chatsvc import config, log

    def say(text: str, event: dict[str, Any]) -> None:
        click.echo(json.dumps(event, ensure_ascii=False) if as_json else text)

    log.set_up()
    gc.enable()
    with tempfile.TemporaryDirectory(prefix="chatsvc-demo-") as folder:
        defaults = config.load(None)
        throw_away = replace(defaults, server=replace(defaults.server, host="127.0.0.1", port=0, tls=None), data_dir=Path(folder) / "data")
        uvloop.run(_run(throw_away, once, say))


async def _run(config: Any, once: bool, say: Say) -> None:
    from chatsvc.app import App

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    say("Starting a throw-away instance ...", {"event": "starting"})
    async with App(config) as app:
        bot, key = await _furnish(app, say)
        await _talk(app, bot, key, say)
        if once:
            return
        say("\nThe instance runs on; Ctrl+C ends it and leaves nothing behind.", {"event": "running"})
        await stop.wait()


async def _furnish(app: App, say: Say) -> tuple[str, str]:
    from chatsvc import samples
    from chatsvc.usecases import accounts, bots, keys, knowledge

    account = await accounts.create(app.services, name="Demo")
    bot = await bots.create(
        app.services,
        name=samples.BOT_NAME,
        description=samples.BOT_DESCRIPTION,
        instructions=samples.BOT_INSTRUCTIONS,
        opening_hours=samples.OPENING_HOURS,
    )
    bot_id = str(bot["id"])
    added = await knowledge.add(app.services, bot=bot_id, files=list(samples.knowledge().items()))
    key = await keys.create(app.services, account=str(account["id"]), name="demo")
    say(
        f"The bot “{samples.BOT_NAME}” knows {added['entries']} answers, in Turkish and English.",
        {"event": "bot", "chatbot_id": bot_id, "name": samples.BOT_NAME, "entries": added["entries"]},
    )
    return bot_id, str(key["key"])


async def _talk(app: App, bot: str, key: str, say: Say) -> None:
    from aiohttp import ClientSession

    from chatsvc import samples
    from chatsvc.domain.errors import Refused

    url = f"{app.url}/api/v2/messages"
    headers = {"Authorization": f"Bearer {key}"}
    async with ClientSession(headers=headers, trust_env=False) as session:
        body = {"chatbot_id": bot, "message": samples.QUESTION, "user_id": "demo-visitor"}
        async with session.post(url, json=body) as response:
            answer = await response.json()
            if response.status != 200:
                raise Refused(f"the demo's message was answered with {response.status} {answer.get('error')}: {answer.get('message_en')}")
    data = answer["data"]
    say(f"\n  > {data['message']}\n  < {data['reply']}", {"event": "reply", **data})
    question = json.dumps({"chatbot_id": bot, "message": "Do you rent electric bikes?"})
    curl = f"curl -s {url} -H {shlex.quote('Authorization: Bearer ' + key)} -d {shlex.quote(question)}"
    say(f"\nGo on with:\n\n  {curl}", {"event": "ready", "base_url": f"{app.url}/api/v2", "key": key, "curl": curl})
