"""`chatsvc demo`: a throw-away instance. It answers a real message over HTTP and sends a webhook."""

from __future__ import annotations

import asyncio
import gc
import json
import shlex
import signal
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chatsvc.cli.operations import command, options
from chatsvc.cli.output import echo, to_json

if TYPE_CHECKING:
    from chatsvc.app import App
    from chatsvc.cli.listener import ReceivedDelivery
    from chatsvc.config import Config

WEBHOOK_S = 15.0

Say = Callable[[str, dict[str, Any]], None]


@command(None, "demo", *options(once=bool))
def demo(once: bool, as_json: bool) -> None:
    import uvloop

    from chatsvc import config, log

    def say(text: str, event: dict[str, Any]) -> None:
        echo(to_json(event) if as_json else text)

    log.set_up("text")
    gc.enable()
    with tempfile.TemporaryDirectory(prefix="chatsvc-demo-") as folder:
        uvloop.run(_run(Path(folder), config.load(None), once, say))


def _certificate(folder: Path, address: str) -> tuple[Path, Path]:
    """Make a self-signed certificate for a day, and its key. Both are PEM files in `folder`."""
    from chatsvc.tls.certificates import self_signed

    cert_file, key_file = folder / "cert.pem", folder / "key.pem"
    for file, pem in zip((cert_file, key_file), self_signed([address], days=1), strict=True):
        file.write_bytes(pem)
    return cert_file, key_file


async def _run(folder: Path, defaults: Config, once: bool, say: Say) -> None:
    from chatsvc.app import App
    from chatsvc.cli import demo_history
    from chatsvc.cli.listener import Receiver

    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    say("Starting a throw-away instance ...", {"event": "starting"})
    pem = _certificate(folder, "127.0.0.1")
    port = _free_port()
    throw_away = replace(
        defaults,
        server=replace(defaults.server, host="127.0.0.1", port=port, tls=None, public_url=f"http://127.0.0.1:{port}"),
        data_dir=folder / "data",
        # The receiver of the demo's webhook is on this machine, which webhooks refuse unless they are told otherwise.
        webhooks=replace(defaults.webhooks, allowed_networks=(ip_network("127.0.0.0/8"),), ca_file=pem[0]),
    )
    deliveries: asyncio.Queue[ReceivedDelivery] = asyncio.Queue()
    receiver = Receiver("", deliveries.put_nowait)
    clock = demo_history.DemoClock()
    async with App(throw_away, clock) as app, receiver.listening(0, pem) as hook:
        account, bot, key = await _furnish(app, say)
        if not once:
            async with _caller(app, key) as send:
                await demo_history.make_past(app, clock, account, bot, send)
        made = await demo_history.perform(app, "webhook.set", bot=bot, url=hook, events=["request.created"])
        receiver.key = made.signing_key or ""
        await _talk(app, bot, key, say)
        await _await_webhook(deliveries, say)
        _go_on(app, bot, key, None if once else await demo_history.add_operator(app), say)
        if once:
            return
        say("\nThe instance runs on; Ctrl+C ends it and leaves nothing behind.", {"event": "running"})
        await stop.wait()


def _free_port() -> int:
    """Return a free port. The dashboard's links need it before the service listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


async def _furnish(app: App, say: Say) -> tuple[str, str, str]:
    """Make an account with a bot that knows the sample business. Returns the ids of both and a key."""
    from chatsvc import samples
    from chatsvc.cli.demo_history import perform, teach

    account = (await perform(app, "account.create", name="Demo")).account.id
    about = {"description": samples.BOT_DESCRIPTION, "instructions": samples.BOT_INSTRUCTIONS, "opening_hours": samples.OPENING_HOURS}
    bot = await perform(app, "bot.create", name=samples.BOT_NAME, **about)
    count = await teach(app, bot.id, bot.language)
    key = await perform(app, "key.create", account=account, name="demo")
    say(
        f"The bot “{samples.BOT_NAME}” knows {count} answers, in Turkish and English.",
        {"event": "bot", "chatbot_id": bot.id, "name": samples.BOT_NAME, "entries": count},
    )
    return account, bot.id, key.secret


@asynccontextmanager
async def _caller(app: App, key: str) -> AsyncIterator[Callable[[str, str, str], Awaitable[tuple[int, Any]]]]:
    """Send messages over HTTP; takes bot, visitor and message, and returns the status with the answer."""
    from aiohttp import ClientSession

    async with ClientSession(headers={"Authorization": f"Bearer {key}"}, trust_env=False) as session:

        async def send(bot: str, visitor: str, message: str) -> tuple[int, Any]:
            body = {"chatbot_id": bot, "message": message, "user_id": visitor}
            async with session.post(f"{app.url}/api/v2/messages", json=body) as response:
                return response.status, await response.json()

        yield send


async def _talk(app: App, bot: str, key: str, say: Say) -> None:
    """A question, and then a request that the bot takes down, all over HTTP."""
    from chatsvc import samples
    from chatsvc.domain.errors import CommandError

    async with _caller(app, key) as send:
        for message in (samples.QUESTION, *samples.REQUEST):
            status, answer = await send(bot, "demo-visitor", message)
            if status != 200:
                raise CommandError(f"the demo's message was answered with {status} {answer.get('error')}: {answer.get('message_en')}")
            data = answer["data"]
            reply = data["reply"].replace("\n", "\n    ")
            say(f"\n  > {data['message']}\n  < {reply}", {"event": "reply", **data})


async def _await_webhook(deliveries: asyncio.Queue[ReceivedDelivery], say: Say) -> None:
    from chatsvc.domain.errors import CommandError

    try:
        delivery = await asyncio.wait_for(deliveries.get(), WEBHOOK_S)
    except TimeoutError:
        raise CommandError(f"the demo's webhook did not arrive within {WEBHOOK_S:.0f} s") from None
    if not delivery.valid:
        raise CommandError("the demo's webhook arrived with a wrong signature")
    record = delivery.envelope["data"]
    say(
        f"\nThe webhook {delivery.event} arrived, its signature is right: {record['visitor_name']}, {record['visitor_email']}",
        {"event": "webhook", "valid": True, "body": delivery.envelope},
    )


def _go_on(app: App, bot: str, key: str, link: str | None, say: Say) -> None:
    """Print a curl command, and the links to a chat and to the dashboard."""
    url = f"{app.url}/api/v2/messages"
    question = json.dumps({"chatbot_id": bot, "message": "Do you rent electric bikes?"})
    curl = f"curl -s {url} -H {shlex.quote('Authorization: Bearer ' + key)} -d {shlex.quote(question)}"
    chat = f"{app.url}/chat/{bot}" if link else None
    how = "Go on" if link else "While it runs (without --once)"
    text = f"\n{how} with:\n\n  {curl}"
    if link:
        text += f"\n\nChat with the bot as a visitor would:\n\n  {chat}"
        text += f"\n\nOpen the dashboard, choose a password, and look around:\n\n  {link}"
    say(text, {"event": "ready", "base_url": f"{app.url}/api/v2", "key": key, "curl": curl, "chat": chat, "dashboard": link})
