"""Server of the control socket: HTTP on a Unix socket. The folder's mode 0700 decides who may administer."""

import asyncio
import inspect
import json
import logging
import os
import socket
import stat
import struct
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from itertools import repeat
from pathlib import Path
from types import UnionType
from typing import IO, Any, cast, get_args, get_origin, get_type_hints, is_typeddict

from aiohttp import web

from chatsvc.control.client import FAULTY, REFUSED, SOCKET, encoded
from chatsvc.control.rendering import RENDERERS, rendered
from chatsvc.domain import paging, refusals, shapes
from chatsvc.domain.actors import Caller
from chatsvc.domain.models import Bot
from chatsvc.domain.refusals import Refused
from chatsvc.local_user import caller_of
from chatsvc.services.administration import OPERATIONS, perform
from chatsvc.services.services import Services
from chatsvc.store.database import StoreUnavailable

log = logging.getLogger(__name__)

MOST = 1 << 28  # bytes of a request
GRACE_S = 0.2  # for a command that has connected and not yet asked when the service stops
OPERATION_GRACE_S = 5.0  # for the operations in flight when the service stops
_PIECE = 1 << 18
LARGEST = 2**53 - 1  # whole numbers above it are not exact in every reader of JSON
_LIMITS = frozenset({"limit", "message_limit"})
_NUMBERS = _LIMITS | {"after", "question"}  # use-cases check other numbers themselves
_CONNECTIONS = logging.getLogger(f"{__name__}.connections")  # aiohttp's: operations log their own faults


def _without_traceback(record: logging.LogRecord) -> bool:
    """Reduce aiohttp's log record of an invalid request to one line, which does not quote the request."""
    if record.exc_info and record.exc_info[0]:
        record.msg, record.args, record.exc_info = "a request on the control socket failed: %s", (record.exc_info[0].__name__,), None
    return True


_CONNECTIONS.addFilter(_without_traceback)


class ControlServer:
    """Server on the control socket in the data folder, for as long as the service runs."""

    def __init__(self, services: Services, folder: Path) -> None:
        self._services = services
        self._folder = folder
        application = web.Application(client_max_size=MOST)
        application.router.add_post("/operations/{operation}", self._answer)
        self._receiving: set[asyncio.Task[Any]] = set()
        # Commands compress nothing, so a packed body is not unpacked.
        self._runner = web.AppRunner(
            application, access_log=None, logger=_CONNECTIONS, shutdown_timeout=OPERATION_GRACE_S, auto_decompress=False
        )

    async def start(self) -> None:
        """Begin to listen. An existing socket is stale and is replaced, because this process holds the folder's lock."""
        (self._folder / SOCKET).unlink(missing_ok=True)
        descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(f"/proc/self/fd/{descriptor}/{SOCKET}")
        finally:
            os.close(descriptor)
        (self._folder / SOCKET).chmod(stat.S_IRUSR | stat.S_IWUSR)
        await self._runner.setup()
        await web.SockSite(self._runner, listener).start()

    async def stop(self) -> None:
        """Stop listening and let the operations in flight end. Those that take longer than the grace period are cancelled."""
        for site in list(self._runner.sites):
            await site.stop()
        (self._folder / SOCKET).unlink(missing_ok=True)
        if self._runner.server is not None and self._runner.server.connections:
            await asyncio.sleep(GRACE_S)
        for task in self._receiving:
            task.cancel()
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        task, status = cast("asyncio.Task[Any]", asyncio.current_task()), FAULTY
        self._receiving.add(task)
        try:
            try:
                arguments = shapes.parsed(await request.read())
            finally:
                self._receiving.discard(task)
            if arguments is None:
                raise refusals.request_unreadable()
            encoded(arguments)
            status = REFUSED
            result, file = await self._perform(caller_of(_uid(request)), request.match_info["operation"], arguments)
        except Refused as refusal:
            return web.json_response({"code": refusal.code, "facts": refusal.facts}, status=status)
        line = json.dumps(result, ensure_ascii=False).encode() + b"\n"
        if file is None:
            return web.Response(body=line, content_type="application/json")
        with file:
            return await _send(request, line, file)

    async def _perform(self, caller: Caller, operation: str, arguments: dict[str, Any]) -> tuple[Any, IO[bytes] | None]:
        """Perform an operation. Return its result for JSON, and the file that the operation made or None. Raises every fault as Refused."""
        if operation not in RENDERERS:
            # Operations on an operator's own session are the dashboard's.
            raise refusals.operation_unknown(operation=operation)
        function = OPERATIONS[operation].function()
        try:
            inspect.signature(function).bind(self._services, caller, **arguments)
        except TypeError:
            # A command of another version names arguments that this process does not know.
            raise refusals.operation_unknown(operation=operation) from None
        declared = {**_SETTINGS, **get_type_hints(function, localns={"Services": Services})}
        for name, value in arguments.items():
            kind = declared.get(name, str | None)
            # A list may hold all entries of a bot.
            if not (await asyncio.to_thread(_fits, value, kind) if isinstance(value, list) else _fits(value, kind)):
                raise refusals.argument_of_wrong_type(argument=name)
            if name in _NUMBERS and type(value) is int and abs(value) > LARGEST:
                raise refusals.number_out_of_range(field=name, most=LARGEST)
            if name in _LIMITS and value < 1:
                raise refusals.count_out_of_range(field=name, most=paging.MOST)
        try:
            return rendered(operation, await perform(self._services, caller, operation, arguments))
        except Refused:
            raise
        except StoreUnavailable as fault:
            log.error("the store cannot answer: %s", fault)
            raise refusals.store_unavailable(fault=str(fault)) from None
        except Exception:
            log.exception("unexpected fault in an administrative operation")
            raise refusals.unexpected_fault() from None


# Types of what use-cases take as `**settings`; the others are texts.
_SETTINGS: dict[str, Any] = {
    **dict.fromkeys(("ask_back", "hand_off"), bool | None),
    **dict.fromkeys(("appointment_minutes", "appointments_at_once", "hand_off_return", "hand_off_wait", "monthly_limit"), int | None),
    "sites": list[str] | None,
    **dict.fromkeys(("closed", "suggestions", "tests"), object),  # read as those of a bot's file
    "forms": dict[str, object] | None,
    "texts": dict[str, dict[str, str]] | None,
}


_types_of = cache(get_type_hints)


def _fits(value: Any, declared: Any) -> bool:
    """Return whether a JSON value fits a use-case's type `declared`. The JSON has a bot's id for a bot, and a list for a tuple."""
    kind, inner = get_origin(declared) or declared, get_args(declared)
    if kind is UnionType:
        return any(_fits(value, alternative) for alternative in inner)
    if is_typeddict(kind):
        types = _types_of(kind)
        return isinstance(value, dict) and value.keys() == types.keys() and _all_fit(value.values(), [types[name] for name in value])
    if kind is dict:
        return isinstance(value, dict) and _all_fit(value.values(), repeat(inner[1]))
    if kind in (list, Sequence) or inner[1:] == (Ellipsis,):
        return isinstance(value, list) and _all_fit(value, repeat(inner[0]))
    if kind is not Bot and issubclass(kind, tuple):
        inner = inner or tuple(_types_of(kind).values())
        return isinstance(value, list) and len(value) == len(inner) and _all_fit(value, inner)
    return type(value) is int if kind is int else isinstance(value, {Bot: str, Any: object}.get(kind, kind))


def _all_fit(values: Iterable[Any], types: Iterable[Any]) -> bool:
    return all(_fits(value, kind) and (type(value) is not int or abs(value) <= LARGEST) for value, kind in zip(values, types, strict=False))


async def _send(request: web.Request, line: bytes, file: IO[bytes]) -> web.StreamResponse:
    response = web.StreamResponse()
    response.content_length = len(line) + os.fstat(file.fileno()).st_size
    await response.prepare(request)
    await response.write(line)
    with suppress(ConnectionError):
        while piece := await asyncio.to_thread(file.read, _PIECE):
            await response.write(piece)
        await response.write_eof()
    return response


def _uid(request: web.Request) -> int:
    credentials = struct.Struct("3i")  # struct ucred: pid, uid, gid
    if request.transport is None:
        raise ConnectionResetError("the command has gone")
    # A second descriptor of the same socket: the event loop's own has no getsockopt for SO_PEERCRED.
    with socket.socket(fileno=os.dup(request.transport.get_extra_info("socket").fileno())) as peer:
        uid: int = credentials.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, credentials.size))[1]
    return uid
