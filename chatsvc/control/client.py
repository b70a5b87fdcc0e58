"""Client of the control socket. If no service runs, the operation runs in this process.

It needs no event loop, so a command starts in milliseconds. An operation is POST /operations/NAME with its arguments as JSON. The answer
is the result as JSON in one line, and after it the bytes of the file that the operation made; a refusal has status 422, or 400 where the
request itself is faulty. The client opens no path that the service names.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from chatsvc.domain import refusals
from chatsvc.domain.errors import CommandError
from chatsvc.domain.refusals import Refused

if TYPE_CHECKING:
    from chatsvc.config import ConfigDocument

SOCKET = "control.sock"
WAIT_S = 15.0
FAULTY, REFUSED = 400, 422
_PIECE = 1 << 20


class Lost(Exception):
    """Raised when the service ends before it answers. The operation may have taken effect."""


def call(document: ConfigDocument, operation: str, arguments: dict[str, Any], target: IO[bytes] | None = None) -> Any:
    """Run one operation and return its result. If the operation makes a file, the file is written to `target`.

    The whole configuration is read only if no service runs. To find a running service, a few settings are enough. Raises Refused,
    ConfigError, StoreUnavailable and Lost.
    """
    deadline = time.monotonic() + WAIT_S
    while True:
        # Over a store of several processes a command works beside them, whether or not the one on this machine answers.
        service = None if document.names_store else connect(document.data_dir)
        if service is not None:
            return ask(service, operation, arguments, target)

        # Imported where no service runs: with one, a command needs nothing of the store.
        from chatsvc.config import build
        from chatsvc.control.local_operations import FolderInUse, run

        encoded(arguments)
        try:
            return run(build(document), operation, arguments, target)
        except FolderInUse:
            # A server that starts or stops, or another command: both are short.
            if time.monotonic() > deadline:
                raise refusals.folder_held(folder=str(document.data_dir)) from None
            time.sleep(0.02)


def encoded(arguments: dict[str, Any]) -> bytes:
    """Serialise arguments as JSON. Raises `argument_not_unicode` for lone surrogates, which can neither be stored nor shown."""
    try:
        return json.dumps(arguments, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise refusals.argument_not_unicode() from None


def connect(folder: Path, timeout_s: float | None = None) -> HTTPConnection | None:
    """Connect to the service that runs on this folder. Return None if no service answers."""
    service = HTTPConnection("localhost", timeout=timeout_s)
    service.sock = socket.socket(socket.AF_UNIX)
    service.sock.settimeout(timeout_s)
    try:
        # By the folder's descriptor: the path of a Unix socket has 107 bytes at most.
        descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            service.sock.connect(f"/proc/self/fd/{descriptor}/{SOCKET}")
        finally:
            os.close(descriptor)
    except OSError:
        service.close()
        return None
    return service


def ask(service: HTTPConnection, operation: str, arguments: dict[str, Any], target: IO[bytes] | None = None) -> Any:
    """Send one operation to the running service, return its result and close the connection. Raises Refused and Lost."""
    with closing(service):
        body = encoded(arguments)
        try:
            service.request("POST", f"/operations/{operation}", body, {"Content-Type": "application/json"})
            with service.getresponse() as answer:
                result = json.loads(answer.readline())
                if answer.status not in (FAULTY, REFUSED):
                    while target is not None and (piece := answer.read(_PIECE)):
                        try:
                            target.write(piece)
                        except OSError as fault:
                            raise CommandError(f"the file cannot be written: {fault.strerror or fault}") from None
                    if target is not None and answer.length:
                        raise Lost("the service went away before the file was whole")
                    return result
        except (OSError, ValueError, HTTPException) as fault:
            raise Lost(f"the service went away before it answered: {fault}") from fault
        raise Refused(result["code"], **result["facts"])
