"""Visitors of one bot: their messages are stored, then confirmed at Telegram, then answered.

A message that is not stored is not confirmed, so it comes again; one that comes again is recognised by its update's id, which is stored
in the transaction of the message.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from chatsvc import background
from chatsvc.domain.channels import TELEGRAM, NewMessage
from chatsvc.domain.hand_off import BOT
from chatsvc.outbound.sending import NotConnected, RetryLater, SendingRefused, SendingUncertain
from chatsvc.outbound.telegram import TelegramClient
from chatsvc.platforms.telegram.update_loop import UpdateLoop
from chatsvc.platforms.telegram.updates import ReadMessage
from chatsvc.services.accounts import channel_secrets
from chatsvc.services.accounts.channel_secrets import OpenChannel
from chatsvc.services.messages import channel_messages
from chatsvc.services.services import Services

SEEN_EVERY_MS = 60_000
TYPING_EVERY_S = 4.5  # it is shown for 5
TYPING_AFTER_S = 0.7  # most replies of the knowledge come sooner
MOST_TYPING = 20  # marks at a time: in a crowd replies matter more

# Takes a message of a group that is the team's, and returns whether it was one.
TakeOfTeam = Callable[[ReadMessage], Awaitable[bool]]


class TelegramPoller:
    """Poller of one bot's channel. `of_team` takes messages where the bot is also in the team's group."""

    def __init__(self, services: Services, channel: OpenChannel, client: TelegramClient, of_team: TakeOfTeam | None = None) -> None:
        self._services, self._channel, self._client, self._of_team = services, channel, client, of_team
        self._loop = UpdateLoop(client, f"bot {channel.channel.bot_id}", self._take, self._note_fault, channel.channel.fault)
        self._seen_at = 0
        self._typing: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Ask for updates until the task is cancelled."""
        await self._loop.run()

    async def _note_fault(self, fault: str | None) -> None:
        await channel_secrets.note_fault(self._services, self._channel.channel, fault)

    async def _take(self, messages: Sequence[ReadMessage]) -> None:
        """Store messages in their order, and begin the answers."""
        taken = [message for message in messages if message.text and (self._of_team is None or not await self._of_team(message))]
        stored = await channel_messages.receive_several(self._services, [self._arrived(message) for message in taken])
        await self._note_seen()
        for query in (message.query_id for message in messages if message.query_id is not None):
            background.start("answer to a button", self._quietly("answerCallbackQuery", {"callback_query_id": query}))
        for message, kept in zip(taken, stored, strict=True):
            if kept is not None:
                is_awaited = kept.is_new and kept.handling in (None, BOT)
                end_typing = self._begin_typing(message.chat) if is_awaited else None
                self._services.answers.begin(self._channel.account_id, kept, end_typing)

    def _arrived(self, message: ReadMessage) -> NewMessage:
        now, channel = self._services.clock(), self._channel.channel
        return NewMessage(
            self._channel.account_id,
            channel.bot_id,
            TELEGRAM,
            str(message.chat),
            message.text,
            f"{channel.identity} {message.update_id}",
            min(message.at or now, now),
            kind=message.kind,
        )

    async def _note_seen(self) -> None:
        now = self._services.clock()
        if now - self._seen_at >= SEEN_EVERY_MS:
            self._seen_at = now
            await channel_secrets.note_seen(self._services, self._channel.channel)

    def _begin_typing(self, chat: int) -> Callable[[], None]:
        """Show soon that a reply is being written; return the function that ends it."""
        marks: list[asyncio.Task[None]] = []

        def begin() -> None:
            if len(self._typing) < MOST_TYPING:
                mark = background.start("typing mark", self._keep_typing(chat))
                marks.append(mark)
                self._typing.add(mark)
                mark.add_done_callback(self._typing.discard)

        def end() -> None:
            timer.cancel()
            for mark in marks:
                mark.cancel()

        timer = asyncio.get_running_loop().call_later(TYPING_AFTER_S, begin)
        return end

    async def _keep_typing(self, chat: int) -> None:
        while await self._quietly("sendChatAction", {"chat_id": chat, "action": "typing"}):  # noqa: ASYNC110  # a call, no condition
            await asyncio.sleep(TYPING_EVERY_S)

    async def _quietly(self, method: str, parameters: Mapping[str, object]) -> bool:
        """Call a method whose failure changes nothing."""
        try:
            await self._client.call(method, parameters)
        except (SendingRefused, RetryLater, NotConnected, SendingUncertain):
            return False
        return True
