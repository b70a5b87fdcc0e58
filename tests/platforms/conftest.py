"""Fixtures: a bot with a web channel, messages that arrive by it, and a platform that answers as a test says."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from aiohttp import web

from chatsvc.config import Config
from chatsvc.domain.channels import NewMessage
from chatsvc.services.administration import perform
from chatsvc.services.conversations import conversations
from chatsvc.services.conversations.conversations import TeamThread
from chatsvc.services.messages import channel_messages
from tests.conftest import Caller, MakeCaller
from tests.fakes import ADMIN, FakeClock, ScriptedEngine
from tests.platforms.bot_api import BotApi


@dataclass
class Platform:
    """A messaging platform on loopback. `status` and `body` are its answer; `seen` are the requested paths."""

    status: int = 200
    body: Any = field(default_factory=lambda: {"ok": True, "result": {"id": 1, "is_bot": True}})
    seen: list[str] = field(default_factory=list)
    url: str = ""

    async def answer(self, request: web.Request) -> web.Response:
        self.seen.append(f"{request.path_qs} {request.headers.get('Authorization', '-')}")
        return web.json_response(self.body, status=self.status)


@pytest.fixture
async def platform() -> AsyncIterator[Platform]:
    server = Platform()
    site = web.Application()
    site.router.add_route("*", "/{rest:.*}", server.answer)
    runner = web.AppRunner(site)
    await runner.setup()
    listener = web.TCPSite(runner, "127.0.0.1", 0)
    await listener.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield server
    await runner.cleanup()


@pytest.fixture
def config(config: Config, platform: Platform) -> Config:
    return replace(config, channels={"telegram": platform.url, "whatsapp": f"{platform.url}/v26.0"})


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi() as running:
        yield running


class Visitor:
    """A visitor of a bot's web channel, one layer below HTTP."""

    channel = "web"

    def __init__(self, caller: Caller, clock: FakeClock, user_id: str = "visitor") -> None:
        self.services, self.caller, self.clock, self.user_id, self.sent = caller.app.services, caller, clock, user_id, 0

    async def say(self, text: str, *, key: str | None = None, page_host: str = "") -> list[tuple[str, str]]:
        """Send a message; return role and text of all messages that follow the visitor's."""
        self.sent += 1
        key, of_bot = key or f"{self.user_id}-{self.sent}", (self.caller.account, self.caller.bot, self.channel)
        arrived = NewMessage(*of_bot, self.user_id, text, key, self.services.clock(), page_host)
        (message,) = await channel_messages.receive(self.services, arrived)
        assert message is not None
        await channel_messages.answer(self.services, message)
        messages = (await self.thread()).messages
        return [(entry.role, entry.content) for entry in messages if entry.number > message.number]

    async def thread(self) -> TeamThread:
        return await conversations.show(self.services, ADMIN, conversation=await self.conversation())

    async def conversation(self) -> str:
        page = await conversations.list_all(self.services, ADMIN, bot=await self.caller.chatbot())
        return next(conversation.id for conversation in page.items if conversation.user_id == self.user_id)

    async def act(self, operation: str, **arguments: Any) -> Any:
        """Perform an operation on the conversation as a local user."""
        return await perform(self.services, ADMIN, operation, {"conversation": await self.conversation(), **arguments})


async def begun(engine: ScriptedEngine, turns: int) -> None:
    async with asyncio.timeout(30):
        while len(engine.turns) < turns:  # noqa: ASYNC110  # the engine has no event for it
            await asyncio.sleep(0.01)


async def offer_rooms(caller: Caller, rooms: list[str]) -> None:
    field = {"name": "Room", "kind": "choice", "choices": rooms, "ask": {"en": "Which room?"}}
    text = json.dumps({"language": "en", "forms": {"contact": {"fields": [field]}}})
    await perform(caller.app.services, ADMIN, "bot.set", {"bot": caller.bot, "model": "offline"})
    await perform(caller.app.services, ADMIN, "bot.apply", {"bot": caller.bot, "file": "bot.yaml", "text": text})


@pytest.fixture
async def visitor(caller: Caller, clock: FakeClock) -> Visitor:
    await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "web"})
    return Visitor(caller, clock)


@pytest.fixture
def make_visitor(make_caller: MakeCaller, clock: FakeClock) -> MakeCaller:
    """Makes a visitor of a bot with an active web channel, and the bot's owner."""

    async def make(**settings: Any) -> tuple[Visitor, Caller]:
        caller = await make_caller(**settings)
        await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "web"})
        return Visitor(caller, clock), caller

    return make
