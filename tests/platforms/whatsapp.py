"""A bot with an active WhatsApp channel, as its visitors and its team see it."""

import asyncio
from typing import Any

from chatsvc.domain.models import Message
from chatsvc.services.administration import perform
from chatsvc.services.conversations import conversations
from chatsvc.services.conversations.conversations import TeamThread
from tests.conftest import Caller
from tests.fakes import ADMIN
from tests.platforms.graph_api import APP_SECRET, NUMBER, TOKEN, VERIFY_TOKEN, GraphApi

SETTINGS = {"phone_number_id": NUMBER, "token": TOKEN, "app_secret": APP_SECRET, "verify_token": VERIFY_TOKEN}


class Phone:
    """A bot's number. `say` delivers a visitor's text; the rest asks what came of it."""

    def __init__(self, caller: Caller, api: GraphApi) -> None:
        self.services, self.caller, self.api = caller.app.services, caller, api
        api.callback = f"{caller.app.url}/channels/whatsapp/{caller.bot}"

    async def set(self, **settings: Any) -> Any:
        return await self.act("channel.set", channel="whatsapp", **{**SETTINGS, **settings})

    async def act(self, operation: str, **arguments: Any) -> Any:
        return await perform(self.services, ADMIN, operation, {"bot": self.caller.bot, **arguments})

    @property
    def now(self) -> int:
        """The time in seconds, as the platform writes it."""
        return self.services.clock() // 1000

    async def say(self, text: str = "hello", *, times: int = 1, ago: int = 0, **more: Any) -> None:
        await self.api.deliver(self.api.message(text, at=self.now - ago, **more), times=times)

    async def conversations(self) -> list[Any]:
        return list((await conversations.list_all(self.services, ADMIN, bot=await self.caller.chatbot())).items)

    async def thread(self, index: int = 0) -> TeamThread:
        listed = await self.conversations()
        return await conversations.show(self.services, ADMIN, conversation=listed[index].id)

    async def messages(self) -> list[Message]:
        return list((await self.thread()).messages) if await self.conversations() else []

    async def until(self, *states: str | None) -> list[tuple[str, str | None, str | None]]:
        """Wait until what was written to the visitor has these delivery states. Returns text, state and error."""
        async with asyncio.timeout(30):
            while True:
                replies = [
                    (message.content, message.delivery, message.error) for message in await self.messages() if message.role != "user"
                ]
                if [state for _, state, _ in replies] == list(states):
                    return replies
                await asyncio.sleep(0.01)
