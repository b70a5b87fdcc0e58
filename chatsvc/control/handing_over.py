"""Handing a command over to the process that works, through the store."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from chatsvc.control.sealed_commands import SealedCommand
from chatsvc.domain import refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.nodes import WORKING
from chatsvc.store import nodes, remote_commands
from chatsvc.store.database import StoreSession, StoreUnavailable
from chatsvc.store.master_key import MasterKey
from chatsvc.usecases.backups import OUTGOING

POLL_S = 0.1
TAKEN_WITHIN_S = 5.0
LIVES_EVERY_S = 2.0


def _never() -> bool:
    return False


async def hand_over(
    session: StoreSession,
    secret: MasterKey,
    caller: Caller,
    raw: bytes,
    folder: Path,
    *,
    ends: Callable[[], bool] = _never,
) -> dict[str, Any]:
    """Hand a request over and return the answer. A file becomes a draft in `folder`, named by the answer.

    Raises `standing_by` where nobody takes it in time or `ends` says so, and `worker_lost`.
    """
    command = SealedCommand.new(str(uuid.uuid4()), secret)
    await remote_commands.post(session, command.id, command.request(caller, os.uname().nodename, raw))
    try:
        found = await _wait(session, command.id, ends)
        answer = command.answer(found.answer or b"")
        if found.parts:
            answer["result"]["draft"] = str(await _fetch(session, command, found.parts, folder))
        return answer
    finally:
        with suppress(StoreUnavailable):
            await remote_commands.remove(session, command.id)


async def _wait(session: StoreSession, command: str, ends: Callable[[], bool]) -> remote_commands.RemoteCommand:
    """Wait for the answer for as long as the process that performs the command lives."""
    deadline, next_look = time.monotonic() + TAKEN_WITHIN_S, time.monotonic() + LIVES_EVERY_S
    while True:
        await asyncio.sleep(POLL_S)
        found = await remote_commands.find(session, command)
        if found is None:
            raise refusals.worker_lost(node="?")
        if found.answer is not None:
            return found
        if found.taken_by is None:
            if (ends() or time.monotonic() > deadline) and await remote_commands.withdraw(session, command):
                working = [node.id for node in await nodes.living(session) if node.state == WORKING]
                raise refusals.standing_by(node=", ".join(working) or "?")
        elif time.monotonic() > next_look:
            next_look = time.monotonic() + LIVES_EVERY_S
            if found.taken_by not in [node.id for node in await nodes.living(session)]:
                raise refusals.worker_lost(node=found.taken_by)


async def _fetch(session: StoreSession, command: SealedCommand, parts: int, folder: Path) -> Path:
    """Write a file's parts into a draft."""
    descriptor, name = tempfile.mkstemp(prefix=OUTGOING, dir=folder)
    with os.fdopen(descriptor, "wb") as draft:
        for number in range(parts):
            draft.write(command.part(number, await remote_commands.file_part(session, command.id, number)))
    return Path(name)
