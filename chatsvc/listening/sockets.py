"""Listening sockets: a TCP address, or a Unix socket in the file system."""

import asyncio
import errno
import socket
import stat
from pathlib import Path
from typing import Any

from chatsvc.domain.errors import CommandError

BACKLOG = 1024
SOCKET_MODE = 0o660


async def on_port(host: str, port: int) -> list[socket.socket]:
    """Listen on host:port, on every address of the host; "" is every interface. Raises CommandError."""
    opened: list[socket.socket] = []
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, address in dict.fromkeys(found):
            opened.append(_listen(family, kind, protocol, address))
    except OSError as fault:
        for listener in opened:
            listener.close()
        raise CommandError(f"cannot listen on {host}:{port}: {fault.strerror or fault}") from fault
    return opened


def _listen(family: int, kind: int, protocol: int, address: Any) -> socket.socket:
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setblocking(False)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Inherited by each connection: a client whose machine has gone is noticed some day.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def on_socket(path: Path) -> socket.socket:
    """Listen on a Unix socket for the process's user and group, replacing an abandoned one. Raises CommandError."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        if _is_abandoned(path):
            path.unlink()
        listener.bind(str(path))
        path.chmod(SOCKET_MODE)
        listener.setblocking(False)
        listener.listen(BACKLOG)
    except OSError as fault:
        listener.close()
        raise CommandError(f"cannot listen on unix:{path}: {fault.strerror or fault}") from fault
    return listener


def _is_abandoned(path: Path) -> bool:
    """Report whether no process listens on the socket. Any other file there is refused by bind()."""
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


def port_of(listener: socket.socket) -> int:
    """Return the port that was bound."""
    port: int = listener.getsockname()[1]
    return port
