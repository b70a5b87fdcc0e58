"""Reading of request bodies, within the size and time that the route allows."""

import asyncio
from collections.abc import AsyncIterator

from aiohttp import web

from chatsvc.web.faults import BodyBroken, BodyTimeout, BodyTooLarge
from chatsvc.web.requests import INFO

DEFAULT_TIMEOUT_S = 10.0
UNCOUNTED = 32 * 1024  # bytes of each body that nobody counts: its connection may hold as much of a head


async def chunks(request: web.Request, limit: int, timeout_s: float = DEFAULT_TIMEOUT_S) -> AsyncIterator[bytes]:
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


async def read_body(request: web.Request, limit: int, timeout_s: float = DEFAULT_TIMEOUT_S) -> bytes:
    """Read the whole body. Raise the errors of `chunks`, and BodiesOverload if too many bytes of unknown senders are in memory."""
    pieces, size, info = [], 0, request[INFO]
    async for chunk in chunks(request, limit, timeout_s):
        pieces.append(chunk)
        size += len(chunk)
        if size > UNCOUNTED:
            info.count_body(size - UNCOUNTED)
    return b"".join(pieces)
