"""Processes over one store: names this one, lists the living, and writes heartbeats."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from chatsvc import __version__, background
from chatsvc.config import Server
from chatsvc.domain.actors import Caller
from chatsvc.domain.nodes import ServiceNode
from chatsvc.store import nodes
from chatsvc.store.database import StoreUnavailable, Transactions
from chatsvc.usecases.services import Services


def new_node(server: Server, state: str, now: int) -> ServiceNode:
    """Name this process after its machine."""
    host = f"[{server.host}]" if ":" in server.host else server.host
    listen = f"unix:{server.socket}" if server.socket else f"{host}:{server.port}"
    return ServiceNode(f"{os.uname().nodename}-{secrets.token_hex(3)}", state, now, listen, __version__)


async def list_all(services: Services, caller: Caller) -> list[ServiceNode]:
    """List the processes that live."""
    del caller
    return await find_all(services)


async def find_all(services: Services) -> list[ServiceNode]:
    """Find the processes that live."""
    if services.config.store is None:
        return [services.node] if services.node else []
    return await nodes.living(services.db)


class NodeBeat:
    """Notes every few seconds that this process works."""

    def __init__(self, db: Transactions, node: ServiceNode) -> None:
        self._db, self._node = db, node
        self._task = background.run("list of processes", self._beat, nodes.BEAT_S)

    async def _beat(self) -> None:
        # An outage is reported by those who need the store.
        with suppress(StoreUnavailable):
            await nodes.beat(self._db, self._node, alone=True)

    async def stop(self) -> None:
        """Remove this process from the list."""
        await background.cancel(self._task)
        with suppress(StoreUnavailable):
            await nodes.remove(self._db, self._node.id)


class SharedNodeBeat:
    """Notes that one of several processes works, and removes those that have died.

    begin_common_work: called once this process is the one for the work of which an installation has one. take_over: called with the
    processes that it has removed since.
    """

    def __init__(
        self,
        db: Transactions,
        node: ServiceNode,
        begin_common_work: Callable[[], Awaitable[None]],
        take_over: Callable[[list[str]], Awaitable[None]],
    ) -> None:
        self._db, self._node = db, node
        self._begin_common_work, self._take_over = begin_common_work, take_over
        self._leads = False
        self._dead: list[str] = []
        self._last: float | None = None
        self._steady_since = 0.0
        self._task = background.run("list of processes", self._beat, nodes.BEAT_S)

    async def _beat(self) -> None:
        # An outage is reported by those who need the store.
        with suppress(StoreUnavailable):
            beat = await nodes.beat_among(self._db, self._node, removes=self._may_remove())
            self._last = time.monotonic()
            self._dead += beat.dead
            if beat.leads and not self._leads:
                await self._begin_common_work()
                self._leads, self._dead = True, []
            if self._leads and self._dead:
                await self._take_over(self._dead)
                self._dead = []

    def _may_remove(self) -> bool:
        """Report whether every process that lives could note so. After an outage all have been silent."""
        now, most_s = time.monotonic(), nodes.DEAD_AFTER_MS / 1000
        if self._last is None or now - self._last > most_s:
            self._steady_since = now
        return now - self._steady_since > most_s

    async def stop(self) -> None:
        """Remove this process from the list."""
        await background.cancel(self._task)
        with suppress(StoreUnavailable):
            await nodes.leave(self._db, self._node.id)
