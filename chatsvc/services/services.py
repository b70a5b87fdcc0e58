"""Container of the parts of one process with which use-cases work.

Many parts are made when first used. The service and a command have one each. `Turns` limits expensive work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from chatsvc import background
from chatsvc.domain.errors import CommandError
from chatsvc.domain.limiter import Limiter, RateLimiter
from chatsvc.domain.paging import Cursors
from chatsvc.domain.plans import with_webhooks
from chatsvc.domain.tallies import Tallies
from chatsvc.domain.times import now_ms
from chatsvc.outbound.egress import Egress
from chatsvc.services.conversations.conversation_events import ConversationEvents
from chatsvc.services.messages.conversation_locks import ConversationLocks
from chatsvc.services.operations.nodes import Leases

if TYPE_CHECKING:
    from chatsvc.config import Config
    from chatsvc.domain.models import ServiceNode
    from chatsvc.engines import Engine
    from chatsvc.outbound.website import WebsiteClient
    from chatsvc.services.accounts.account_cache import AccountCache
    from chatsvc.services.accounts.channel_secrets import OpenChannels
    from chatsvc.services.knowledge.knowledge_cache import KnowledgeCache
    from chatsvc.services.knowledge.previews import Computations
    from chatsvc.services.knowledge.site_reading import SiteReadings
    from chatsvc.services.messages.channel_answers import ChannelAnswers
    from chatsvc.services.messages.outbox import Outbox
    from chatsvc.services.messages.trials import Trials
    from chatsvc.services.messages.whatsapp import WhatsAppInbox
    from chatsvc.services.operations.doctor import ExaminationCache
    from chatsvc.services.operations.mailer import Mailer
    from chatsvc.store.database import Database
    from chatsvc.store.master_key import MasterKey
    from chatsvc.webhooks.courier import Courier
    from chatsvc.webhooks.dispatcher import Dispatcher

T = TypeVar("T")
BIG_READS = 4  # of long histories at a time, each of which takes megabytes
FILE_READERS = 2  # processes that read uploaded files at a time
HASHES = 2  # passwords hashed at a time, 19 MiB each


class Turns:
    """Slots for expensive work, with the number of callers that hold or await one."""

    def __init__(self, slots: int) -> None:
        self.slots = asyncio.Semaphore(slots)
        self.waiting = 0


def _part(place: str, *given: str) -> Any:
    """Make the property of a part by its "module:class", which is made with attributes of the services, or with `self`."""

    def made(services: Services) -> Any:
        module, _, name = place.partition(":")
        return getattr(import_module(module), name)(*(services if one == "self" else getattr(services, one) for one in given))

    return cached_property(made)


class LazyParts:
    """Parts that are made when first used: few commands need any, and several take long to import."""

    answers: cached_property[ChannelAnswers] = _part("chatsvc.services.messages.channel_answers:ChannelAnswers", "self")
    channels: cached_property[OpenChannels] = _part("chatsvc.services.accounts.channel_secrets:OpenChannels", "db", "secret")
    computations: cached_property[Computations] = _part("chatsvc.services.knowledge.previews:Computations")
    examinations: cached_property[ExaminationCache] = _part("chatsvc.services.operations.doctor:ExaminationCache")
    knowledge: cached_property[KnowledgeCache] = _part("chatsvc.services.knowledge.knowledge_cache:KnowledgeCache", "db")
    site_readings: cached_property[SiteReadings] = _part("chatsvc.services.knowledge.site_reading:SiteReadings", "self")
    trials: cached_property[Trials] = _part("chatsvc.services.messages.trials:Trials")
    whatsapp: cached_property[WhatsAppInbox] = _part("chatsvc.services.messages.whatsapp:WhatsAppInbox", "self")


@dataclass
class Services(LazyParts):
    """The parts of one process.

    A command without a running service has no engines and no node. own_port: the bound port, which webhooks must not reach; 0: the
    configured one. node: this process as others see it.
    """

    config: Config
    db: Database
    secret: MasterKey
    account_cache: AccountCache
    clock: Callable[[], int] = now_ms
    own_port: Callable[[], int] = int
    engines: dict[str, Engine] = field(default_factory=dict)
    conversation_locks: ConversationLocks = field(default_factory=ConversationLocks)
    leases: Leases = field(default_factory=Leases)
    events: ConversationEvents = field(default_factory=ConversationEvents)
    big_reads: asyncio.Semaphore = field(default_factory=partial(asyncio.Semaphore, BIG_READS))
    file_readers: asyncio.Semaphore = field(default_factory=partial(asyncio.Semaphore, FILE_READERS))
    tallies: Tallies = field(default_factory=Tallies)
    hashing: Turns = field(default_factory=partial(Turns, HASHES))
    node: ServiceNode | None = None
    # Makes a limiter of requests from its name and the limit of a minute.
    new_limiter: Callable[[str, int], RateLimiter] = lambda _, limit: Limiter(limit)
    started_at: int = field(init=False)
    _cursors: tuple[bytes, Cursors] | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        """Note the time of the start."""
        self.started_at = self.clock()

    @property
    def cursors(self) -> Cursors:
        """The cursors under the master key in force."""
        if self._cursors is None or self._cursors[0] is not self.secret.in_force:
            self._cursors = self.secret.in_force, Cursors(self.secret("cursors"))
        return self._cursors[1]

    @property
    def sends_mail(self) -> bool:
        return self.config.notices.smtp is not None

    @cached_property
    def mailer(self) -> Mailer | None:
        """Sender of mails; None where mail is not set up."""
        if self.config.notices.smtp is None:
            return None

        from chatsvc.services.operations.mailer import Mailer

        return Mailer(self, self.config.notices.smtp)

    @cached_property
    def outbox(self) -> Outbox:
        """Sender of messages by the messaging platforms. Built at first use: an HTTP client takes long to import."""
        from chatsvc.services.messages.outbox import Outbox
        from chatsvc.services.messages.platform_senders import SENDERS

        return Outbox(self, SENDERS)

    @cached_property
    def egress(self) -> Egress:
        return Egress(allowed=self.config.egress == "all")

    @cached_property
    def courier(self) -> Courier:
        """Courier of webhooks. Built at first use: few commands send, and an HTTP client takes long to import."""
        from chatsvc.webhooks.courier import make_courier

        return make_courier(self.config, self.secret, self.own_port() or self.config.server.port, self.egress)

    @cached_property
    def website(self) -> WebsiteClient:
        """Client that reads websites. Built at first use as well; raises CommandError where `website.ca_file` cannot be used."""
        from chatsvc.outbound.guarded import Guard
        from chatsvc.outbound.tls import client_context
        from chatsvc.outbound.website import WebsiteClient
        from chatsvc.webhooks.courier import own_of

        settings = self.config.website
        try:
            tls = client_context(settings.ca_file)
        except OSError as fault:
            raise CommandError(f"website.ca_file {settings.ca_file} cannot be used: {fault.strerror or fault}") from None
        own = own_of(self.config, self.own_port() or self.config.server.port)
        return WebsiteClient(Guard(own, settings.allowed_networks, plain=True), self.egress, tls)

    @cached_property
    def dispatcher(self) -> Dispatcher:
        """Dispatcher of webhook deliveries, built at first use as well."""
        from chatsvc.webhooks.dispatcher import Dispatcher

        plans = with_webhooks(self.config.plans)
        return Dispatcher(self.db, self.courier.deliver, self.courier.sign, plans, self.clock, sends_mail=self.sends_mail)

    async def offload(self, work: Callable[[], T]) -> T:
        """Run long work in a thread, so that it does not block the event loop."""
        return await background.in_daemon_thread(work)

    async def close(self) -> None:
        """End computations, an examination and deliveries in flight and close connections, where there are any."""
        if "examinations" in vars(self) and self.examinations.task:
            await background.cancel(self.examinations.task)
        for name in ("computations", "site_readings", "whatsapp", "outbox", "mailer", "dispatcher", "courier"):
            part = vars(self).get(name)
            if part is not None:
                await part.close()
