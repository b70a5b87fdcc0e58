"""Server of the control socket: JSON requests and answers, one after the other. The folder's mode 0700 decides who may administer."""

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

from chatsvc.control import client
from chatsvc.control.alone import detached_file
from chatsvc.control.client import SOCKET
from chatsvc.control.rendering import RENDERERS
from chatsvc.domain import refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.refusals import Refused
from chatsvc.privileges import caller_of
from chatsvc.services.administration import perform
from chatsvc.services.services import Services
from chatsvc.store.database import StoreUnavailable

log = logging.getLogger(__name__)

REQUEST_TIMEOUT_S = 60.0
GRACE_S = 1.0  # for a command that has connected and not yet asked when the service stops
OPERATION_GRACE_S = 5.0  # for the operations in flight when the service stops
_PIECE = 1 << 18


class ControlServer:
    """Listens in the data folder while the process runs."""

    def __init__(self, services: Services, folder: Path) -> None:
        self._services = services
        self._folder = folder
        self._server: asyncio.Server | None = None
        self._waiting: dict[asyncio.Task[None], asyncio.StreamReader] = {}
        self._in_flight: set[asyncio.Task[None]] = set()
        self._served: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Begin to listen. A stale socket is replaced: this process holds the folder's lock."""
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
        """Stop listening and let the operations in flight end. Those that take longer than the grace period are cancelled."""
        if self._server is not None:
            self._server.close()
            (self._folder / SOCKET).unlink(missing_ok=True)
        new = self._waiting.keys() - self._served
        if new:
            await asyncio.wait(new, timeout=GRACE_S)
        for reader in self._waiting.values():
            reader.set_exception(ConnectionAbortedError("the service stops"))
        if self._in_flight:
            _, late = await asyncio.wait(self._in_flight, timeout=OPERATION_GRACE_S)
            for task in late:
                task.cancel()
            if late:
                log.warning("%d administrative operations were ended: the service stops", len(late))
                await asyncio.wait(late, timeout=GRACE_S)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = cast("asyncio.Task[None]", asyncio.current_task())
        try:
            while raw := await self._request(task, reader):
                self._in_flight.add(task)
                await self._answer(raw, writer)
                self._in_flight.discard(task)
                self._served.add(task)
        except (OSError, TimeoutError, EOFError, ValueError) as fault:
            if task not in self._served:
                log.warning("a command went away: %s", fault)
        finally:
            self._waiting.pop(task, None)
            self._in_flight.discard(task)
            self._served.discard(task)
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _request(self, task: asyncio.Task[None], reader: asyncio.StreamReader) -> bytes:
        """Read the next request; empty at the end of the connection."""
        if task in self._served and self._server is not None and not self._server.is_serving():
            return b""
        self._waiting[task] = reader
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                head = await reader.read(client.LENGTH.size)
                if not head:
                    return b""
                head += await reader.readexactly(client.LENGTH.size - len(head))
                return await reader.readexactly(client.length_in(head))
        finally:
            self._waiting.pop(task, None)

    async def _answer(self, raw: bytes, writer: asyncio.StreamWriter) -> None:
        told = await answer(self._services, caller_of(_uid(writer)), raw)
        file = detached_file(told.get("result"))
        if file is None:
            writer.write(client.pack(told))
            await writer.drain()
            return
        with file:
            writer.write(client.pack({**told, client.FILE: os.fstat(file.fileno()).st_size}))
            while piece := await asyncio.to_thread(file.read, _PIECE):
                writer.write(piece)
                await writer.drain()


def _uid(writer: asyncio.StreamWriter) -> int:
    """Return the user id of the connected process (SO_PEERCRED)."""
    credentials = struct.Struct("3i")  # struct ucred: pid, uid, gid
    # A second descriptor of the same socket: the event loop's own has no getsockopt for SO_PEERCRED.
    with socket.socket(fileno=os.dup(writer.get_extra_info("socket").fileno())) as peer:
        uid: int = credentials.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size))[1]
    return uid


async def answer(services: Services, caller: Caller, raw: bytes) -> dict[str, Any]:
    """Perform the operation of a request. Whatever goes wrong is part of the answer."""
    try:
        request = json.loads(raw)
        operation = request["operation"]
        if operation not in RENDERERS:
            # Operations on an operator's own session are the dashboard's.
            raise refusals.operation_unknown(operation=operation)
        result = await perform(services, caller, operation, request["arguments"])
        return {"result": RENDERERS[operation](result)}
    except Refused as refusal:
        return refused(refusal)
    except StoreUnavailable as fault:
        log.error("the store cannot answer: %s", fault)
        return refused(refusals.store_unavailable(fault=str(fault)))
    except Exception:
        log.exception("unexpected fault in an administrative operation")
        return refused(refusals.unexpected_fault())


def refused(refusal: Refused) -> dict[str, Any]:
    return {"refused": {"code": refusal.code, "facts": refusal.facts}}
