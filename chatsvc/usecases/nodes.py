"""Processes over one store: how they are named, that they live, and who works."""

from __future__ import annotations

import os
import secrets
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
