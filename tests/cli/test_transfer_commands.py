"""`chatsvc account export` and `import`: the file, and what becomes of one that is not as it was written."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from tests.cli.support import Site
from tests.cli.test_conversation_commands import talk


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object], str]:
    """An exported account: its file, its output, and one of its keys."""
    folder = tmp_path_factory.mktemp("source")
    site = Site(folder)
    with site.serve():
        bot, key = talk(site)
        site.json("webhook", "set", bot, "--pull", "--event", "request.created")
        (account,) = site.json("account", "list")
        done = site.json("account", "export", account["id"], folder / "acme.jsonl")
        account = site.json("account", "show", account["id"])
    assert done["id"] == account["id"]
    return folder / "acme.jsonl", account, key


def test_an_account_is_moved_with_its_key_between_installations(exported: tuple[Path, dict[str, object], str], fresh: Site) -> None:
    file, account, key = exported
    assert file.stat().st_mode & 0o777 == 0o600
    assert key not in file.read_text()
    moved = fresh.json("account", "import", file)
    ((webhook),) = moved.pop("webhooks")
    assert webhook["signing_key"].startswith("whsec_")
    assert moved == account
    with fresh.serve() as serving:
        listed = serving.ask(key, "GET", "/conversations").json["data"]
        assert sorted(one["user_id"] for one in listed) == ["v0", "v1", "v2"]
        assert "already" in fresh.refused("account", "import", file)
    fresh.serving = None


def _with_end(lines: list[bytes]) -> bytes:
    """The lines with a last one that fits them."""
    body = b"".join(line + b"\n" for line in lines)
    return body + json.dumps({"end": len(lines), "sha256": hashlib.sha256(body).hexdigest()}).encode() + b"\n"


def test_a_file_that_is_not_as_it_was_written_is_refused_and_leaves_nothing(
    exported: tuple[Path, dict[str, object], str], fresh: Site
) -> None:
    lines = exported[0].read_bytes().splitlines()
    newer = json.dumps({**json.loads(lines[0]), "version": 99}).encode()
    other = json.dumps({**json.loads(lines[0]), "account": "another"}).encode()
    for content, says in (
        (b"", "is empty"),
        (b"hello\n", "no file of"),
        (exported[0].read_bytes().replace(b"Merhaba", b"merhaba", 1), "damaged"),
        (b"\n".join(lines[:-1]) + b"\n", "damaged"),
        (b"\n".join(lines[:5] + lines[6:]) + b"\n", "damaged"),
        (_with_end([newer, *lines[1:-1]]), "version 99"),
        (_with_end([other, *lines[1:-1]]), "another account"),
        (_with_end(lines[:1]), "no account in it"),
        (_with_end([*lines[:-1], b'"x"']), "no record"),
        (_with_end([*lines[:-1], lines[1]]), "no record"),
        (_with_end([*lines[:-1], lines[-2]]), "does not fit"),
    ):
        file = fresh.folder / "changed.jsonl"
        file.write_bytes(content)
        assert says in fresh.refused("account", "import", file), says
    assert fresh.json("account", "list") == []


def test_the_line_of_a_record_that_is_refused_is_named(exported: tuple[Path, dict[str, object], str], fresh: Site) -> None:
    lines = exported[0].read_bytes().splitlines()[:-1]
    kinds = [json.loads(line)[0] for line in lines[1:]]
    file = fresh.folder / "changed.jsonl"
    for kind, field, value in (
        ("account", "created_at", 7),
        ("message", "role", "system"),
        ("message", "conversation_id", "00000000-0000-4000-8000-000000000000"),
        ("usage", "bot_id", "00000000-0000-4000-8000-000000000000"),
    ):
        at = kinds.index(kind) + 1
        changed = json.dumps([kind, {**json.loads(lines[at])[1], field: value}]).encode()
        file.write_bytes(_with_end([*lines[:at], changed, *lines[at + 1 :]]))
        assert f"line {at + 1}: " in fresh.refused("account", "import", file)
    assert fresh.json("account", "list") == []
    # Nothing of them is in the store either.
    assert {one["name"] for one in fresh.json("bot", "list")} == set()


def test_what_is_refused_makes_no_file_and_writes_over_none(fresh: Site) -> None:
    file = fresh.folder / "kept.jsonl"
    file.write_text("something else")
    assert "is there already" in fresh.refused("account", "export", fresh.account(), file)
    assert file.read_text() == "something else"
    file = fresh.folder / "none.jsonl"
    assert "there is no account" in fresh.refused("account", "export", "nobody", file)
    assert not file.exists()
