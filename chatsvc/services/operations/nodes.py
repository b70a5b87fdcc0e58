"""Processes that share a store: names and lists them, renews their leases, and takes over the work of dead processes."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from chatsvc import __version__, background
from chatsvc.config.model import Server
from chatsvc.domain.actors import Caller
from chatsvc.domain.models import ServiceNode
from chatsvc.store import nodes as stored
from chatsvc.store.database import Database, StoreUnavailable

if TYPE_CHECKING:
    from chatsvc.services.services import Services


def new_node(now: int) -> ServiceNode:
    """Return the record of this process. Its new id begins with the machine's name. It has no address yet."""
    return ServiceNode(f"{os.uname().nodename}-{secrets.token_hex(3)}", now, "", __version__)


def address(server: Server, port: int) -> str:
    """Return the address on which a process listens, as text. `port` is the bound port."""
    host = f"[{server.host}]" if ":" in server.host else server.host
    return f"unix:{server.socket}" if server.socket else f"{host}:{port}"


async def list_all(services: Services, _: Caller) -> list[ServiceNode]:
    """List the running processes that share the store."""
    return await find_all(services)


async def find_all(services: Services) -> list[ServiceNode]:
    """Return the running processes. Unlike `list_all` it needs no caller, so the service itself can call it."""
    if services.db.node is None:
        return [services.node] if services.node else []
    return await stored.living(services.db)


class Presence:
    """Presence of a process, by which other processes see it. This base class is for a single process, and does nothing."""

    async def serve(self, node: ServiceNode) -> None:
        """Begin to take over the work of processes that die. `node` is this process, with the address on which it listens."""

    async def stop(self) -> None:
        """Stop showing this process to other processes."""


class NodeBeat:
    """Task that renews the lease of one of several processes.

    `take_over` is called after dead processes were removed. If `take_over` is None, no process is removed.
    """

    def __init__(self, db: Database, node: ServiceNode) -> None:
        self.node = node
        self.take_over: Callable[[], Awaitable[None]] | None = None
        self._db = db
        self._left_something = False
        self._last: float | None = None
        self._steady_since = 0.0
        self._task = background.run("list of processes", self._beat, stored.BEAT_S)

    async def show(self, node: ServiceNode) -> None:
        """Publish the address on which this process listens, for the other processes."""
        self.node = node
        await self._beat()

    async def _beat(self) -> None:
        # An outage is reported by those who need the store.
        with suppress(StoreUnavailable):
            dead = await stored.beat(self._db, self.node, removes=self._may_remove())
            self._last = time.monotonic()
            self._left_something |= bool(dead)
            if self._left_something and self.take_over is not None:
                await self.take_over()
                self._left_something = False

    def _may_remove(self) -> bool:
        """Return whether dead processes may be removed. After an outage, living processes first get time to renew their leases."""
        now, most_s = time.monotonic(), stored.DEAD_AFTER_MS / 1000
        if self._last is None or now - self._last > most_s:
            self._steady_since = now
        return self.take_over is not None and now - self._steady_since > most_s

    async def stop(self) -> None:
        """Stop renewing the lease."""
        await background.cancel(self._task)


class Leases:
    """Named leases, each held by one process at a time. A single process holds all leases. A process that ends frees its leases."""

    def __init__(self, db: Database | None = None) -> None:
        self._db = db

    async def hold(self, name: str) -> bool:
        """Take a free lease, or renew this process's own lease. Return False if another process holds it. Raises StoreUnavailable."""
        return self._db is None or self._db.node is None or await stored.hold_lease(self._db, name, self._db.node)

    def guarding(self, name: str, work: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[None]]:
        """Return a function that calls `work` only if this process holds the lease `name`."""

        async def guarded() -> None:
            if await self.hold(name):
                await work()

        return guarded
