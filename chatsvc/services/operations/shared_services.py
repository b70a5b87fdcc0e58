"""Presence of one of several processes over one store. It takes over the work of processes that have died."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from chatsvc import background
from chatsvc.services.messages import channel_messages
from chatsvc.services.messages.outbox import Outbox
from chatsvc.services.operations.mailer import Mailer
from chatsvc.services.operations.nodes import NodeBeat, Presence
from chatsvc.services.services import Services
from chatsvc.store import facts
from chatsvc.store.database import OtherMasterKey

if TYPE_CHECKING:
    from chatsvc.domain.models import ServiceNode

log = logging.getLogger(__name__)

# Work that another process has left, and of which no notice came.
LOOK_EVERY_S = 5.0
# A turn that is unfinished for longer than its deadline and this has been left.
LEFT_S = 10.0


class SharedPresence(Presence):
    """Presence of one of several processes: it renews its lease, receives notices, and takes over the work of dead processes."""

    def __init__(self, services: Services, node: ServiceNode, replaced: asyncio.Event) -> None:
        """Begin to renew the lease of this process. `replaced` is set when this process has to end."""
        self._services, self._replaced = services, replaced
        self._beat = NodeBeat(services.db, node)
        self._tasks: list[asyncio.Task[None]] = []

    async def serve(self, node: ServiceNode) -> None:
        services = self._services
        self._beat.take_over = self._take_over
        await self._beat.show(node)
        services.events.listen()
        services.conversation_locks.listen()
        # Nothing depends on a notice or on the end of a process being noticed.
        self._tasks += [
            background.run("work of other processes", self._look, LOOK_EVERY_S),
            background.run("master key of the store", self._check_key, LOOK_EVERY_S),
        ]

    async def _take_over(self) -> None:
        """Take over the work of dead processes: mails, messages, webhooks, polls of platforms, and messages without a reply."""
        services = self._services
        for changed in services.channels.observers:
            changed("")
        await self._look()
        self._tasks.append(channel_messages.settle_in_background(services))

    async def _look(self) -> None:
        services = self._services
        await services.webhooks.interrupt()
        await services.part(Outbox).interrupt()
        if services.sends_mail:
            await services.part(Mailer).interrupt()
        await channel_messages.settle_all(services, at_least_s=services.config.anthropic.timeout_s + LEFT_S)

    async def _check_key(self) -> None:
        """End this process if another process has changed the master key of the store."""
        try:
            self._services.secret.of(await facts.check(self._services.db))
        except OtherMasterKey as fault:
            log.error("%s", fault)
            self._replaced.set()

    async def stop(self) -> None:
        await background.cancel(*self._tasks)
        await self._beat.stop()
