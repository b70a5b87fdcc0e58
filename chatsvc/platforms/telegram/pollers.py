"""Pollers of all bots with an active Telegram channel: started, replaced and ended as channels change."""

import asyncio
import logging
from typing import NamedTuple

from chatsvc import background
from chatsvc.domain.channels import TELEGRAM, telegram_identity
from chatsvc.outbound.telegram import TelegramClient
from chatsvc.platforms.telegram.poller import TelegramPoller
from chatsvc.platforms.telegram.team import LOOK_EVERY_S as TELL_EVERY_S
from chatsvc.platforms.telegram.team import TeamGroup
from chatsvc.services.accounts import channel_secrets
from chatsvc.services.services import Services
from chatsvc.store.database import StoreUnavailable

log = logging.getLogger(__name__)

LOOK_EVERY_S = 5.0
FAULT_PAUSE_S = 5.0


class _Polling(NamedTuple):
    token: str
    client: TelegramClient
    task: asyncio.Task[None]


def _team_group(services: Services) -> TeamGroup | None:
    """Return the group of `notices.telegram`, if there is one."""
    settings = services.config.notices.telegram
    if settings is None:
        return None
    if settings.token is None:
        log.error("notices.telegram: there is no token, so the team's group is not told of visitors who wait")
        return None
    return TeamGroup(services, settings.token.reveal(), settings.chat_id)


class TelegramPollers:
    """The pollers of this process, by the channel's id."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._running: dict[str, _Polling] = {}
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._team = _team_group(services)
        self._telling: asyncio.Task[None] | None = None
        self._team_polling: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._services.channels.observers.append(lambda _: self._changed.set())
        self._task = background.run("telegram", self._look, 0.0, expected=(StoreUnavailable,))
        if self._team is not None:
            tell = self._services.leases.guarding("notices of the team", self._team.tell)
            self._telling = background.run("notices of the team", tell, TELL_EVERY_S, expected=(StoreUnavailable,))

    async def _look(self) -> None:
        """Compare the pollers with the channels, then wait for a change."""
        self._changed.clear()
        try:
            await self._adjust()
        except Exception:
            await self._wait_for_change()
            raise
        await self._wait_for_change()

    async def _wait_for_change(self) -> None:
        try:
            async with asyncio.timeout(LOOK_EVERY_S):
                await self._changed.wait()
        except TimeoutError:
            pass

    async def _adjust(self) -> None:
        active = await channel_secrets.active(self._services, TELEGRAM)
        # One poller for each token over all processes.
        wanted = {one.channel.id: one for one in active if await self._services.leases.hold(f"telegram {one.channel.identity}")}
        for identifier, polling in list(self._running.items()):
            if identifier not in wanted or wanted[identifier].secrets["token"] != polling.token:
                await self._end(identifier)
        for identifier, channel in wanted.items():
            if identifier not in self._running:
                token = channel.secrets["token"]
                client = TelegramClient(self._services.egress, self._services.config.channels.telegram_api_url, token)
                of_team = self._team.take if self._team is not None and self._team.token == token else None
                poller = TelegramPoller(self._services, channel, client, of_team)
                self._running[identifier] = _Polling(token, client, background.run("telegram poller", poller.run, FAULT_PAUSE_S))

        await self._adjust_team({one.secrets["token"] for one in active})

    async def _adjust_team(self, polled: set[str]) -> None:
        """Poll the team's group, unless its bot has a channel. Where that is paused, its visitors' messages stay at Telegram."""
        if self._team is None:
            return
        identity = telegram_identity(self._team.token) or ""
        is_channel = self._team.token in polled or await channel_secrets.is_set(self._services, TELEGRAM, identity)
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
        """End all pollers. What was not confirmed comes again after the next start."""
        await background.cancel(*(task for task in (self._task, self._telling, self._team_polling) if task is not None))
        for identifier in list(self._running):
            await self._end(identifier)
        if self._team is not None:
            await self._team.close()
