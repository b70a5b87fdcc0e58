"""HTTP server: the connections of one listener, and the front ends that answer them, each below a path."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from typing import Protocol

from chatsvc.http.admission import Admission, Lease
from chatsvc.http.client_address import ClientAddresses, share_of
from chatsvc.http.faults import HandlerFailed, HttpFault
from chatsvc.http.request import HttpRequest, new_request_id
from chatsvc.http.response import HttpResponse
from chatsvc.log import request_id as logged_request_id

log = logging.getLogger(__name__)

# Bytes of one read. It bounds what a client can make the service hold before its head is looked at.
READ_SIZE = 16 * 1024
# While the service stops: how often it looks for requests that have arrived, and how long clients have to close their side.
LOOK_EVERY_S = 0.01
LAST_LINGER_S = 0.5

Observe = Callable[[HttpRequest, HttpResponse, float], None]


class Skin(Protocol):
    """A front end: answers requests, and words protocol faults in its own format."""

    def handle(self, request: HttpRequest) -> Awaitable[HttpResponse]:
        """Answer one request. May raise HttpFault; any other exception is logged and becomes HandlerFailed."""
        ...

    def refuse(self, fault: HttpFault, request: HttpRequest | None, request_id: str) -> HttpResponse:
        """Word a fault; `request` is None where the bytes never became one."""
        ...


class Mounts:
    """A front end made of others. Each request goes to the first whose prefix begins its path.

    A prefix that ends with a slash stands for all paths below it, any other for that path alone and the paths below it.
    `default` takes every other path, `pathless` (by default the same) targets that are no path, such as "*", and `unparsed` words the
    refusal of bytes that never became a request.
    """

    def __init__(self, mounts: Mapping[str, Skin], default: Skin, unparsed: Skin, pathless: Skin | None = None) -> None:
        self._mounts = tuple(mounts.items())
        self._default = default
        self._unparsed = unparsed
        self._pathless = pathless or default

    def find(self, path: str) -> Skin:
        """Return the front end for a path."""
        for prefix, skin in self._mounts:
            if path.startswith(prefix) and (prefix.endswith("/") or path[len(prefix) : len(prefix) + 1] in ("", "/")):
                return skin
        return self._default if path.startswith("/") else self._pathless

    def handle(self, request: HttpRequest) -> Awaitable[HttpResponse]:
        return self.find(request.path).handle(request)

    def refuse(self, fault: HttpFault, request: HttpRequest | None, request_id: str) -> HttpResponse:
        skin = self.find(request.path) if request is not None else self._unparsed
        return skin.refuse(fault, request, request_id)


class ServerConnection(Protocol):
    """Members of a connection that the server uses."""

    task: asyncio.Task[None] | None

    def close_if_idle(self) -> bool:
        """Close the connection where no request is being answered; return whether it is closing."""
        ...

    def abort(self) -> None: ...


class HttpServer:
    """Answers requests with a front end. While `is_leaving`, each response closes its connection. `observe` hears of each."""

    def __init__(
        self, skin: Skin, admission: Admission, addresses: ClientAddresses, observe: Observe | None = None, always: str = ""
    ) -> None:
        self._skin = skin
        self.admission = admission
        self._observe = observe
        self.addresses = addresses
        self.always = always
        self.read_buffer = memoryview(bytearray(READ_SIZE))
        self.connections: set[ServerConnection] = set()
        self.is_leaving = False

    def take_request_lease(self, client_address: str) -> Lease | None:
        """Count a request that a proxy forwards; None where its client's address has too many."""
        return self.admission.take_request(share_of(client_address))

    async def answer(self, request: HttpRequest) -> HttpResponse:
        """Return the response to a request; an unexpected exception is logged with its traceback."""
        logged_request_id.set(request.id)
        began = perf_counter()
        try:
            response = await self._skin.handle(request)
        except HttpFault as fault:
            response = self._skin.refuse(fault, request, request.id)
        except Exception:
            log.exception("unexpected fault")
            response = self._skin.refuse(HandlerFailed(), request, request.id)
        if self._observe is not None:
            self._observe(request, response, perf_counter() - began)
        return response

    def refuse(self, fault: HttpFault, request: HttpRequest | None, peer: str | None) -> HttpResponse:
        """Return the closing response to a fault. The faulty bytes, which may hold a key, are neither echoed nor logged."""
        request_id = request.id if request is not None else new_request_id()
        log.info("[%s] what %s sent is no HTTP: %s", request_id, peer or "unknown", str(fault) or type(fault).__name__)
        response = self._skin.refuse(fault, request, request_id)
        response.close = True
        return response

    def _close_idle(self) -> bool:
        """Close the idle connections; return whether all are closing."""
        closing = [connection.close_if_idle() for connection in tuple(self.connections)]
        return all(closing)

    async def finish(self, timeout_s: float) -> None:
        """Answer the requests that have arrived, and close all connections after `timeout_s` seconds at most."""
        self.is_leaving = True
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        while not self._close_idle() and loop.time() < deadline:  # noqa: ASYNC110  # no event tells of unread bytes in a socket
            await asyncio.sleep(LOOK_EVERY_S)
        late = {connection.task for connection in self.connections if connection.task is not None}
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
        deadline = loop.time() + LAST_LINGER_S
        while self.connections and loop.time() < deadline:  # noqa: ASYNC110  # each connection would need one
            await asyncio.sleep(LOOK_EVERY_S)
        for connection in tuple(self.connections):
            connection.abort()
