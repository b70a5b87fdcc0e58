"""Standing by: a process waits, without listening, until no other one works on the store."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from chatsvc.control.answering import refused
from chatsvc.control.handing_over import hand_over
from chatsvc.control.server import ControlServer
from chatsvc.domain import refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.nodes import STANDBY, WORKING, ServiceNode
from chatsvc.domain.refusals import Refused
from chatsvc.domain.times import without_fraction
from chatsvc.store import nodes
from chatsvc.store.database import OtherMasterKey, StoreFault, StoreSession, StoreUnavailable
from chatsvc.store.master_key import MasterKey

log = logging.getLogger(__name__)

POLL_S = 0.5
# A process whose session broke, as when PostgreSQL restarts, gets the lock again before others do.
GRACE_S = 5.0


class StandbyEnded(Exception):
    """The process was told to end while it stood by."""


async def stand_by(session: StoreSession, secret: MasterKey, node: ServiceNode, folder: Path, stopping: asyncio.Event) -> None:
    """Wait until no other process works; hand commands to it meanwhile. Raises StandbyEnded, SchemaTooNew and OtherMasterKey."""
    standby = Standby(session, node)
    ended = False

    async def answer(caller: Caller, raw: bytes) -> dict[str, Any]:
        try:
            return await hand_over(session, secret, caller, raw, folder, ends=lambda: ended)
        except Refused as refusal:
            return refused(refusal)
        except StoreUnavailable as fault:
            return refused(refusals.store_unavailable(fault=str(fault)))

    control = ControlServer(answer, folder)
    try:
        await control.start()
        await standby.wait(stopping)
    finally:
        # What nobody has taken is given back to the callers, who try again.
        ended = True
        await control.stop()
        await session.close()


class Standby:
    """A process that waits for the lock of the worker."""

    def __init__(self, session: StoreSession, node: ServiceNode) -> None:
        self._session = session
        self._node = node._replace(state=STANDBY)
        self._worker: ServiceNode | None = None
        self._fault: str | None = None
        self._next_beat = 0.0
        self._free_since: float | None = None

    async def wait(self, stopping: asyncio.Event) -> None:
        """Return once the store is free. Raises StandbyEnded, SchemaTooNew and OtherMasterKey."""
        try:
            while not await self._is_free():
                with suppress(TimeoutError):
                    await asyncio.wait_for(stopping.wait(), POLL_S)
                if stopping.is_set():
                    raise StandbyEnded
        except BaseException:
            with suppress(StoreUnavailable, StoreFault):
                await nodes.remove(self._session, self._node.id)
            raise

    async def _is_free(self) -> bool:
        """Report whether the store is free for this process. An outage is waited out."""
        try:
            free = await self._session.is_free()
            if time.monotonic() >= self._next_beat:
                await nodes.beat(self._session, self._node)
                self._next_beat = time.monotonic() + nodes.BEAT_S
            working = [node for node in await nodes.living(self._session) if node.state == WORKING]
        except OtherMasterKey:
            raise
        except StoreUnavailable as fault:
            self._note(str(fault))
            self._free_since = None
            return False
        except StoreFault:
            # The process that works is about to make the tables.
            return False
        self._note(None)
        self._show(working[0] if working else None)
        if not free:
            self._free_since = None
            return False
        self._free_since = self._free_since or time.monotonic()
        return not working or time.monotonic() - self._free_since > GRACE_S

    def _note(self, fault: str | None) -> None:
        if fault and not self._fault:
            log.error("standing by, and the store cannot answer: %s", fault)
        elif self._fault and not fault:
            log.info("standing by: the store answers again")
        self._fault = fault

    def _show(self, worker: ServiceNode | None) -> None:
        if worker is not None and (self._worker is None or worker.id != self._worker.id):
            log.info("standing by: %s works since %s and listens on %s", worker.id, without_fraction(worker.since), worker.listen)
            self._worker = worker
