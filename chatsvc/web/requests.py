"""Requests: data, origin and body of each, and the protocol faults, which each front end converts to a response of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import HttpVersion11, web

from chatsvc.web import limits

if TYPE_CHECKING:
    from chatsvc.web.connection import HttpConnection

UNMATCHED = "other"
MAX_SKIPPED = 1024 * 1024  # bytes of an unread body for which a connection is kept
BODY_TIMEOUT_S = 10.0
UNCOUNTED = 32 * 1024  # bytes of each body that nobody counts: its connection may hold as much of a head


class HttpFault(Exception):
    """Base of all protocol faults."""

    status = 400


class BadRequest(HttpFault):
    """The bytes are not an HTTP/1.1 request, or the head exceeds its limits."""


class HeadTimeout(HttpFault):
    """The head did not arrive before its deadline."""

    status = 408


class BodyBroken(HttpFault):
    """The body ended early, or its chunked framing is invalid."""


class BodyTimeout(HttpFault):
    """The body did not arrive before its deadline."""

    status = 408


class BodyTooLarge(HttpFault):
    """The body exceeds the limit of its route."""

    status = 413


class BadForm(HttpFault):
    """The body is not a form of its declared type, or exceeds a limit of forms."""

    status = 422


class TooManyRequests(HttpFault):
    """An address has too many unauthenticated requests in flight."""

    status = 503


class BodiesOverload(HttpFault):
    """The bodies of all unknown senders together exceed the memory reserved for them."""

    status = 503


class HandlerFailed(HttpFault):
    """The handler raised an unexpected exception; it is logged with its traceback."""

    status = 500


@dataclass(eq=False)
class RequestInfo:
    """Data about one request, for its handler, the access log and the metrics.

    `route` is the template that matched, `error` the code of the refusal, and `principal` the account or person that sent the request.
    `refusal` is a fault that was detected before the request reached its front end. If `expects_continue` is true, the client waits for
    `100 Continue` before it sends the body. If `is_body_lost` is true, the body cannot be read to its end, so the connection is closed.
    """

    id: str
    client_address: str
    _limits: limits.ConnectionLimits
    _connection: HttpConnection
    route: str = UNMATCHED
    error: str = ""
    principal: str | None = None
    refusal: HttpFault | None = None
    expects_continue: bool = False
    is_body_lost: bool = False
    _is_counted: bool = True
    _body_bytes: int = 0
    _share: str | None = None

    def authenticated(self, key: str | None = None) -> None:
        """Stop counting this request, its body and its connection against the limits for unknown callers.

        If `key` is given, the connection counts as a connection of that key instead.
        """
        self.release()
        self._limits.authenticated(self._connection, key)

    def wake_when_ended(self, waiter: asyncio.Event) -> None:
        """Set an event once the client closes its side of the connection, for a handler that waits."""
        self._connection.wake_when_ended(waiter)

    def count(self, share: str) -> None:
        """Count a request that a trusted proxy forwards for an address. If the address has too many requests, set `refusal`."""
        if self._limits.take_request(share):
            self._share = share
        else:
            self.refusal = TooManyRequests()

    def count_body(self, size: int) -> None:
        """Count `size` bytes of the body as held in memory. Raise BodiesOverload if the bodies of unknown senders exceed the limit."""
        if not self._is_counted or size <= self._body_bytes:
            return
        if self._limits.body_bytes + size - self._body_bytes > limits.MOST_BODIES:
            self.is_body_lost = True
            raise BodiesOverload
        self._limits.body_bytes += size - self._body_bytes
        self._body_bytes = size

    def release(self) -> None:
        """Stop counting the request and its body, because its sender is known or the request is answered."""
        self._limits.body_bytes -= self._body_bytes
        if self._share is not None:
            self._limits.release_request(self._share)
        self._is_counted, self._body_bytes, self._share = False, 0, None


INFO = web.RequestKey("info", RequestInfo)


def leaves_connection(request: web.BaseRequest, response: web.StreamResponse) -> bool:
    """Report whether the connection can be reused. The rest of the request and the response must have a known end."""
    # What comes behind a declined upgrade aiohttp may lose, and behind a chunked body may be fields of its trailer.
    if request.method == "CONNECT" or "Transfer-Encoding" in request.headers or "Upgrade" in request.headers:
        return False
    if request.version < HttpVersion11 and response.content_length is None:
        return False
    content = request.content
    if content.is_eof():
        return True
    info = request[INFO]
    is_lost = info.is_body_lost or info.expects_continue or content.exception() is not None
    return not is_lost and (request.content_length or 0) <= MAX_SKIPPED


def is_same_origin(request: web.BaseRequest, public_url: str) -> bool:
    """Report whether a page of this service sent a form. Use Origin if Sec-Fetch-Site is missing, as over plain http on a LAN."""
    sites = request.headers.getall("Sec-Fetch-Site", [])
    if sites:
        return len(sites) == 1 and sites[0] in ("same-origin", "none")
    return names_own_origin(request, public_url)


def names_own_origin(request: web.BaseRequest, public_url: str) -> bool:
    """Report whether the header `Origin` equals the origin of `public_url` or of the header `Host`."""
    origins = request.headers.getall("Origin", [])
    if len(origins) != 1:
        return False
    origin, host = origins[0].lower(), request.headers.get("Host", "").lower()
    return origin == public_url.lower() or (bool(host) and origin in [f"http://{host}", f"https://{host}"])


async def chunks(request: web.Request, limit: int, timeout_s: float = BODY_TIMEOUT_S) -> AsyncIterator[bytes]:
    """Yield the chunks of the body as they arrive.

    Raise BodyTooLarge if it exceeds `limit` bytes, BodyTimeout if the whole takes longer than `timeout_s`, and BodyBroken if it is
    invalid.
    """
    length, content, info = request.content_length, request.content, request[INFO]
    if length is not None and length > limit:
        raise BodyTooLarge
    if info.expects_continue and request.transport is not None:
        info.expects_continue = False
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    deadline = asyncio.get_running_loop().time() + timeout_s
    size = 0
    while not content.at_eof():
        try:
            async with asyncio.timeout_at(deadline):
                chunk = await content.readany()
        except TimeoutError:
            info.is_body_lost = True
            raise BodyTimeout from None
        except (web.RequestPayloadError, web.PayloadAccessError, ConnectionError) as fault:
            info.is_body_lost = True
            raise BodyBroken(type(fault).__name__) from None
        size += len(chunk)
        if size > limit:
            raise BodyTooLarge
        if chunk:
            yield chunk


async def read_body(request: web.Request, limit: int, timeout_s: float = BODY_TIMEOUT_S) -> bytes:
    """Read the whole body. Raise the errors of `chunks`, and BodiesOverload if too many bytes of unknown senders are in memory."""
    pieces, size, info = [], 0, request[INFO]
    async for chunk in chunks(request, limit, timeout_s):
        pieces.append(chunk)
        size += len(chunk)
        if size > UNCOUNTED:
            info.count_body(size - UNCOUNTED)
    return b"".join(pieces)
