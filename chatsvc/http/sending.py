"""Sending responses with back-pressure.

A response is written at once as a rule, in pieces where it is long, and from a temporary file where its client reads slowly: so
slow readers cost disk space instead of memory.
"""

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator
from contextlib import ExitStack
from io import BytesIO
from typing import BinaryIO, Protocol, cast

from chatsvc.http.response import HttpResponse

log = logging.getLogger(__name__)

PIECE = 64 * 1024  # bytes of a response written at a time


class ResponseWriter(Protocol):
    """The sending side of a connection."""

    @property
    def is_write_blocked(self) -> bool:
        """Whether the client has not taken what was written."""
        ...

    def write(self, data: bytes) -> None:
        """Write; raises ConnectionError where the client has gone."""
        ...

    async def drain(self) -> None:
        """Wait until the client has taken what was written; raises ConnectionError."""
        ...


async def send(writer: ResponseWriter, head: bytes, response: HttpResponse) -> None:
    """Send a head and a body of bytes. Returns when the sockets have taken them. Raises ConnectionError.

    The response's body is emptied: what waits in a file or in the sockets must not be held in memory as well.
    """
    body, response.body, at = cast("bytes", response.body), b"", PIECE
    writer.write(head + body[:PIECE])
    while at < len(body) and not writer.is_write_blocked:
        writer.write(body[at : at + PIECE])
        at += PIECE
    spooled = _spool(memoryview(body)[at:]) if at < len(body) else None
    body = b""
    if spooled is not None:
        with spooled:
            while piece := spooled.read(PIECE):
                await writer.drain()
                writer.write(piece)
    if writer.is_write_blocked:
        await writer.drain()


async def send_stream(writer: ResponseWriter, head: bytes, pieces: AsyncIterator[bytes], timeout_s: float, *, chunked: bool) -> None:
    """Send a head and a streamed body, each piece after the one before was taken. Raises ConnectionError and TimeoutError."""
    async with asyncio.timeout(timeout_s):
        writer.write(head)
        async for piece in pieces:
            if piece:
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
            await writer.drain()
        if chunked:
            writer.write(b"0\r\n\r\n")
        await writer.drain()


def _spool(content: memoryview) -> BinaryIO:
    left = content
    try:
        with ExitStack() as on_failure:
            file = cast("BinaryIO", on_failure.enter_context(tempfile.TemporaryFile(buffering=0)))
            while left:
                left = left[file.write(left) :]
            file.seek(0)
            on_failure.pop_all()
            return file
    except OSError as fault:
        log.error("a long response waits for its reader in memory: %s", fault.strerror)
        return BytesIO(content)
