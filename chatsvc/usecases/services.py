"""Parts of a running chatsvc that use-cases work with; built by the wiring, passed to each call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from chatsvc.domain.tallies import Tallies
from chatsvc.domain.times import now_ms
from chatsvc.outbound.egress import Egress
from chatsvc.usecases.no_locks import NoLocks

if TYPE_CHECKING:
    import asyncio

    from chatsvc.config import Config
    from chatsvc.domain.cursors import Cursors
    from chatsvc.engines import Engine
    from chatsvc.store.database import Database
    from chatsvc.store.master_key import MasterKey
    from chatsvc.usecases.account_cache import AccountCache
    from chatsvc.usecases.conversation_locks import ConversationLocks
    from chatsvc.usecases.knowledge_loader import KnowledgeLoader
    from chatsvc.webhooks.courier import Courier
    from chatsvc.webhooks.dispatcher import Dispatcher

T = TypeVar("T")
BIG_READS = 4


async def run_here(work: Callable[[], Any]) -> Any:
    """Run long work in the caller's thread; for a process that serves nobody else."""
    return work()


@dataclass
class Services:
    """The parts of one process.

    A command without a running service answers no messages: it has no engines, and its locks are never held.
    """

    config: Config
    db: Database
    secret: MasterKey
    account_cache: AccountCache
    knowledge: KnowledgeLoader
    clock: Callable[[], int] = now_ms
    engines: dict[str, Engine] = field(default_factory=dict)
    conversation_locks: ConversationLocks | NoLocks = field(default_factory=NoLocks)
    courier: Courier | None = None
    dispatcher: Dispatcher | None = None
    egress: Egress = field(default_factory=Egress)
    tallies: Tallies = field(default_factory=Tallies)
    run_long: Callable[[Callable[[], Any]], Awaitable[Any]] = run_here
    _cursors: tuple[bytes, Cursors] | None = field(default=None, init=False, repr=False)

    @property
    def cursors(self) -> Cursors:
        """The cursors under the master key in force; imported here, since few commands page with them."""
        if self._cursors is None or self._cursors[0] is not self.secret.in_force:
            from chatsvc.domain.cursors import Cursors

            self._cursors = self.secret.in_force, Cursors(self.secret("cursors"))
        return self._cursors[1]

    @cached_property
    def big_reads(self) -> asyncio.Semaphore:
        """Semaphore for reads of long histories, each of which takes megabytes."""
        import asyncio

        return asyncio.Semaphore(BIG_READS)

    async def offload(self, work: Callable[[], T]) -> T:
        """Run long work where it delays nobody: in a thread, if this process serves others meanwhile."""
        result: T = await self.run_long(work)
        return result
