"""Deadlines of a connection: that of the head that is arriving, and that of a caller who does not read."""

import asyncio
import logging
import select
from collections.abc import Callable
from socket import socket

log = logging.getLogger(__name__)

SILENT_TIMEOUT_S = 10.0  # for the first byte
HEAD_TIMEOUT_S = 10.0
KEEPALIVE_S = 75.0
READER_TIMEOUT_S = 10.0
# For the rest of an unread body, and for the client to close its side: closing a socket on which bytes arrive would reset the connection,
# and the client could lose the response (RFC 9112 section 9.6).
LINGER_S = 2.0
MAX_HEAD = 32 * 1024  # bytes of request line and fields
LEAST_READ = 50 * 1024  # bytes of a response that a caller must take within each deadline, or the rest of it
END_OF_HEAD = b"\r\n\r\n"


class Deadline:
    """One timer at a time."""

    def __init__(self) -> None:
        self._timer: asyncio.TimerHandle | None = None

    def set(self, seconds: float, action: Callable[[], None]) -> None:
        """Call `action` after some seconds, instead of what was set before."""
        self.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds, action)

    def cancel(self) -> None:
        """Set no deadline."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class HeadWatch:
    """Watches for the end of the head that is arriving, without parsing it."""

    def __init__(self) -> None:
        self.has_begun = False
        self.size = 0
        self._window = b""

    def begin(self) -> None:
        """Expect a head of which the first bytes have arrived."""
        self.has_begun, self.size, self._window = True, 0, b""

    def is_blank(self, data: bytes) -> bool:
        """Report whether these are blank lines between two requests."""
        return not self.has_begun and not data.strip(b"\r\n")

    def is_complete(self, data: bytes) -> bool:
        """Add bytes; report whether the head ends in them. `size` is its size then."""
        if not self.has_begun:
            self.begin()
        window = self._window + data
        end = window.find(END_OF_HEAD)
        self.size += len(data)
        if end >= 0:
            self.size -= len(window) - end - len(END_OF_HEAD)
        self._window = window[-3:]
        return end >= 0


class TailWatch:
    """Counts the bytes behind the last end of a head: those of a body, and those of a head that has begun behind it."""

    def __init__(self) -> None:
        self._size = self._blank = 0  # bytes, and those of line ends at their end
        self._window = b""

    def add(self, data: bytes) -> None:
        """Add bytes that have arrived."""
        window = self._window + data
        end = window.rfind(END_OF_HEAD)
        tail = data if end < 0 else window[end + len(END_OF_HEAD) :]
        self._size = len(tail) + (self._size if end < 0 else 0)
        self._blank = len(tail) - len(tail.rstrip(b"\r\n"))
        self._window = window[-3:]

    def exceeds(self, body: int) -> bool:
        """Report whether more has arrived than a body of this size and blank lines."""
        return self._size - self._blank > body


def pieces(data: bytes) -> list[bytes]:
    """Cut bytes behind each head, so that a fault loses no request before it."""
    if data.count(END_OF_HEAD) < 2:
        return [data]
    *heads, rest = data.split(END_OF_HEAD)
    return [*(head + END_OF_HEAD for head in heads), *([rest] if rest else [])]


class ReaderWatch:
    """Ends a connection whose caller does not take its response."""

    def __init__(self) -> None:
        self._deadline = Deadline()

    def start(self, transport: asyncio.WriteTransport, seconds: float, peer: str | None) -> None:
        """Disconnect a caller who has taken fewer than LEAST_READ bytes in some seconds."""
        before = transport.get_write_buffer_size()

        def check() -> None:
            if before - transport.get_write_buffer_size() >= LEAST_READ:
                self.start(transport, seconds, peer)
            else:
                log.info("%s did not read its answer and was disconnected", peer or "a caller")
                transport.abort()

        self._deadline.set(seconds, check)

    def stop(self) -> None:
        """Stop watching: all is taken."""
        self._deadline.cancel()


def is_readable(sock: socket) -> bool:
    """Report whether bytes, or the end, wait unread in a socket."""
    if sock.fileno() < 0:
        return False
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))
