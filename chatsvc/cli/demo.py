"""`chatsvc demo`: a temporary instance, which answers a real message over HTTP and sends a webhook."""

import asyncio
import json
import logging
import os
import shlex
import socket
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import uvloop
from aiohttp import ClientSession

from chatsvc import config, log, samples
from chatsvc.app import App
from chatsvc.cli.deliveries import ReceivedDelivery, receiver, stop_event
from chatsvc.cli.operations import command, options
from chatsvc.cli.output import echo
from chatsvc.domain.channels import ANY_LINK
from chatsvc.domain.errors import CommandError
from chatsvc.domain.escaping import to_json
from chatsvc.domain.keys import user_id_of
from chatsvc.domain.times import DAY_MS, now_ms
from chatsvc.local_user import caller_of
from chatsvc.services import administration
from chatsvc.services.knowledge import file_reading
from chatsvc.services.messages import web_visits
from chatsvc.tls.certificates import self_signed

WEBHOOK_S = 15.0
WAIT_MINUTES = 240
EMAIL = "demo@example.com"
NOWHERE = "https://127.0.0.1:65535/chatsvc"  # a port where nobody listens: its deliveries fail at once

Say = Callable[[str, dict[str, Any]], None]


@command(None, "demo", *options(once=bool))
def demo(once: bool, as_json: bool) -> None:
    def say(text: str, event: dict[str, Any]) -> None:
        echo(to_json(event) if as_json else text)

    log.set_up("text")
    with tempfile.TemporaryDirectory(prefix="chatsvc-demo-") as folder:
        uvloop.run(_run(Path(folder), once, say))


async def _run(folder: Path, once: bool, say: Say) -> None:
    stop = stop_event()
    say("Starting a throw-away instance ...", {"event": "starting"})
    certificate = folder / "cert.pem", folder / "key.pem"
    for file, pem in zip(certificate, self_signed(["127.0.0.1"], days=1), strict=True):
        file.write_bytes(pem)
    with socket.socket() as probe:  # the dashboard's links need the port before the service listens
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    defaults = config.load(None)
    throw_away = replace(
        defaults,
        server=replace(defaults.server, host="127.0.0.1", port=port, tls=None, public_url=f"http://127.0.0.1:{port}"),
        data_dir=folder / "data",
        # The receiver of the demo's webhook is on this machine, which webhooks refuse unless they are told otherwise.
        webhooks=replace(defaults.webhooks, allowed_networks=(ip_network("127.0.0.0/8"),), ca_file=certificate[0]),
    )
    deliveries: asyncio.Queue[ReceivedDelivery] = asyncio.Queue()
    instance = Instance(say)
    async with (
        App(throw_away, instance.now_ms) as instance.app,
        ClientSession(trust_env=False) as instance.session,
        receiver(0, certificate, lambda: instance.signing_key, deliveries.put_nowait) as hook,
    ):
        bot = await instance.make_bot()
        if not once:
            await instance.make_past(bot)
        webhook = await instance.perform("webhook.set", bot=bot, url=hook, events=["request.created"])
        instance.signing_key = webhook.signing_key or ""
        await instance.talk(bot)
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
        await instance.show_ways_on(bot, once)
        if not once:
            say("\nThe instance runs on; Ctrl+C ends it and leaves nothing behind.", {"event": "running"})
            await stop.wait()


@dataclass
class Instance:
    """The temporary instance of the demo, with its API key and the signing key of its webhook.

    Its clock is `days_ago` days behind, so that sample conversations get dates in the past.
    """

    say: Say
    key: str = ""
    signing_key: str = ""
    days_ago: int = 0
    app: App = field(init=False)
    session: ClientSession = field(init=False)

    def now_ms(self) -> int:
        return now_ms() - self.days_ago * DAY_MS

    async def perform(self, operation: str, **arguments: object) -> Any:
        """Perform an operation as the local user. It is thus recorded in the audit log."""
        return await administration.perform(self.app.services, caller_of(os.getuid()), operation, arguments)

    async def send(self, bot: str, visitor: str, message: str) -> tuple[int, Any]:
        body, headers = {"chatbot_id": bot, "message": message, "user_id": visitor}, {"Authorization": f"Bearer {self.key}"}
        async with self.session.post(f"{self.app.url}/api/v2/messages", json=body, headers=headers) as response:
            return response.status, await response.json()

    async def make_bot(self) -> str:
        """Make an account with a key and a bot that knows the sample business. Return the bot's id."""
        await self.perform("account.create", name="Demo")
        about = {"description": samples.BOT_DESCRIPTION, "instructions": samples.BOT_INSTRUCTIONS, "opening_hours": samples.OPENING_HOURS}
        bot = await self.perform("bot.create", name=samples.BOT_NAME, **about)
        count = await self.teach(bot.id, bot.language)
        self.key = (await self.perform("key.create", name="demo")).secret
        self.say(
            f"The bot “{samples.BOT_NAME}” knows {count} answers, in Turkish and English.",
            {"event": "bot", "chatbot_id": bot.id, "name": samples.BOT_NAME, "entries": count},
        )
        return str(bot.id)

    async def teach(self, bot: str, language: str) -> int:
        """Add the sample business to the knowledge of a bot; return the number of entries."""
        texts = [(name, text.encode()) for name, text in samples.knowledge().items()]
        files = await self.app.services.offload(lambda: file_reading.read_files(texts, language))
        return sum(file.entries for file in (await self.perform("knowledge.add", bot=bot, files=files)).files)

    async def talk(self, bot: str) -> None:
        """Send a question, and then a request that the bot records."""
        for message in (samples.QUESTION, *samples.REQUEST):
            status, answer = await self.send(bot, "demo-visitor", message)
            if status != 200:
                raise CommandError(f"the demo's message was answered with {status} {answer.get('error')}: {answer.get('message_en')}")
            data = answer["data"]
            reply = data["reply"].replace("\n", "\n    ")
            self.say(f"\n  > {data['message']}\n  < {reply}", {"event": "reply", **data})

    async def make_past(self, bot: str) -> None:
        """Let visitors talk to the bot on past days. Also make a second bot with a failing webhook and a waiting visitor."""
        # Questions without an answer are part of the sample, and no reason for warnings.
        logger = logging.getLogger("chatsvc")
        level = logger.level
        logger.setLevel(logging.ERROR)
        for self.days_ago, visitor, messages in samples.conversations():
            for message in messages:
                await self.send(bot, visitor, message)
        logger.setLevel(level)
        self.days_ago = 0
        second = (await self.perform("bot.create", name=samples.SECOND_BOT)).id
        await self.teach(second, "tr")
        await self.perform("webhook.set", bot=second, url=NOWHERE, events=["request.created"])
        for message in samples.TOUR_REQUEST:
            await self.send(second, "cem", message)
        for past_bot in (bot, second):
            await self.perform("channel.set", bot=past_bot, channel="web", sites=[ANY_LINK])
            await self.perform("bot.set", bot=past_bot, hand_off=True, hand_off_wait=WAIT_MINUTES)
        visits, widget = web_visits.WebVisits(self.app.services), await web_visits.find(self.app.services, second)
        if widget is None:
            raise AssertionError("the bot's widget was set up above")
        for message in samples.WAITING:
            await visits.send(widget, user_id_of(widget.key, second, "waiting"), message, message, web_visits.LINK)

    async def show_ways_on(self, bot: str, once: bool) -> None:
        """Print what to try next: a curl command and, unless `once` is true, links to chat and dashboard."""
        url = self.app.url
        question = json.dumps({"chatbot_id": bot, "message": "Do you rent electric bikes?"})
        curl = f"curl -s {url}/api/v2/messages -H {shlex.quote('Authorization: Bearer ' + self.key)} -d {shlex.quote(question)}"
        text, chat, link = f"\nWhile it runs (without --once) with:\n\n  {curl}", None, None
        if not once:
            chat, link = f"{url}/chat/{bot}", (await self.perform("operator.add", email=EMAIL, admin=True, name="Demo")).link
            text = (
                f"\nGo on with:\n\n  {curl}\n\nChat with the bot as a visitor would:\n\n  {chat}"
                f"\n\nOpen the dashboard, choose a password, and look around:\n\n  {link}"
            )
        self.say(text, {"event": "ready", "base_url": f"{url}/api/v2", "key": self.key, "curl": curl, "chat": chat, "dashboard": link})
