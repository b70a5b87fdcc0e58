"""Client of the control socket, with a fallback to this process where no service runs.

It needs no event loop, so a command starts in milliseconds. It never opens or removes a path that the service names: results are JSON,
and files arrive as bytes.

Messages are JSON objects, each preceded by its length in eight bytes. A file in an answer follows it as so many raw bytes; its length
stands in the answer.
"""

from __future__ import annotations

import json
import os
import select
import stat
import struct
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from chatsvc.domain import refusals
from chatsvc.domain.errors import CommandError
from chatsvc.domain.refusals import Refused
from chatsvc.trusted_paths import is_root, resolved

if TYPE_CHECKING:
    import socket

    from chatsvc.config import Config


SOCKET = "control.sock"
WAIT_S = 15.0
_PIECE = 1 << 20
_reserved: dict[Path, socket.socket] = {}


class Lost(Exception):
    """Raised when the service ends before it answers; the command may have taken effect."""


def call(config: Config, operation: str, arguments: dict[str, Any], target: IO[bytes] | None = None) -> Any:
    """Run one operation and return its result. A file that it makes is written to `target`. Raises Refused, StoreUnavailable and Lost."""
    _check_text(arguments)
    deadline = time.monotonic() + WAIT_S
    # Over a store of several processes a command works beside them, whether or not the one on this machine answers.
    asks = config.store is None
    while True:
        reserved = _take_reserved(config.data_dir) if asks else None
        connection = reserved or (connect(config.data_dir) if asks else None)
        if connection is not None:
            try:
                return ask(connection, operation, arguments, target)
            finally:
                if reserved is None:
                    connection.close()

        # Imported where no service runs: with one, a command needs nothing of the store.
        from chatsvc.control.alone import FolderInUse, run

        try:
            return run(config, operation, arguments, target)
        except FolderInUse:
            # A server that starts or stops, or another command: both are short.
            if time.monotonic() > deadline:
                raise refusals.folder_held(folder=str(config.data_dir)) from None
            time.sleep(0.02)


def _check_text(arguments: dict[str, Any]) -> None:
    try:
        json.dumps(arguments, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # Python keeps the bytes of such an argument as lone surrogates, which nothing here can store or show.
        raise refusals.argument_not_unicode() from None


def reserve(folder: Path) -> None:
    """Connect before root is dropped and keep the connection. The kernel notes root as the peer, for the audit log."""
    connection = connect(folder)
    if connection is not None:
        _reserved[folder] = connection


def _take_reserved(folder: Path) -> socket.socket | None:
    connection = _reserved.get(folder)
    if connection is None:
        return None
    readable, _, _ = select.select([connection], [], [], 0)
    if readable:
        # Nothing was asked, so the service has closed it.
        _reserved.pop(folder).close()
        return None
    return connection


def connect(folder: Path) -> socket.socket | None:
    """Connect to the service that runs on this folder; None where none answers."""
    if not os.path.lexists(folder / SOCKET):
        return None
    try:
        # The socket in the folder itself, not one that a link leads to. By its descriptor: a Unix socket's path has 107 bytes at most.
        with resolved(folder / SOCKET, follow_last=False) as found:
            if found.file is None or not stat.S_ISSOCK(os.fstat(found.file).st_mode):
                return None
            if is_root() and os.fstat(found.file).st_uid != os.fstat(found.folder).st_uid:
                raise CommandError(f"{folder / SOCKET} does not belong to the owner of its folder")
            return _connected(f"/proc/self/fd/{found.file}")
    except OSError:
        return None


def _connected(path: str) -> socket.socket | None:
    import socket

    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        return None
    return connection


def ask(connection: socket.socket, operation: str, arguments: dict[str, Any], target: IO[bytes] | None = None) -> Any:
    """Send one operation to the running service and return its result; raises Refused and Lost."""
    try:
        connection.sendall(pack({"operation": operation, "arguments": arguments}))
        answer = json.loads(_read(connection, length_in(_read(connection, LENGTH.size))))
        if target is not None and FILE in answer:
            _copy(connection, int(answer[FILE]), target)
    except (OSError, ValueError) as fault:
        raise Lost(f"the service went away before it answered: {fault}") from fault
    if "refused" in answer:
        raise Refused(answer["refused"]["code"], **answer["refused"]["facts"])
    return answer["result"]


def _read(connection: socket.socket, size: int) -> bytes:
    pieces = bytearray()
    while len(pieces) < size:
        piece = connection.recv(min(size - len(pieces), _PIECE))
        if not piece:
            raise Lost("the service went away before it answered")
        pieces += piece
    return bytes(pieces)


def _copy(connection: socket.socket, size: int, target: IO[bytes]) -> None:
    while size:
        piece = connection.recv(min(size, _PIECE))
        if not piece:
            raise Lost("the service went away before the file was whole")
        _write(target, piece)
        size -= len(piece)


def _write(target: IO[bytes], piece: bytes) -> None:
    try:
        target.write(piece)
    except OSError as fault:
        raise CommandError(f"the file cannot be written: {fault.strerror or fault}") from None


LENGTH = struct.Struct("!Q")
MOST = 1 << 30  # bytes of one message
FILE = "file_bytes"  # the key of an answer's file length


def pack(message: dict[str, Any]) -> bytes:
    """One message with its length in front."""
    body = json.dumps(message, ensure_ascii=False).encode()
    return LENGTH.pack(len(body)) + body


def length_in(head: bytes) -> int:
    """Return the length of the next message; raises ValueError above the limit."""
    (length,) = LENGTH.unpack(head)
    if length > MOST:
        raise ValueError("the message is too long")
    return int(length)
