"""Container of the parts of a process that use-cases need.

Many parts are made when first used. A running service has one container, and so has each command.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

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
    from pathlib import Path
    from ssl import SSLContext

    from chatsvc.config import Config
    from chatsvc.delivery.webhooks import WebhookQueue
    from chatsvc.domain.addresses import Own
    from chatsvc.domain.channels import Platform
    from chatsvc.domain.models import ServiceNode
    from chatsvc.engines import Engine
    from chatsvc.outbound.website import WebsiteClient
    from chatsvc.services.accounts.account_cache import AccountCache
    from chatsvc.services.accounts.channel_secrets import OpenChannels
    from chatsvc.services.knowledge.knowledge_cache import KnowledgeCache
    from chatsvc.store.database import Database
    from chatsvc.store.master_key import MasterKey


T = TypeVar("T")
BIG_READS = 4  # of long histories at a time, each of which takes megabytes
FILE_READERS = 2  # processes that read uploaded files at a time, one for each account
SITE_READERS = 2  # processes that read the files of websites at a time, one for each account
THREADS, SHARE = 8, 2  # that do long work at a time, and those of one account among them
HASHES = 2  # passwords hashed at a time, 19 MiB each


@dataclass
class Services:
    """The parts of one process. A command without a running service has no engines and no node.

    `own_port` returns the bound port, which webhooks must not reach, or 0 for the configured port. `node` is this process as others see it.
    `platforms` are the messaging platforms by name.
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
    file_readers: background.WorkPool = field(default_factory=partial(background.WorkPool, FILE_READERS, 1))
    site_readers: background.WorkPool = field(default_factory=partial(background.WorkPool, SITE_READERS, 1))
    threads: background.WorkPool = field(default_factory=partial(background.WorkPool, THREADS, SHARE))
    tallies: Tallies = field(init=False)
    hashing: background.WorkPool = field(default_factory=partial(background.WorkPool, HASHES, HASHES))
    node: ServiceNode | None = None
    platforms: Mapping[str, Platform] = field(default_factory=dict)
    # Makes a limiter of requests from its name and the limit of a minute.
    new_limiter: Callable[[str, int], RateLimiter] = lambda _, limit: Limiter(limit)
    started_at: int = field(init=False)
    _cursors: tuple[bytes, Cursors] | None = field(default=None, init=False, repr=False)
    _parts: dict[Callable[[Services], Any], Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Set the time of the start, and create the counters."""
        self.started_at, self.tallies = self.clock(), Tallies(self.config.limits.max_in_flight)

    @property
    def cursors(self) -> Cursors:
        """Return the reader and writer of page cursors, with a key from the current master key."""
        if self._cursors is None or self._cursors[0] is not self.secret.in_force:
            self._cursors = self.secret.in_force, Cursors(self.secret("cursors"))
        return self._cursors[1]

    @property
    def sends_mail(self) -> bool:
        return self.config.notices.smtp is not None

    def part(self, make: Callable[[Services], T]) -> T:
        """Return the part of this process that `make` creates. It is created at its first use, since few commands need it."""
        if make not in self._parts:
            self._parts[make] = make(self)
        return cast("T", self._parts[make])

    @cached_property
    def channels(self) -> OpenChannels:
        from chatsvc.services.accounts.channel_secrets import OpenChannels

        return OpenChannels(self.db, self.secret, self.clock)

    @cached_property
    def knowledge(self) -> KnowledgeCache:
        from chatsvc.services.knowledge.knowledge_cache import KnowledgeCache

        return KnowledgeCache(self.db)

    @cached_property
    def egress(self) -> Egress:
        return Egress(allowed=self.config.egress == "all")

    @cached_property
    def webhooks(self) -> WebhookQueue:
        """Make the queue of webhook deliveries when it is first used, since an HTTP client takes long to import."""
        from chatsvc.delivery.webhooks import WebhookQueue
        from chatsvc.outbound.client import Guard
        from chatsvc.outbound.webhook import WebhookSender

        settings = self.config.webhooks
        guard = Guard(self._own_addresses(), settings.allowed_networks)
        tls = _client_context("webhooks.ca_file", settings.ca_file)
        sender = WebhookSender(guard, self.egress, timeout_s=settings.timeout_s, tls=tls)
        plans = with_webhooks(self.config.plans)
        return WebhookQueue(self.db, sender, self.secret, plans, self.clock, sends_mail=self.sends_mail)

    @cached_property
    def website(self) -> WebsiteClient:
        """Make the client that reads websites when it is first used; raises CommandError if `website.ca_file` cannot be used."""
        from chatsvc.outbound.client import Guard
        from chatsvc.outbound.website import WebsiteClient

        settings = self.config.website
        guard = Guard(self._own_addresses(), settings.allowed_networks, plain=True)
        return WebsiteClient(guard, self.egress, _client_context("website.ca_file", settings.ca_file))

    def _own_addresses(self) -> Own:
        """Return the addresses of the service itself, which URLs from customers must not reach."""
        from chatsvc.outbound.resolver import own_addresses

        server = self.config.server
        listeners = [] if server.socket else [(server.host, self.own_port() or server.port)]
        listeners += [address for address in (server.http, self.config.metrics.listen) if address]
        return own_addresses(listeners, server.public_url)

    async def offload(self, work: Callable[[], T]) -> T:
        """Run long work in a thread. The account that the call is about may use SHARE threads at a time."""
        return await self.threads.run(work)

    async def close(self) -> None:
        """Stop all parts and close their connections. Parts that were made last are closed first."""
        for part in reversed(self._parts.values()):
            if hasattr(part, "close"):
                await part.close()
        if "webhooks" in vars(self):
            await self.webhooks.close()


def _client_context(setting: str, ca_file: Path | None) -> SSLContext:
    from chatsvc.outbound.egress import client_context

    try:
        return client_context(ca_file)
    except OSError as fault:
        raise CommandError(f"{setting} {ca_file} cannot be used: {fault.strerror or fault}") from None
