"""Acceptor: takes connections from the listening sockets. Each is read once it has sent something and has a lease.

Connections over the limits are not refused at once: callers with valid keys may come in a crowd and need their leases for a moment
only. They wait unread, at the cost of a file descriptor each, until a lease is free or their time is over.
"""

import asyncio
import errno
import logging
import os
import resource
import select
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from chatsvc import background
from chatsvc.http.admission import IDLE_S, Admission, Lease
from chatsvc.http.client_address import ClientAddresses, share_of
from chatsvc.http.connection import LINGER_S

log = logging.getLogger(__name__)

SILENT_TIMEOUT_S = 10.0  # for the first byte
LEASE_TIMEOUT_S = 5.0  # for a lease, from the first byte on
HANDSHAKE_TIMEOUT_S = 10.0
WAITING_FACTOR = 4  # waiting connections for each one that `limits.connections` allows
BATCH = 64  # connections accepted in one turn of the event loop
RESERVED_FILES = 64  # file descriptors that connections leave free
RETRY_S = 1.0
LOG_EVERY_S = 60.0


class Endpoint(NamedTuple):
    """Factory of the connections of a listening socket. Their protocol, and TLS if `tls` is set."""

    make: Callable[[Lease], asyncio.BaseProtocol]
    tls: ssl.SSLContext | None


class _Waiting:
    """An accepted connection that is not read yet."""

    __slots__ = ("endpoint", "share", "sock", "timer")

    def __init__(self, sock: socket.socket, endpoint: Endpoint, share: str | None, timer: asyncio.TimerHandle) -> None:
        self.sock = sock
        self.endpoint = endpoint
        self.share = share
        self.timer = timer


class Acceptor:
    """Accepts connections within the limits of `admission`. A trusted proxy's have no limit for each address."""

    def __init__(self, admission: Admission, connections: int, addresses: ClientAddresses) -> None:
        self._admission = admission
        self._most_waiting = WAITING_FACTOR * connections
        self._addresses = addresses
        self._loop = asyncio.get_running_loop()
        self._listeners: dict[socket.socket, Endpoint] = {}
        self._waiting: dict[str | None, dict[socket.socket, _Waiting]] = {}
        self._ready: dict[str | None, dict[socket.socket, _Waiting]] = {}
        self._count = 0
        self._starting: set[asyncio.Task[None]] = set()
        self._logged_at = float("-inf")
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._most_files = limit - min(RESERVED_FILES, limit // 4)
        admission.on_release = self._start_next
        admission.on_idle = self._close_idle_soon
        admission.is_wanted = self._is_wanted

    def listen(self, listener: socket.socket, endpoint: Endpoint) -> None:
        """Accept connections from a listening socket."""
        self._listeners[listener] = endpoint
        self._loop.add_reader(listener, self._accept, listener, endpoint)

    def _accept(self, listener: socket.socket, endpoint: Endpoint) -> None:
        for _ in range(BATCH):
            try:
                self._check_files(listener)
                sock, peer = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as fault:
                self._pause(listener, endpoint, fault)
                return
            sock.setblocking(False)
            address = str(peer[0]) if isinstance(peer, tuple) else None
            self._add(sock, endpoint, None if address is None or self._addresses.is_proxy(address) else share_of(address))

    def _check_files(self, listener: socket.socket) -> None:
        """Raise OSError once only the reserved file descriptors are left. The store and the command line need some, too."""
        # The system gives the lowest number that is free, so a high one tells that nearly all are used.
        lowest = os.dup(listener.fileno())
        os.close(lowest)
        if lowest >= self._most_files:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    def _pause(self, listener: socket.socket, endpoint: Endpoint, fault: OSError) -> None:
        """Accept nothing for a moment: the process is out of file descriptors or memory."""
        if self._loop.time() - self._logged_at >= LOG_EVERY_S:
            self._logged_at = self._loop.time()
            log.error("cannot accept connections: %s", fault.strerror or fault)
        self._loop.remove_reader(listener)
        self._loop.call_later(RETRY_S, self._resume, listener, endpoint)

    def _resume(self, listener: socket.socket, endpoint: Endpoint) -> None:
        if listener in self._listeners:
            self._loop.add_reader(listener, self._accept, listener, endpoint)

    # Waiting.

    def _add(self, sock: socket.socket, endpoint: Endpoint, share: str | None) -> None:
        timer = self._loop.call_later(SILENT_TIMEOUT_S, self._drop, share, sock)
        waiting = _Waiting(sock, endpoint, share, timer)
        self._waiting.setdefault(share, {})[sock] = waiting
        self._count += 1
        self._loop.add_reader(sock, self._has_sent, waiting)
        if self._count > self._most_waiting:
            crowded = max(self._waiting, key=lambda share: len(self._waiting[share]))
            self._drop(crowded, next(reversed(self._waiting[crowded])))

    def _has_sent(self, waiting: _Waiting) -> None:
        self._loop.remove_reader(waiting.sock)
        if not self._start(waiting):
            waiting.timer.cancel()
            waiting.timer = self._loop.call_later(LEASE_TIMEOUT_S, self._drop, waiting.share, waiting.sock)
            self._ready.setdefault(waiting.share, {})[waiting.sock] = waiting
            if not self._admission.close_idle(waiting.share):
                self._close_idle_soon()

    def _start(self, waiting: _Waiting) -> bool:
        """Start reading a connection; return False where no lease is free for it."""
        lease = self._admission.take(waiting.share)
        if lease is None:
            return False
        self._remove(waiting.share, waiting.sock)
        background.start("new connection", self._connect(waiting, lease), self._starting)
        return True

    def _start_next(self, share: str | None) -> None:
        """Give a lease that became free to a waiting connection. Of the same share if it was its limit, else of any."""
        for candidate in (share, *self._ready) if share in self._ready else tuple(self._ready):
            if self._start(next(iter(self._ready[candidate].values()))):
                return
            if self._admission.is_full:
                return

    def _is_wanted(self, share: str | None) -> bool:
        """Report whether a connection waits that could take a lease of this share."""
        return share in self._ready or (self._admission.is_full and bool(self._ready))

    def _close_idle_soon(self) -> None:
        """Close an idle connection in favour of one that waits. It happens after IDLE_S, once one has been idle for so long."""
        if self._ready:
            self._loop.call_later(IDLE_S, self._close_idle)

    def _close_idle(self) -> None:
        """Close an idle connection in favour of one that waits."""
        for share in self._ready:
            if self._admission.close_idle(share):
                return

    def _remove(self, share: str | None, sock: socket.socket) -> _Waiting:
        waiting = self._waiting[share].pop(sock)
        waiting.timer.cancel()
        self._count -= 1
        if not self._waiting[share]:
            del self._waiting[share]
        if share in self._ready and self._ready[share].pop(sock, None) is not None and not self._ready[share]:
            del self._ready[share]
        return waiting

    def _drop(self, share: str | None, sock: socket.socket) -> None:
        """Close a waiting connection."""
        self._loop.remove_reader(sock)
        self._remove(share, sock).sock.close()

    async def _connect(self, waiting: _Waiting, lease: Lease) -> None:
        endpoint = waiting.endpoint
        timeout_s = HANDSHAKE_TIMEOUT_S if endpoint.tls else None
        try:
            await self._loop.connect_accepted_socket(
                lambda: endpoint.make(lease),
                waiting.sock,
                ssl=endpoint.tls,
                ssl_handshake_timeout=timeout_s,
                ssl_shutdown_timeout=LINGER_S if endpoint.tls else None,
            )
        except BaseException as fault:
            lease.release()
            # A handshake that failed or took too long is no fault; the transport has closed the socket.
            if not isinstance(fault, OSError):
                raise

    # Closing.

    def close(self) -> None:
        """Accept no more; connections that have sent something are answered, the others closed."""
        for listener in self._listeners:
            self._loop.remove_reader(listener)
            listener.close()
        self._listeners.clear()
        for waiting in [one for share in self._waiting.values() for one in share.values()]:
            self._loop.remove_reader(waiting.sock)
            if not (_is_readable(waiting.sock) and self._start(waiting)):
                self._drop(waiting.share, waiting.sock)

    async def finish(self) -> None:
        """Wait until the connections taken up have started."""
        with suppress(TimeoutError):
            async with asyncio.timeout(1.0):
                while self._starting:
                    await asyncio.wait(tuple(self._starting))


def _is_readable(sock: socket.socket) -> bool:
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))
