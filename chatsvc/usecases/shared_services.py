"""Parts of one of several processes: caches, locks, leases and news over one store."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self

from chatsvc import background
from chatsvc.store import facts
from chatsvc.store.database import Database, OtherMasterKey, ProcessNotices, StoreUnavailable, Unit, Versioned
from chatsvc.usecases import unfinished_turns
from chatsvc.usecases.leases import SharedLeases
from chatsvc.usecases.nodes import NodeBeat, Presence
from chatsvc.usecases.services import Services
from chatsvc.usecases.shared_caches import SharedAccounts, SharedChannels, SharedKnowledge
from chatsvc.usecases.shared_events import SharedEvents
from chatsvc.usecases.shared_turns import SharedTurns

if TYPE_CHECKING:
    from chatsvc.config import Config
    from chatsvc.domain.nodes import ServiceNode
    from chatsvc.store.master_key import MasterKey
    from chatsvc.usecases.channel_secrets import ChannelCache
    from chatsvc.usecases.conversation_events import ConversationEvents
    from chatsvc.usecases.knowledge_cache import KnowledgeCache

log = logging.getLogger(__name__)

# Work that another process has left, and of which no notice came.
LOOK_EVERY_S = 5.0
# A turn that is unfinished for longer than its deadline and this has been left.
LEFT_S = 10.0


class SharedDatabase(Database, Protocol):
    """A Database of several processes. `notices` go between them; `replaced` is set where this one has to end."""

    replaced: asyncio.Event

    @property
    def notices(self) -> ProcessNotices: ...

    async def versioned(self, account_id: str, unit: Unit[Any]) -> Versioned:
        """Run a reading unit, with the version of an account on the same snapshot."""
        ...


@dataclass
class SharedServices(Services):
    """Services of one of several processes."""

    shared_db: SharedDatabase = field(init=False)

    @classmethod
    def over(cls, config: Config, db: SharedDatabase, secret: MasterKey, clock: Callable[[], int]) -> Self:
        """Make the parts over a store."""
        made = cls(config, db, secret, SharedAccounts(db, db.versioned), clock)
        made.shared_db = db
        made.conversation_locks = SharedTurns(db, db.notices, clock)
        made.leases = SharedLeases(db, db.node or "")
        return made

    @cached_property
    def knowledge(self) -> KnowledgeCache:
        """See Services.knowledge."""
        return SharedKnowledge(self.db)

    @cached_property
    def channels(self) -> ChannelCache:
        """See Services.channels."""
        return SharedChannels(self.db, self.secret)

    @cached_property
    def events(self) -> ConversationEvents:
        """See Services.events."""
        return SharedEvents(self.shared_db.notices)


class SharedPresence(Presence):
    """Presence of one of several processes: it renews its lease, hears the others, and takes over what they leave."""

    def __init__(self, services: SharedServices, node: ServiceNode) -> None:
        self._services = services
        self._beat = NodeBeat(services.db, node)
        self._tasks: list[asyncio.Task[None]] = []

    async def serve(self, node: ServiceNode) -> None:
        """See Presence.serve."""
        services = self._services
        self._beat.take_over = self._take_over
        await self._beat.show(node)
        for part in (services.events, services.conversation_locks):
            if isinstance(part, SharedEvents | SharedTurns):
                part.listen()
        # Nothing depends on a notice or on the end of a process being noticed.
        self._tasks += [
            background.run("work of other processes", self._look, LOOK_EVERY_S, expected=(StoreUnavailable,)),
            background.run("master key of the store", self._check_key, LOOK_EVERY_S, expected=(StoreUnavailable,)),
        ]

    async def _take_over(self) -> None:
        """Begin with what processes left that have died: mails, messages, webhooks, polls, and turns without a reply."""
        services = self._services
        await services.outbox.interrupt()
        if services.mailer is not None:
            await services.mailer.interrupt()
        for changed in services.channels.observers:
            changed("")
        await self._look()
        self._tasks.append(unfinished_turns.settle_in_background(services))

    async def _look(self) -> None:
        await self._services.dispatcher.start()
        await unfinished_turns.settle_all(self._services, at_least_s=self._services.config.anthropic.timeout_s + LEFT_S)

    async def _check_key(self) -> None:
        """End this process where the store has another master key by now."""
        try:
            self._services.secret.of(await facts.check(self._services.db))
        except OtherMasterKey as fault:
            log.error("%s", fault)
            self._services.shared_db.replaced.set()

    async def stop(self) -> None:
        """See Presence.stop."""
        await background.cancel(*self._tasks)
        await self._beat.stop()
