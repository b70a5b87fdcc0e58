"""A rolling restart of two processes loses no message."""

from __future__ import annotations

import threading
import time
from typing import Any

from tests.cli.support import Response, Serving, ask
from tests.processes.conftest import NewSite
from tests.processes.test_serving import fixed_port


class Visitor(threading.Thread):
    """Sends messages, and tries the other process if a connection is refused."""

    def __init__(self, made: Any, ports: list[int]) -> None:
        super().__init__()
        self._made, self._ports = made, ports
        self.ended = threading.Event()
        self.statuses: list[int] = []
        self.faults: list[Exception] = []

    def run(self) -> None:
        """Send until told to end."""
        while not self.ended.is_set():
            try:
                self.statuses.append(self._send().status)
            except OSError as fault:
                self.faults.append(fault)
                return

    def _send(self) -> Response:
        body = {"chatbot_id": self._made["bot"]["id"], "message": "hello", "user_id": f"v{len(self.statuses)}"}
        deadline = time.monotonic() + 20
        while True:
            for port in self._ports:
                try:
                    return ask(f"http://127.0.0.1:{port}", self._made["key"]["key"], "POST", "/messages", body)
                except ConnectionRefusedError:
                    continue
            if time.monotonic() > deadline:
                raise TimeoutError("nobody listens")
            time.sleep(0.05)


def test_callers_who_try_again_lose_no_message(new_site: NewSite) -> None:
    first, second = new_site("first"), new_site("second")
    for site in (first, second):
        site.change("master_key:", "limits: {requests_per_minute: 100000}\nmaster_key:")
    ports = [fixed_port(first), fixed_port(second)]
    made = first.json("init")
    first.json("bot", "set", made["bot"]["id"], "--model", "offline")
    visitor = Visitor(made, ports)
    with first.serve() as worker, second.serve() as other:
        visitor.start()
        try:
            sent = progress(visitor, 5)
            assert worker.end() == 0
            progress(visitor, sent + 5)
            with Serving(first.config, first.log, first.folder):
                assert len(second.json("nodes")) == 2
                assert other.end() == 0
                progress(visitor, len(visitor.statuses) + 5)
                visitor.ended.set()
                visitor.join(20)
                assert (visitor.faults, set(visitor.statuses)) == ([], {200})
                assert first.json("usage")["usage"]["total_messages"] == len(visitor.statuses)
        finally:
            visitor.ended.set()


def progress(visitor: Visitor, wanted: int) -> int:
    """Wait until so many messages were answered."""
    deadline = time.monotonic() + 20
    while len(visitor.statuses) < wanted:
        assert time.monotonic() < deadline
        assert visitor.faults == []
        time.sleep(0.05)
    return len(visitor.statuses)
