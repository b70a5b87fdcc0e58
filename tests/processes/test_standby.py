"""A second process stands by and takes over; one that was replaced ends."""

from __future__ import annotations

import json
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from typing import Any

import psycopg
import pytest

from tests.cli.support import Serving
from tests.processes.conftest import NewSite
from tests.processes.support import PostgresSite


def logged(site: PostgresSite, text: str, within_s: float = 15) -> None:
    """Wait for a line of the log."""
    wait_for(lambda: text in site.log.read_text(), within_s, site)


def wait_for(done: Callable[[], object], within_s: float, site: PostgresSite) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + within_s
    while not done():
        assert time.monotonic() < deadline, site.log.read_text()
        time.sleep(0.05)


def fixed_port(site: PostgresSite) -> int:
    """Let the site listen on a port that is known before."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
    site.change("127.0.0.1:0", f"127.0.0.1:{port}")
    return port


def refuses(port: int) -> bool:
    """Report whether connections are refused."""
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) != 0


def terminate_sessions(site: PostgresSite) -> None:
    """End all sessions of the service."""
    place = f"host={site.server.folder} port={site.server.port} user=admin dbname={site.database}"
    with psycopg.connect(place, autocommit=True) as admin:
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'chatsvc' AND datname = current_database()")


def chat(serving: Serving, made: Any, user: str) -> int:
    """Send a message; return the status."""
    body = {"chatbot_id": made["bot"]["id"], "message": "hello", "user_id": user}
    return serving.ask(made["key"]["key"], "POST", "/messages", body).status


@pytest.mark.parametrize(("number", "within_s"), [(signal.SIGKILL, 15), (signal.SIGTERM, 3), (signal.SIGSTOP, 15)])
def test_a_second_process_waits_without_listening_and_takes_over(new_site: NewSite, number: signal.Signals, within_s: float) -> None:
    first, second = new_site("first"), new_site("second")
    made = first.json("init")
    first.json("bot", "set", made["bot"]["id"], "--model", "offline")
    port = fixed_port(second)
    with first.serve() as worker, second.serve(ready=False) as other:
        assert chat(worker, made, "one") == 200
        assert worker.ask(made["key"]["key"], "GET", "/chatbots").status == 200
        logged(second, "standing by: ")
        assert refuses(port)
        logged(second, "works since")
        listed = first.json("nodes")
        assert [node["state"] for node in listed] == ["working", "standby"]
        assert {tuple(node) for node in listed} == {("id", "state", "since", "listen", "version")}
        assert [node["listen"] for node in listed] == [worker.url.removeprefix("http://"), f"127.0.0.1:{port}"]
        worker.process.send_signal(number)
        sent = time.monotonic()
        other.wait_until_ready()
        assert time.monotonic() - sent < within_s
        assert chat(other, made, "two") == 200
        assert second.json("usage")["usage"]["total_messages"] == 2
        (node,) = second.json("nodes")
        assert (node["state"], node["listen"]) == ("working", f"127.0.0.1:{port}")
        if number == signal.SIGSTOP:
            # It soon finds itself replaced, answers nobody, not from its caches either, and ends.
            worker.process.send_signal(signal.SIGCONT)
            with suppress(OSError, HTTPException):
                while (status := worker.ask(made["key"]["key"], "GET", "/chatbots").status) == 200:
                    time.sleep(0.05)
                assert status == 503
            assert worker.wait() == 1
            assert "another process has taken over" in first.log.read_text()
        assert other.end() == 0


def test_a_process_that_stands_by_ends_at_once(new_site: NewSite) -> None:
    first, second = new_site("first"), new_site("second")
    with first.serve(), second.serve(ready=False) as other:
        logged(second, "standing by: ")
        wait_for(lambda: len(first.json("nodes")) == 2, 10, second)
        started = time.monotonic()
        assert other.end() == 0
        assert time.monotonic() - started < 3
        assert [node["state"] for node in first.json("nodes")] == ["working"]
        with second.serve(ready=False):
            wait_for(lambda: len(first.json("nodes")) == 2, 10, second)
            # The folder is in use, though nothing listens.
            assert "is running on" in second.refused("serve")


def test_the_worker_keeps_its_place_when_its_session_breaks_and_when_postgresql_restarts(new_site: NewSite) -> None:
    first, second = new_site("first"), new_site("second")
    made = first.json("init")
    first.json("bot", "set", made["bot"]["id"], "--model", "offline")
    with first.serve() as worker, second.serve(ready=False):
        logged(second, "works since")
        for breaks in (terminate_sessions, restart):
            breaks(first)
            wait_for(lambda: chat(worker, made, "v") == 200, 15, first)
        time.sleep(6)  # longer than the grace after which another one would take over
        assert chat(worker, made, "v") == 200
        assert worker.process.poll() is None


def restart(site: PostgresSite) -> None:
    """Restart PostgreSQL."""
    site.server.process.send_signal(signal.SIGINT)
    site.server.process.wait(20)
    site.server.start()


def test_without_postgresql_messages_are_refused_and_answered_again_afterwards(new_site: NewSite) -> None:
    site = new_site("first")
    made = site.json("init")
    site.json("bot", "set", made["bot"]["id"], "--model", "offline")
    with site.serve() as serving:
        site.server.process.send_signal(signal.SIGINT)
        site.server.process.wait(20)
        started = time.monotonic()
        try:
            assert chat(serving, made, "v") == 503
            assert time.monotonic() - started < 10
            said = site.refused("bot", "list")
        finally:
            site.server.start()
        assert "the store cannot answer" in said
        wait_for(lambda: chat(serving, made, "v") == 200, 15, site)
        assert serving.end() == 0


def test_a_process_that_stands_by_waits_for_postgresql_too(new_site: NewSite) -> None:
    first, second = new_site("first"), new_site("second")
    first.json("init")
    with first.serve() as worker, second.serve(ready=False) as other:
        logged(second, "works since")
        first.server.process.send_signal(signal.SIGINT)
        first.server.process.wait(20)
        logged(second, "the store cannot answer")
        worker.end(signal.SIGKILL)
        first.server.start()
        other.wait_until_ready()


def test_a_process_that_stands_by_ends_when_a_newer_version_or_another_key_is_in_force(new_site: NewSite) -> None:
    first, second, third = new_site("first"), new_site("second"), new_site("third")
    (first.folder / "key").write_text("6b" * 32)
    with first.serve(), second.serve(ready=False) as other:
        logged(second, "works since")
        first.json("master-key", "rotate", "--new-key-file", first.folder / "key")
        assert other.wait() == 1
        assert "not the one this database was made with" in json.dumps(second.log.read_text())
    third.change("5a" * 32, "6b" * 32)
    with third.serve() as worker:
        first.change("5a" * 32, "6b" * 32)
        with first.serve(ready=False) as other:
            logged(first, "works since")
            place = f"host={first.server.folder} port={first.server.port} user=admin dbname={first.database}"
            with psycopg.connect(place, autocommit=True) as admin:
                admin.execute("UPDATE chatsvc_schema SET version = version + 1")
            assert other.wait() == 1
            assert "install the newer chatsvc again" in first.log.read_text()
        assert worker.process.poll() is None
