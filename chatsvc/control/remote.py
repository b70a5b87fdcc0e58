"""Commands that other processes hand over: performed here, in the process that works."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import IO

from chatsvc import background
from chatsvc.control.alone import detached_file
from chatsvc.control.answering import answer, refused
from chatsvc.control.sealed_commands import SealedCommand
from chatsvc.domain import refusals
from chatsvc.store import remote_commands
from chatsvc.store.database import StoreUnavailable
from chatsvc.usecases.services import Services
from chatsvc.webhooks.sealing import Unsealable

log = logging.getLogger(__name__)

POLL_S = 0.25
GRACE_S = 5.0
PART = 1 << 20
MOST_PARTS = 64


class RemoteCommands:
    """Takes the commands that wait in the store, and answers them."""

    def __init__(self, services: Services, node: str) -> None:
        self._services, self._node = services, node
        self._under_way: set[asyncio.Task[None]] = set()
        self._task = background.run("commands of other processes", self._take, POLL_S)

    async def _take(self) -> None:
        # An outage is reported by those who need the store.
        with suppress(StoreUnavailable):
            for command, request in await remote_commands.take(self._services.db, self._node):
                task = background.start(f"command {command}", self._perform(command, request))
                self._under_way.add(task)
                task.add_done_callback(self._under_way.discard)

    async def _perform(self, command_id: str, request: bytes) -> None:
        try:
            command, caller, raw = SealedCommand.opened(command_id, self._services.secret, request)
        except Unsealable as fault:
            log.error("a command of another process is not performed: %s", fault)
            return
        made = await answer(self._services, caller, raw)
        file, parts = detached_file(made.get("result")), 0
        if file is not None:
            with file:
                parts = await self._put(command, file)
        if parts > MOST_PARTS:
            made, parts = refused(refusals.remote_file_too_large(node=self._node)), 0
        await remote_commands.settle(self._services.db, command.id, command.seal_answer(made), parts)

    async def _put(self, command: SealedCommand, file: IO[bytes]) -> int:
        """Store a file in parts. Returns their number, more than MOST_PARTS if it is too large."""
        number = 0
        while piece := await asyncio.to_thread(file.read, PART):
            number += 1
            if number > MOST_PARTS:
                break
            await remote_commands.put_file_part(self._services.db, command.id, number - 1, command.seal_part(number - 1, piece))
        return number

    async def stop(self) -> None:
        """Take no more commands, and let those under way end."""
        await background.cancel(self._task)
        if self._under_way:
            await asyncio.wait(set(self._under_way), timeout=GRACE_S)
