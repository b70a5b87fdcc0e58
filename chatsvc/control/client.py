"""The command line's side: ask the running service, or do it here where none runs. No event loop: a command starts in milliseconds."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chatsvc.domain.errors import Refused

if TYPE_CHECKING:
    import socket

    from chatsvc.config import Config

SOCKET = "control.sock"
WAIT_S = 15.0
LATE = (
    *("socket", "zoneinfo", "importlib.readers", "encodings.ascii", "encodings.idna", "encodings.utf_8_sig"),
    *("chatsvc.control.alone", "chatsvc.domain.knowledge_files", "chatsvc.usecases.knowledge_cache"),
)


class Lost(Exception):
    """The service went away before it had answered; whether the command took effect is not known."""


def call(config: Config, operation: str, arguments: dict[str, Any]) -> Any:
    """Run one operation and give its result, plain data; raises Refused, StoreUnavailable and Lost."""
    _check_text(arguments)
    act_as_owner(config.data_dir)
    deadline = time.monotonic() + WAIT_S
    while True:
        connection = connect(config.data_dir)
        if connection is not None:
            with connection:
                return ask(connection, operation, arguments)

        # Imported where no service runs: with one, a command needs nothing of the store.
        from chatsvc.control.alone import FolderInUse, run

        try:
            return run(config, operation, arguments)
        except FolderInUse:
            # A server that starts or stops, or another command: both are short.
            if time.monotonic() > deadline:
                raise Refused(f"another chatsvc holds {config.data_dir} and does not answer") from None
            time.sleep(0.02)


def _check_text(arguments: dict[str, Any]) -> None:
    try:
        json.dumps(arguments, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # Python keeps the bytes of such an argument as lone surrogates, which nothing here can store or show.
        raise Refused("an argument is not valid UTF-8") from None


def act_as_owner(folder: Path, late: tuple[str, ...] = ()) -> None:
    """As root, become the data folder's owner, so that no file in it ends up as root's. `late` are modules still to be imported."""
    if os.geteuid() != 0:
        return
    while not folder.exists():
        folder = folder.parent
    owner = folder.stat()
    if owner.st_uid:
        _load(late)
        os.setgroups([])
        os.setegid(owner.st_gid)
        os.seteuid(owner.st_uid)


def _load(late: tuple[str, ...]) -> None:
    """Import now what would be imported later: the owner may not be allowed to read where root keeps the program."""
    from importlib import import_module

    from chatsvc.control.operations import OPERATIONS, find

    for operation in OPERATIONS:
        find(operation)
    for module in (*LATE, *late):
        import_module(module)


def connect(folder: Path) -> socket.socket | None:
    """A connection to the service that runs on this folder; None where none answers."""
    if not (folder / SOCKET).exists():
        return None

    import socket

    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    connection = socket.socket(socket.AF_UNIX)
    try:
        # A Unix socket's path has 107 bytes at most; a folder's may be longer.
        _connect_as_oneself(connection, f"/proc/self/fd/{descriptor}/{SOCKET}")
    except OSError:
        connection.close()
        return None
    finally:
        os.close(descriptor)
    return connection


def _connect_as_oneself(connection: socket.socket, path: str) -> None:
    """The kernel notes who connects, for the record of acts: root is root there, though it acts as the folder's owner."""
    acting = os.geteuid()
    try:
        os.seteuid(os.getuid())
        connection.connect(path)
    except PermissionError:
        # A root that may not open everything, as in some containers.
        os.seteuid(acting)
        connection.connect(path)
    finally:
        os.seteuid(acting)


def ask(connection: socket.socket, operation: str, arguments: dict[str, Any]) -> Any:
    """What the running service answers to one operation; raises Refused and Lost."""
    try:
        connection.sendall(json.dumps({"operation": operation, "arguments": arguments}).encode())
        connection.shutdown(1)  # SHUT_WR: the request ends here
        with connection.makefile("rb") as stream:
            raw = stream.read()
    except OSError as fault:
        raise Lost(f"the service went away before it answered: {fault}") from fault
    if not raw:
        raise Lost("the service went away before it answered")
    answer = json.loads(raw)
    if "refused" in answer:
        raise Refused(answer["refused"])
    return answer["result"]
