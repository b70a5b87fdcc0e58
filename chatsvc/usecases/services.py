"""What use-cases work with: built once by the wiring, passed to each call."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

from chatsvc.domain.tallies import Tallies
from chatsvc.domain.times import now_ms
from chatsvc.outbound.egress import Egress

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


@dataclass
class Services:
    """The parts of one running chatsvc; `secret` gives 32 bytes for a purpose.

    The command line without a server has no engines and no locks: it answers nobody,
    and sends nothing but what it was asked to send.
    """

    config: Config
    db: Database
    secret: MasterKey
    account_cache: AccountCache
    knowledge: KnowledgeLoader
    clock: Callable[[], int] = now_ms
    engines: dict[str, Engine] = field(default_factory=dict)
    conversation_locks: ConversationLocks | None = None
    courier: Courier | None = None
    dispatcher: Dispatcher | None = None
    egress: Egress = field(default_factory=Egress)
    tallies: Tallies = field(default_factory=Tallies)
    _cursors: tuple[bytes, Cursors] | None = field(default=None, init=False, repr=False)

    @property
    def cursors(self) -> Cursors:
        """The cursors under the master key now in force; imported where something is paged, which few commands do."""
        if self._cursors is None or self._cursors[0] is not self.secret.in_force:
            from chatsvc.domain.cursors import Cursors

            self._cursors = self.secret.in_force, Cursors(self.secret("cursors"))
        return self._cursors[1]

    @cached_property
    def big_reads(self) -> asyncio.Semaphore:
        """Held while a long history is read: it is megabytes, and a crowd that asks for some must not have them all at once."""
        import asyncio

        return asyncio.Semaphore(BIG_READS)

    async def offload(self, work: Callable[[], T]) -> T:
        """Run long work in a daemon thread; without a server, in the caller's.

        A caller that is cancelled abandons the thread: it does not keep the process from ending, unlike one of an executor.
        """
        if self.conversation_locks is None:
            return work()

        import asyncio
        import threading

        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()

        def settle(result: T | None, fault: BaseException | None) -> None:
            if done.cancelled():
                return
            if fault is None:
                done.set_result(cast("T", result))
            else:
                done.set_exception(fault)

        def run() -> None:
            result, fault = None, None
            try:
                result = work()
            except BaseException as raised:  # noqa: BLE001  # raised again by the caller
                fault = raised
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(settle, result, fault)

        threading.Thread(target=copy_context().run, args=(run,), daemon=True).start()
        return await done
