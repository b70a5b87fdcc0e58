"""Commands reach the process that works from any machine."""

from __future__ import annotations

import json
import os
import pwd
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest

from chatsvc.app import App
from chatsvc.config import Config, load
from chatsvc.control import remote
from chatsvc.control.alone import detached_file
from chatsvc.control.handing_over import hand_over
from chatsvc.domain.actors import local_user
from chatsvc.usecases import stores
from tests.cli.support import Done
from tests.processes.conftest import NewSite
from tests.processes.support import PostgresSite
from tests.processes.test_standby import chat, logged, wait_for


def rows(site: PostgresSite, statement: str) -> list[tuple[object, ...]]:
    """Read from the database."""
    with psycopg.connect(f"host={site.server.folder} port={site.server.port} user=admin dbname={site.database}") as connection:
        return connection.execute(statement.encode()).fetchall()


@pytest.mark.parametrize("beside", ["a process that stands by", "nothing"])
def test_a_command_anywhere_is_performed_by_the_process_that_works(new_site: NewSite, beside: str) -> None:
    first, second = new_site("first"), new_site("second")
    made = first.json("init")
    first.json("bot", "set", made["bot"]["id"], "--model", "offline")
    with first.serve() as worker:
        if beside != "nothing":
            second.serve(ready=False)
            logged(second, "works since")
        assert chat(worker, made, "v") == 200
        assert second.json("usage")["usage"]["total_messages"] == 1
        # In force when the command returns.
        second.json("key", "revoke", made["key"]["id"])
        assert chat(worker, made, "v") == 401
        assert "there is no bot nonsense" in second.refused("bot", "show", "nonsense")
        exported = second.folder / "account.jsonl"
        second.json("account", "export", made["account"]["id"], exported)
        assert b"hello" in exported.read_bytes()
        acts = {act["operation"]: act["actor"] for act in first.json("audit")}
        user = pwd.getpwuid(os.getuid()).pw_name
        assert f"{user}@{os.uname().nodename}" in json.dumps(acts["key.revoke"])
        assert rows(first, "SELECT * FROM remote_commands") == rows(first, "SELECT * FROM remote_files") == []
        assert not list(second.data.glob("outgoing-*"))


def test_a_process_that_hangs_is_named_and_nothing_is_done(new_site: NewSite) -> None:
    first, second = new_site("first"), new_site("second")
    first.json("init")
    with first.serve() as worker:
        (node,) = second.json("nodes")
        worker.process.send_signal(signal.SIGSTOP)
        said: list[Done] = []
        asking = threading.Thread(target=lambda: said.append(second.run("bot", "create", "Late")))
        asking.start()
        asking.join(9)
        worker.process.send_signal(signal.SIGCONT)
        asking.join()
        # The worker has lost its place to the command, or the command was refused; never both.
        names = [bot["name"] for bot in second.json("bot", "list")]
        if said[0].status:
            assert node["id"] in said[0].err
            assert "Late" not in names
        else:
            assert names.count("Late") == 1


def test_a_command_under_way_ends_with_the_process_that_performs_it(new_site: NewSite) -> None:
    first, second = new_site("first"), new_site("second")
    made = first.json("init")
    with first.serve() as worker:
        place = f"host={first.server.folder} port={first.server.port} user=admin dbname={first.database}"
        with psycopg.connect(place) as admin:
            # The command waits for a row that another session has locked.
            admin.execute("SELECT * FROM bots FOR UPDATE")
            said: list[Done] = []
            asking = threading.Thread(target=lambda: said.append(second.run("bot", "set", made["bot"]["id"], "--description", "x")))
            asking.start()
            deadline = time.monotonic() + 10
            while rows(first, "SELECT taken_by FROM remote_commands WHERE taken_by IS NOT NULL") == []:
                assert time.monotonic() < deadline
                time.sleep(0.05)
            worker.end(signal.SIGKILL)
            asking.join()
    assert said[0].status == 1
    assert "may have taken effect" in said[0].err


@pytest.mark.parametrize("most", [3, 2])
async def test_a_file_in_parts_arrives_whole_and_one_with_too_many_is_refused(
    site: PostgresSite, config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    assert (remote.PART, remote.MOST_PARTS) == (1 << 20, 64)
    monkeypatch.setattr(remote, "PART", 1000)
    monkeypatch.setattr(remote, "MOST_PARTS", most)
    content = os.urandom(2500)

    async def answer(*_: object) -> dict[str, Any]:
        """As `backup create` answers."""
        draft = tmp_path / "made"
        draft.write_bytes(content)
        return {"result": {"draft": str(draft), "bytes": len(content)}}

    monkeypatch.setattr(remote, "answer", answer)
    settings = load(site.config)
    async with App(replace(config, store=settings.store, master_key=settings.master_key)) as app:
        session = stores.session(settings, app.services.secret)
        assert session is not None
        given = await hand_over(session, app.services.secret, local_user(0), b"{}", tmp_path)
        await session.close()
        if most == 2:
            assert given["refused"]["code"] == "remote_file_too_large"
            return
        fetched = detached_file(given["result"])
        assert fetched is not None
        with fetched:
            assert fetched.read() == content
        assert given == {"result": {"bytes": 2500}}


def test_a_request_that_was_not_sealed_by_us_is_not_performed(new_site: NewSite) -> None:
    first = new_site("first")
    first.json("init")
    with first.serve():
        place = f"host={first.server.folder} port={first.server.port} user=admin dbname={first.database}"
        with psycopg.connect(place, autocommit=True) as admin:
            admin.execute("INSERT INTO remote_commands (id, sealed_request, created_at, parts) VALUES ('x', 'forged', clock_ms(), 0)")
        logged(first, "a command of another process is not performed")
        assert rows(first, "SELECT sealed_answer FROM remote_commands") == [(None,)]
        # Nobody has fetched the answer for an hour.
        with psycopg.connect(place, autocommit=True) as admin:
            admin.execute("UPDATE remote_commands SET created_at = created_at - 3600000")
        wait_for(lambda: rows(first, "SELECT * FROM remote_commands") == [], 10, first)
