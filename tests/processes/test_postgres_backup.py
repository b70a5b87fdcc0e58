"""Backups of a store in PostgreSQL: SQLite files as ever, which either store takes back."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import Site
from tests.postgres import Postgres
from tests.processes.support import MASTER_KEY, PostgresSite


@pytest.fixture
def records(site: PostgresSite) -> dict[str, Any]:
    report: dict[str, Any] = site.json("init")
    site.json("bot", "set", report["bot"]["id"], "--model", "offline")
    site.json("webhook", "set", report["bot"]["id"], "https://1.1.1.1/chat", "--event", "request.created")
    with site.serve() as serving:
        body = {"chatbot_id": report["bot"]["id"], "message": "hello", "user_id": "v"}
        assert serving.ask(report["key"]["key"], "POST", "/messages", body).status == 200
        assert serving.end() == 0
    return report


def looked_at(site: Site) -> list[Any]:
    bot = site.json("bot", "list")[0]["id"]
    commands = (["account", "list"], ["key", "list"], ["webhook", "show", bot])
    return [site.json(*command) for command in commands] + [site.json("conversation", "list", "--bot", bot)]


@pytest.mark.parametrize(("kind", "served"), [("sqlite", True), ("postgres", False)])
def test_a_backup_is_restored_into_either_store(
    site: PostgresSite, records: dict[str, Any], server: Postgres, tmp_path: Path, kind: str, *, served: bool
) -> None:
    file = tmp_path / "one.backup"
    if served:
        with site.serve() as serving:
            copy = site.json("backup", "create", file)
            assert serving.end() == 0
    else:
        copy = site.json("backup", "create", file)
    assert (copy["counts"]["messages"], copy["counts"]["webhooks"]) == (2, 1)
    (tmp_path / "key").write_text(MASTER_KEY)
    report = site.json("backup", "verify", file, "--master-key-file", tmp_path / "key")
    assert (report["valid"], report["authenticated"]) == (True, True)
    other: Site
    if kind == "postgres":
        other = PostgresSite(tmp_path / "other", server, server.new_database())
    else:
        (tmp_path / "other").mkdir()
        other = Site(tmp_path / "other", f"models: {{offline: {{engine: knowledge}}}}\nmaster_key: {MASTER_KEY}")
    assert other.json("backup", "restore", file)["counts"] == copy["counts"]
    assert looked_at(other) == looked_at(site)
    with other.serve() as serving:
        body = {"chatbot_id": records["bot"]["id"], "message": "hello", "user_id": "v"}
        assert serving.ask(records["key"]["key"], "POST", "/messages", body).status == 200
        assert serving.end() == 0
    assert other.json("usage")["usage"]["total_messages"] == 2


def test_a_backup_is_restored_into_an_empty_database_alone(
    site: PostgresSite, records: dict[str, Any], server: Postgres, tmp_path: Path
) -> None:
    del records
    file = tmp_path / "one.backup"
    site.json("backup", "create", file)
    assert "is not empty" in site.refused("backup", "restore", file)
    other = PostgresSite(tmp_path / "other", server, server.new_database())
    second = PostgresSite(tmp_path / "second", server, other.database)
    with other.serve() as serving:
        assert "a process works on" in second.refused("backup", "restore", file)
        assert serving.end() == 0
    other.change(MASTER_KEY, "6b" * 32)
    assert "master key" in other.refused("backup", "restore", file)


def test_an_account_moves_from_one_store_to_the_other(site: PostgresSite, records: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "account.jsonl"
    site.run("account", "export", records["account"]["id"], file)
    (tmp_path / "other").mkdir()
    other = Site(tmp_path / "other")
    done = other.run("account", "import", file)
    assert done.status == 0, done
    assert looked_at(other)[0] == looked_at(site)[0]
    back = tmp_path / "back.jsonl"
    assert other.run("account", "export", records["account"]["id"], back).status == 0
    site.json("account", "delete", records["account"]["id"], "--yes")
    assert site.run("account", "import", back).status == 0
    assert site.json("usage")["usage"]["total_messages"] == 1
