"""The service's side of the control socket: one operation a connection, JSON in and JSON out.

Whoever may open the 0700 folder may administer.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import stat
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from chatsvc.control.audited import perform
from chatsvc.control.client import SOCKET
from chatsvc.control.operations import Call
from chatsvc.domain.errors import Refused
from chatsvc.store.database import StoreUnavailable
from chatsvc.usecases.services import Services

log = logging.getLogger(__name__)

REQUEST_TIMEOUT_S = 60.0
LISTEN_ON_S = 1.0  # to a command that has connected when the service stops


class ControlServer:
    """Listens in the data folder while the service runs."""

    def __init__(self, services: Services, folder: Path) -> None:
        self._services = services
        self._folder = folder
        self._server: asyncio.Server | None = None
        self._asking: dict[asyncio.Task[None], asyncio.StreamReader] = {}
        self._under_way: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin to listen; what an earlier process left is replaced, for the folder's lock is held."""
        (self._folder / SOCKET).unlink(missing_ok=True)
        descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(f"/proc/self/fd/{descriptor}/{SOCKET}")
        finally:
            os.close(descriptor)
        (self._folder / SOCKET).chmod(stat.S_IRUSR | stat.S_IWUSR)
        self._server = await asyncio.start_unix_server(self._accept, sock=listener)

    async def stop(self) -> None:
        """Stop listening and let the operations under way end."""
        if self._server is not None:
            self._server.close()
            (self._folder / SOCKET).unlink(missing_ok=True)
        if self._asking:
            await asyncio.wait(self._asking, timeout=LISTEN_ON_S)
            for reader in self._asking.values():
                reader.set_exception(ConnectionAbortedError("the service stops"))
        if self._under_way:
            await asyncio.wait(self._under_way, timeout=REQUEST_TIMEOUT_S)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        self._asking[task] = reader
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                raw = await reader.read(-1)
            self._asking.pop(task, None)
            if not raw:
                return  # somebody has looked whether the service runs
            self._under_way.add(task)
            answer = await self._answer(raw, _uid(writer))
            writer.write(json.dumps(answer, ensure_ascii=False).encode())
            await writer.drain()
        except (OSError, TimeoutError) as fault:
            log.warning("a command went away: %s", fault)
        finally:
            self._asking.pop(task, None)
            self._under_way.discard(task)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, raw: bytes, uid: int) -> dict[str, Any]:
        try:
            request = json.loads(raw)
            return {"result": await perform(self._services, Call(request["operation"], request["arguments"]), uid)}
        except Refused as refusal:
            return {"refused": str(refusal)}
        except StoreUnavailable as fault:
            log.error("the store cannot answer: %s", fault)
            return {"refused": f"the store cannot answer: {fault}"}
        except Exception:
            log.exception("unexpected fault in an administrative operation")
            return {"refused": "an unexpected error occurred; the service's log has it whole"}


def _uid(writer: asyncio.StreamWriter) -> int:
    """The user who has connected, as the kernel noted it then."""
    credentials = struct.Struct("3i")  # struct ucred: pid, uid, gid
    # A second descriptor of the same socket: the one of the event loop's transport offers no such question.
    with socket.socket(fileno=os.dup(writer.get_extra_info("socket").fileno())) as peer:
        uid: int = credentials.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size))[1]
    return uid
