"""Any number of processes serve over one PostgreSQL: all of them work, and what one leaves is taken over."""

import json
import os
import pwd
import socket
import time
from collections.abc import Callable
from typing import Any

from tests.cli.support import Serving
from tests.processes.conftest import NewSite
from tests.processes.support import PostgresSite


def wait_for(done: Callable[[], object], within_s: float, site: PostgresSite) -> None:
    deadline = time.monotonic() + within_s
    while not done():
        assert time.monotonic() < deadline, site.log.read_text()
        time.sleep(0.05)


def fixed_port(site: PostgresSite) -> int:
    """Let the site listen on a port that is known before."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    site.change("127.0.0.1:0", f"127.0.0.1:{port}")
    return port


def chat(serving: Serving, made: Any, user: str) -> int:
    body = {"chatbot_id": made["bot"]["id"], "message": "hello", "user_id": user}
    return serving.ask(made["key"]["key"], "POST", "/messages", body).status


def begin(site: PostgresSite) -> Any:
    """Make an account with a bot that replies from its knowledge."""
    report = site.json("init")
    site.json("bot", "set", report["bot"]["id"], "--model", "offline")
    return report


def test_all_processes_work_and_a_command_is_in_force_in_each_when_it_returns(new_site: NewSite) -> None:
    first, second, third = new_site("first"), new_site("second"), new_site("third")
    report = begin(first)
    with first.serve() as first_serving, second.serve() as other:
        for number, serving in enumerate((first_serving, other, first_serving, other)):
            assert chat(serving, report, f"v{number}") == 200
        listed = third.json("nodes")
        assert {tuple(node) for node in listed} == {("id", "since", "listen", "version")}
        assert [node["listen"] for node in listed] == [serving.url.removeprefix("http://") for serving in (first_serving, other)]
        assert third.json("usage")["usage"]["total_messages"] == 4
        exported = third.folder / "account.jsonl"
        third.json("account", "export", report["account"]["id"], exported)
        assert b"hello" in exported.read_bytes()
        assert not list(third.data.glob("outgoing-*"))
        # In force when the command returns, wherever it is given.
        for site, command, status in (
            (third, ("bot", "deactivate", report["bot"]["id"]), 409),
            (first, ("bot", "activate", report["bot"]["id"]), 200),
            (second, ("account", "set", report["account"]["id"], "--messages-limit", "1"), 402),
            (third, ("account", "set", report["account"]["id"], "--plan", "starter"), 403),
            (first, ("account", "set", report["account"]["id"], "--plan", "enterprise"), 200),
            (third, ("key", "revoke", report["key"]["id"]), 401),
        ):
            site.json(*command)
            assert [chat(serving, report, "v") for serving in (first_serving, other)] == [status, status], command
        acts = {act["operation"]: act["actor"] for act in first.json("audit")}
        assert pwd.getpwuid(os.getuid()).pw_name in json.dumps(acts["key.revoke"])
        assert first_serving.end() == 0
        assert [node["listen"] for node in third.json("nodes")] == [other.url.removeprefix("http://")]


def test_a_process_ends_when_a_newer_version_or_another_key_is_in_force(new_site: NewSite) -> None:
    first, second = new_site("first"), new_site("second")
    begin(first)
    (first.folder / "key").write_text("6b" * 32)
    with first.serve() as serving:
        second.json("master-key", "rotate", "--new-key-file", first.folder / "key")
        assert serving.wait() == 1
        assert "has another master key by now" in first.log.read_text()
    for site in (first, second):
        site.change("5a" * 32, "6b" * 32)
    with first.serve() as serving:
        first.run_as_admin("UPDATE chatsvc_schema SET version = version + 1")
        assert serving.wait() == 1
        assert "a newer version has taken over" in first.log.read_text()
    assert "install the newer chatsvc again" in second.refused("serve")
    first.run_as_admin("UPDATE chatsvc_schema SET version = version - 1")
