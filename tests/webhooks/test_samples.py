"""The receivers of help/webhooks.md, run as they stand in the page: hostile requests leave them standing, and a record is kept once."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatsvc.domain.webhooks import sign

PAGE = (Path(__file__).parents[2] / "chatsvc" / "help" / "webhooks.md").read_text("utf-8")
KEY = "whsec_" + "k" * 43
RECORD = "3c859305-97a8-43d5-8019-53b766734720"
COMMANDS = {
    "js": ("node", "receiver.js"),
    "python": (sys.executable, "receiver.py"),
    "php": ("php", "-d", "display_errors=0", "-S", "127.0.0.1:{port}", "receiver.php"),
}
UNSIGNED = {
    "no signature": [],
    "an empty signature": [b"X-Service-Signature: "],
    "half a signature": [b"X-Service-Signature: sha256=" + b"a" * 32],
    "a wrong signature": [b"X-Service-Signature: sha256=" + b"a" * 64],
    "another scheme": [b"X-Service-Signature: md5=" + b"a" * 32],
    "bytes that are no text": [b"X-Service-Signature: \xff\xfe\x80" + b"a" * 68],
    "letters beyond ASCII": [b"X-Service-Signature: sha256=" + "ç".encode() * 32],
    "two signatures": [b"X-Service-Signature: a", b"X-Service-Signature: b"],
}


def event(**data: object) -> bytes:
    return json.dumps({"event": "request.created", "data": {"id": RECORD, "message": "Merhaba", **data}}).encode()


def signed(body: bytes) -> list[bytes]:
    return [b"X-Service-Signature: " + sign(KEY, body).encode()]


class Receiver:
    """A receiver that runs as a program of its own."""

    def __init__(self, language: str, folder: Path) -> None:
        program, *arguments = COMMANDS[language]
        path = shutil.which(program)
        if path is None:
            pytest.skip(f"{program} is not on this machine")
        (text, *_) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
        (folder / arguments[-1]).write_text(text, "utf-8")
        self.inbox = folder / "inbox"
        for _ in range(5):  # another program may take the port before the receiver opens it
            with socket.create_server(("127.0.0.1", 0)) as probe:
                self.port = probe.getsockname()[1]
            env = {**os.environ, "WEBHOOK_SIGNING_KEY": KEY, "PORT": str(self.port)}
            words = [path, *(word.format(port=self.port) for word in arguments)]
            self.process = subprocess.Popen(words, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if self._listens():
                return
        raise AssertionError("the receiver did not start")

    def _listens(self) -> bool:
        """Wait until the receiver's own process answers; return False if it has ended instead."""
        deadline = time.monotonic() + 30
        while self.process.poll() is None and time.monotonic() < deadline:
            # An answer to an unsigned request, for a connection alone may be to a program that took the port.
            with contextlib.suppress(OSError):
                if self.send(b"", []) == 401:
                    return True
            time.sleep(0.02)
        self.process.kill()
        self.process.wait(20)
        return False

    def send(self, body: bytes, headers: list[bytes], *, length: int | None = None, method: bytes = b"POST") -> int | None:
        """Send a request and return the status; None if the receiver hung up without one."""
        head = [
            method + b" /hook HTTP/1.1",
            b"Host: localhost",
            b"Content-Length: %d" % (len(body) if length is None else length),
            *headers,
        ]
        with socket.create_connection(("127.0.0.1", self.port), 20) as connection:
            try:
                connection.sendall(b"\r\n".join(head) + b"\r\n\r\n" + body)
                if length is not None:
                    connection.shutdown(socket.SHUT_WR)
            except ConnectionError:  # it answered a body that is too large before it was all there
                pass
            try:
                answer = connection.recv(1000)
            except ConnectionError:
                return None
        return int(answer.split()[1]) if answer else None

    def kept(self) -> list[str]:
        return sorted(file.name for file in self.inbox.glob("*")) if self.inbox.exists() else []


@pytest.fixture(scope="module", params=COMMANDS)
def receiver(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    running = Receiver(request.param, tmp_path_factory.mktemp(request.param))
    yield running
    assert running.process.poll() is None, "a request ended the receiver"
    running.process.terminate()
    running.process.wait(20)


@pytest.mark.parametrize("headers", UNSIGNED.values(), ids=UNSIGNED)
def test_what_is_not_signed_is_refused(headers: list[bytes], receiver: Receiver) -> None:
    # A server may refuse bytes that are no text before the program sees them.
    assert receiver.send(event(), headers) in ((400, 401) if headers and b"\xff" in headers[0] else (401,))
    assert receiver.kept() == []


def test_a_body_that_breaks_off_is_refused(receiver: Receiver) -> None:
    body = event()
    assert receiver.send(body[:20], signed(body), length=len(body)) in (None, 400, 401)
    assert receiver.kept() == []


def test_ten_megabytes_are_refused(receiver: Receiver) -> None:
    body = b" " * 10_000_000
    assert receiver.send(body, signed(body)) in (None, 413)
    assert receiver.kept() == []


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b'"text"', b"{}", b'{"data": 1}', b"[" * 100_000, b"\xff"])
def test_a_signed_body_that_is_no_event_is_a_failure(body: bytes, receiver: Receiver) -> None:
    assert receiver.send(body, signed(body)) == 500
    assert receiver.kept() == []


def test_other_methods_are_refused(receiver: Receiver) -> None:
    assert receiver.send(b"", [], method=b"GET") in (405, 501)


def test_an_event_is_kept_once_and_a_test_not_at_all(receiver: Receiver) -> None:
    for body in (event(is_test=True), event(), event()):
        assert receiver.send(body, signed(body)) == 204
    assert receiver.kept() == [f"{RECORD}.json"]
    assert json.loads((receiver.inbox / f"{RECORD}.json").read_bytes())["data"]["message"] == "Merhaba"
