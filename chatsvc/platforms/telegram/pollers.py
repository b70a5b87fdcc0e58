"""Pollers, which ask Telegram for messages. Each active channel has one. They are started, replaced and ended when channels change.

Messages of visitors are stored, then confirmed at Telegram, then answered. A message that is not stored is not confirmed, so Telegram
delivers it again. A repeated message is recognised by the id of its update, which is stored in the transaction of the message.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from chatsvc import background
from chatsvc.domain.channels import ACTIVE, NewMessage
from chatsvc.domain.models import BOT
from chatsvc.outbound.posting import SendingFault
from chatsvc.platforms.telegram import NAME, bot_of
from chatsvc.platforms.telegram.client import TelegramClient, destination, sender
from chatsvc.platforms.telegram.team import TELL_EVERY_S, TeamGroup
from chatsvc.platforms.telegram.update_loop import UpdateLoop
from chatsvc.platforms.telegram.updates import ReadMessage
from chatsvc.services.accounts.channel_secrets import OpenChannel
from chatsvc.services.messages import channel_messages
from chatsvc.services.messages.channel_messages import ChannelAnswers
from chatsvc.services.services import Services
from chatsvc.store import channels, conversations

log = logging.getLogger(__name__)

LOOK_EVERY_S = 5.0
FAULT_PAUSE_S = 5.0


class _Polling(NamedTuple):
    token: str
    client: TelegramClient
    task: asyncio.Task[None]


class TelegramPollers:
    """All pollers of this process, and the notices to the team's group."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._running: dict[str, _Polling] = {}
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        settings, self._team = services.config.notices.team, None
        if settings is not None and settings.token is not None:
            self._team = TeamGroup(services, settings.token.reveal(), settings.chat_id)
        elif settings is not None:
            log.error("notices.telegram: there is no token, so the team's group is not told of visitors who wait")
        self._team_polling: asyncio.Task[None] | None = None

    def start(self) -> Callable[[], Awaitable[None]]:
        """Start to poll Telegram for messages. Return the function that stops polling."""
        self._services.channels.observers.append(lambda _: self._changed.set())
        background.run("telegram", self._adjust, LOOK_EVERY_S, self._tasks, woken=self._changed)
        if self._team is not None:
            tell = self._services.leases.guarding("notices of the team", self._team.tell)
            background.run("notices of the team", tell, TELL_EVERY_S, self._tasks)
        return self.stop

    async def _adjust(self) -> None:
        """Start, replace and end pollers so that they match the channels."""
        of_telegram = await self._services.channels.of_kind(NAME)
        active = [opened for opened in of_telegram if opened.channel.state == ACTIVE and opened.secrets]
        # One poller for each token over all processes.
        wanted = {opened.channel.id: opened for opened in active if await self._services.leases.hold(f"telegram {opened.channel.identity}")}
        for identifier, polling in list(self._running.items()):
            if identifier not in wanted or wanted[identifier].secrets["token"] != polling.token:
                await self._end(identifier)
        # First: two who ask with one token would disturb one another.
        await self._adjust_team(of_telegram)
        for identifier, channel in wanted.items():
            if identifier not in self._running:
                token = channel.secrets["token"]
                client = sender(self._services, channel)
                of_team = self._team.take if self._team is not None and self._team.token == token else None
                poller = TelegramPoller(self._services, channel, client, of_team)
                self._running[identifier] = _Polling(token, client, background.run("telegram poller", poller.run, FAULT_PAUSE_S))

    async def _adjust_team(self, of_telegram: Sequence[OpenChannel]) -> None:
        """Start or end polling of the team's group. If the group's bot also has a channel, the poller of the channel reads the group.

        While this channel is paused, the group's messages remain at Telegram.
        """
        if self._team is None:
            return
        identity = bot_of(self._team.token) or ""
        is_channel = any(opened.channel.identity == identity for opened in of_telegram)
        is_ours = not is_channel and await self._services.leases.hold(f"telegram {identity}")
        if not is_ours and self._team_polling is not None:
            await background.cancel(self._team_polling)
            self._team_polling = None
        elif is_ours and self._team_polling is None:
            self._team_polling = background.run("poller of the team's group", self._team.poll, FAULT_PAUSE_S)

    async def _end(self, identifier: str) -> None:
        polling = self._running.pop(identifier)
        await background.cancel(polling.task)
        await polling.client.close()

    async def stop(self) -> None:
        """End all pollers. Telegram delivers unconfirmed updates again after the next start."""
        await background.cancel(*self._tasks, self._team_polling)
        for identifier in list(self._running):
            await self._end(identifier)
        if self._team is not None:
            await self._team.client.close()


SEEN_EVERY_MS = 60_000
TYPING_EVERY_S = 4.5  # it is shown for 5
TYPING_AFTER_S = 0.7  # most replies of the knowledge come sooner
MOST_TYPING = 20  # marks at a time: in a crowd replies matter more

# Takes a message of a group that is the team's, and returns whether it was one.
TakeOfTeam = Callable[[ReadMessage], Awaitable[bool]]


class TelegramPoller:
    """Poller of one bot's channel. `of_team` processes messages of the team's group, if the bot is also in that group."""

    def __init__(self, services: Services, channel: OpenChannel, client: TelegramClient, of_team: TakeOfTeam | None = None) -> None:
        self._services, self._channel, self._client, self._of_team = services, channel, client, of_team
        note_fault = partial(services.channels.note_fault, channel.channel)
        self.run = UpdateLoop(client, f"bot {channel.channel.bot_id}", self._take, note_fault, channel.channel.fault).run
        self._seen_at = 0
        self._typing = asyncio.Semaphore(MOST_TYPING)

    async def _take(self, messages: Sequence[ReadMessage]) -> None:
        """Store the received messages in their order, and start to answer them."""
        for message in messages:
            if message.moved_to is not None:
                self._client.moved[message.chat] = message.moved_to
                users = str(message.chat), str(message.moved_to)
                await conversations.move_user(self._services.db, self._channel.channel.bot_id, NAME, *users)
        taken = [message for message in messages if message.text and (self._of_team is None or not await self._of_team(message))]
        now, channel, account_id = self._services.clock(), self._channel.channel, self._channel.account_id
        of_bot = partial(NewMessage, account_id, channel.bot_id, NAME)
        arrived = [of_bot(m.user_id, m.text, f"{channel.identity} {m.update_id}", min(m.sent_at or now, now), kind=m.kind) for m in taken]
        stored = await channel_messages.receive(self._services, *arrived)
        if now - self._seen_at >= SEEN_EVERY_MS:
            self._seen_at = now
            await channels.update(self._services.db, channel.id, {"seen_at": now})
        for query in (message.query_id for message in messages if message.query_id is not None):
            background.start("answer to a button", self._quietly("answerCallbackQuery", {"callback_query_id": query}))
        for message, new in zip(taken, stored, strict=True):
            if new is not None:
                typing = background.start("typing mark", self._show_typing(message.user_id)) if new.handling == BOT else None
                self._services.part(ChannelAnswers).begin(new, typing.cancel if typing else None)

    async def _show_typing(self, user_id: str) -> None:
        """Show the visitor that a reply is being written. Begin after a moment, and continue until the task is cancelled."""
        await asyncio.sleep(TYPING_AFTER_S)
        if self._typing.locked():
            return
        async with self._typing:
            while await self._quietly("sendChatAction", {**destination(user_id), "action": "typing"}):  # noqa: ASYNC110  # a call
                await asyncio.sleep(TYPING_EVERY_S)

    async def _quietly(self, method: str, parameters: Mapping[str, object]) -> bool:
        try:
            await self._client.call(method, parameters)
        except SendingFault:
            return False
        return True
