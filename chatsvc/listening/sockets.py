"""Opening a listener: an address with a port, or a socket in the file system."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
import stat
from collections.abc import Callable
from pathlib import Path

from chatsvc.domain.errors import Refused

BACKLOG = 1024
HANDSHAKE_TIMEOUT_S = 10.0
SOCKET_MODE = 0o660

MakeProtocol = Callable[[], asyncio.BaseProtocol]


async def on_port(make: MakeProtocol, host: str, port: int, tls: ssl.SSLContext | None) -> asyncio.AbstractServer:
    """Listen on host:port, with TLS where there is a context; raises Refused."""
    timeout_s = HANDSHAKE_TIMEOUT_S if tls else None
    try:
        server = await asyncio.get_running_loop().create_server(
            make, host or None, port, ssl=tls, backlog=BACKLOG, ssl_handshake_timeout=timeout_s
        )
    except OSError as fault:
        raise Refused(f"cannot listen on {host}:{port}: {fault.strerror or fault}") from fault
    for listener in server.sockets:
        # Handed down to each connection: a caller whose machine has gone is noticed some day.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return server


async def on_socket(make: MakeProtocol, path: Path) -> asyncio.AbstractServer:
    """Listen on a socket for the process's user and group, replacing one that nobody listens on any more; raises Refused."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        _bind(listener, path)
        return await asyncio.get_running_loop().create_unix_server(make, sock=listener, backlog=BACKLOG)
    except OSError as fault:
        listener.close()
        raise Refused(f"cannot listen on unix:{path}: {fault.strerror or fault}") from fault


def _bind(listener: socket.socket, path: Path) -> None:
    if _is_stale(path):
        path.unlink()
    listener.bind(str(path))
    path.chmod(SOCKET_MODE)


def _is_stale(path: Path) -> bool:
    """Whether a socket was left behind; anything else in its place is left to bind() to refuse."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return False
    except FileNotFoundError:
        return False
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except OSError as fault:
            return fault.errno == errno.ECONNREFUSED
    return False


def port_of(listener: asyncio.AbstractServer) -> int:
    """The port that it was given."""
    port: int = listener.sockets[0].getsockname()[1]  # type: ignore[attr-defined]  # of asyncio's and of uvloop's servers
    return port
