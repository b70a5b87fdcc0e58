"""An answer on its way to its caller: in one write as a rule, in pieces where it is big, from a file where its caller reads slowly."""

from __future__ import annotations

import logging
import tempfile
from contextlib import ExitStack
from io import BytesIO
from typing import BinaryIO, Protocol, cast

from chatsvc.api.render import Response

log = logging.getLogger(__name__)

PIECE = 64 * 1024  # bytes of an answer handed over at a time


class Way(Protocol):
    """What leads to the caller."""

    @property
    def is_jammed(self) -> bool:
        """Whether the caller does not take what was written."""
        ...

    def write(self, data: bytes) -> None:
        """Hand over; raises ConnectionError where the caller has gone."""
        ...

    async def taken(self) -> None:
        """Wait until the caller has taken what was written; raises ConnectionError."""
        ...


async def send(way: Way, head: bytes, response: Response) -> None:
    """Send an answer and wait until the sockets have taken it; nothing is left of its content then. Raises ConnectionError."""
    content, at = response.content, PIECE
    way.write(head + content[:PIECE])
    while at < len(content) and not way.is_jammed:
        way.write(content[at : at + PIECE])
        at += PIECE
    waiting = _put_aside(memoryview(content)[at:]) if at < len(content) else None
    # What waits in a file or in the sockets must not be held in memory as well.
    content = response.content = b""
    if waiting is not None:
        await _send_as_it_is_read(way, waiting)
    if way.is_jammed:
        await way.taken()


async def _send_as_it_is_read(way: Way, waiting: BinaryIO) -> None:
    with waiting:
        while piece := waiting.read(PIECE):
            await way.taken()
            way.write(piece)


def _put_aside(content: memoryview) -> BinaryIO:
    left = content
    try:
        with ExitStack() as until_whole:
            file = cast("BinaryIO", until_whole.enter_context(tempfile.TemporaryFile(buffering=0)))
            while left:
                left = left[file.write(left) :]
            file.seek(0)
            until_whole.pop_all()
            return file
    except OSError as fault:
        log.error("a long answer waits for its reader in memory: %s", fault.strerror)
        return BytesIO(content)
