"""Client of the control socket, with a fallback to this process where no service runs.

It needs no event loop, so a command starts in milliseconds. An operation is POST /operations/NAME with its arguments as JSON. The answer
is the result as JSON in one line, and after it the bytes of the file that the operation made; a refusal has status 422. The client opens no
path that the service names.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from chatsvc.domain import refusals
from chatsvc.domain.errors import CommandError
from chatsvc.domain.refusals import Refused

if TYPE_CHECKING:
    from chatsvc.config import ConfigDocument

SOCKET = "control.sock"
WAIT_S = 15.0
REFUSED = 422
_PIECE = 1 << 20


class Lost(Exception):
    """Raised when the service ends before it answers; the command may have taken effect."""


class Service(http.client.HTTPConnection):
    """A connection to the service on a data folder."""

    def __init__(self, folder: Path, timeout_s: float | None = None) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._folder = folder

    def connect(self) -> None:
        """Connect; raises OSError."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        # By the folder's descriptor: the path of a Unix socket has 107 bytes at most.
        folder = os.open(self._folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.sock.connect(f"/proc/self/fd/{folder}/{SOCKET}")
        finally:
            os.close(folder)


def call(document: ConfigDocument, operation: str, arguments: dict[str, Any], target: IO[bytes] | None = None) -> Any:
    """Run one operation and return its result. A file that it makes is written to `target`.

    Of the configuration it reads what it needs to find a running service, and all where none runs. Raises Refused, ConfigError,
    StoreUnavailable and Lost.
    """
    body = _encoded(arguments)
    deadline = time.monotonic() + WAIT_S
    # Over a store of several processes a command works beside them, whether or not the one on this machine answers.
    asks = not document.names_store()
    while True:
        service = connect(document.data_dir()) if asks else None
        if service is not None:
            return _sent(service, operation, body, target)

        # Imported where no service runs: with one, a command needs nothing of the store.
        from chatsvc.config import build
        from chatsvc.control.local_operations import FolderInUse, run

        try:
            return run(build(document), operation, arguments, target)
        except FolderInUse:
            # A server that starts or stops, or another command: both are short.
            if time.monotonic() > deadline:
                raise refusals.folder_held(folder=str(document.data_dir())) from None
            time.sleep(0.02)


def _encoded(arguments: dict[str, Any]) -> bytes:
    try:
        return json.dumps(arguments, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        # Python keeps the bytes of such an argument as lone surrogates, which nothing here can store or show.
        raise refusals.argument_not_unicode() from None


def connect(folder: Path, timeout_s: float | None = None) -> Service | None:
    """Connect to the service that runs on this folder; None where none answers."""
    service = Service(folder, timeout_s)
    try:
        service.connect()
    except OSError:
        service.close()
        return None
    return service


def ask(service: Service, operation: str, arguments: dict[str, Any]) -> Any:
    """Send one operation to the running service, return its result and close the connection. Raises Refused and Lost."""
    return _sent(service, operation, _encoded(arguments))


def _sent(service: Service, operation: str, body: bytes, target: IO[bytes] | None = None) -> Any:
    try:
        service.request("POST", f"/operations/{operation}", body, {"Content-Type": "application/json"})
        with service.getresponse() as answer:
            result = json.loads(answer.readline())
            if answer.status != REFUSED and target is not None:
                _copy(answer, target)
    except (OSError, ValueError, http.client.HTTPException) as fault:
        raise Lost(f"the service went away before it answered: {fault}") from fault
    finally:
        service.close()
    if answer.status == REFUSED:
        raise Refused(result["code"], **result["facts"])
    return result


def _copy(answer: http.client.HTTPResponse, target: IO[bytes]) -> None:
    while piece := answer.read(_PIECE):
        try:
            target.write(piece)
        except OSError as fault:
            raise CommandError(f"the file cannot be written: {fault.strerror or fault}") from None
    if answer.length:
        raise Lost("the service went away before the file was whole")
