"""`chatsvc conversation` and `saved-reply`, `account export` and `import`, with a service and without one."""

import codecs
import csv
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import Site, usage_error


def talk(site: Site, visitors: int = 3, messages: int = 2) -> tuple[str, str]:
    """A bot with conversations on a served installation, as its id and a key."""
    account = site.account()
    bot, key = site.bot(account), site.key(account)
    site.json("knowledge", "add", bot, _greeting(site.folder))
    assert site.serving
    for visitor in range(visitors):
        for i in range(messages):
            body = {"chatbot_id": bot, "message": "Hello there" if i else "Merhaba", "user_id": f"v{visitor}"}
            assert site.serving.ask(key, "POST", "/messages", body).status == 200
    return bot, key


def _greeting(folder: Path) -> Path:
    file = folder / "faq.md"
    file.write_text("## Hello there\nHi, “you”,\nhow are you?\n\n## Merhaba\nMerhaba, hoş geldiniz\n")
    return file


def test_erasing_wants_a_yes_and_then_says_what_has_gone(fresh: Site) -> None:
    with fresh.serve():
        bot, _ = talk(fresh)
        another, _ = talk(fresh, visitors=1, messages=1)
        usage_error(fresh.run("conversation", "erase", "--user-id", "v1"), "add --yes")
        # Of several accounts one is named.
        assert "there are 2 accounts" in fresh.refused("conversation", "erase", "--user-id", "v1", "--yes")
        accounts = [account["id"] for account in fresh.json("account", "list")]
        both = fresh.run("conversation", "erase", "--user-id", "v1", "--account", accounts[0], "--bot", bot, "--yes")
        usage_error(both, "one of them")
        erased = fresh.json("conversation", "erase", "--user-id", "v1", "--account", accounts[0], "--yes")
        none = dict.fromkeys(("requests", "appointments", "events", "attempts", "questions"), 0)
        assert erased == {"user_id": "v1", "conversations": 1, "messages": 4, **none}
        assert sorted(conversation["user_id"] for conversation in fresh.json("conversation", "list", "--bot", bot)) == ["v0", "v2"]
    fresh.serving = None
    assert fresh.json("conversation", "erase", "--user-id", "v2", "--bot", bot, "--yes")["messages"] == 4
    assert [conversation["user_id"] for conversation in fresh.json("conversation", "list", "--bot", bot)] == ["v0"]
    assert len(fresh.json("conversation", "list", "--bot", another)) == 1
    assert "there is no bot" in fresh.refused("conversation", "erase", "--user-id", "v0", "--bot", "x", "--yes")


def lines(site: Site, *options: str | Path) -> list[dict[str, Any]]:
    done = site.run("conversation", "export", *options)
    assert (done.status, done.err) == (0, "")
    return [json.loads(line) for line in done.out.splitlines()]


def test_every_form_of_an_export_has_every_message(fresh: Site) -> None:
    with fresh.serve() as serving:
        bot, key = talk(fresh)
        ids = [item["id"] for item in serving.ask(key, "GET", "/conversations").json["data"]]
        shown = {id_: serving.ask(key, "GET", f"/conversations/{id_}").json["data"] for id_ in ids}
        exported = lines(fresh, "--bot", bot)
        assert {conversation["id"]: conversation for conversation in exported} == shown
        assert fresh.json("conversation", "export") == exported
    fresh.serving = None
    assert lines(fresh) == exported
    file = fresh.folder / "out.csv"
    done = fresh.run("conversation", "export", "--output", file)
    assert (done.status, done.out, done.err) == (0, "", f"3 conversations with 12 messages written to {file}\n")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_bytes().startswith(codecs.BOM_UTF8)  # else spreadsheets misread Turkish letters
    with file.open(newline="", encoding="utf-8-sig") as stream:
        records = list(csv.DictReader(stream))
    assert [(row["conversation_id"], row["message_id"], row["content"], row["created_at"]) for row in records] == [
        (conversation["id"], m["id"], m["content"], m["created_at"]) for conversation in exported for m in conversation["messages"]
    ]


def test_an_export_that_is_refused_makes_no_file_and_leaves_one_as_it_was(fresh: Site) -> None:
    file, account = fresh.folder / "out.jsonl", fresh.account()
    file.write_text("before")
    assert fresh.json("conversation", "export") == []
    assert "there is no bot" in fresh.refused("conversation", "export", "--bot", "x", "--output", file)
    assert "is there already" in fresh.refused("account", "export", account, file)
    assert "there is no account" in fresh.refused("account", "export", "nobody", fresh.folder / "none.jsonl")
    assert file.read_text() == "before"
    assert [path.name for path in fresh.folder.glob("*.jsonl*")] == ["out.jsonl"]
    usage_error(fresh.run("conversation", "export", "--json", "--format", "csv"), "--json")
    usage_error(fresh.run("conversation", "export", "--output", "out.xlsx"), "say with --format")


def test_a_note_and_an_assignee_are_the_teams_alone(fresh: Site) -> None:
    with fresh.serve() as serving:
        bot, key = talk(fresh, visitors=1, messages=1)
        (listed,) = fresh.json("conversation", "list", "--bot", bot)
        note = fresh.json("conversation", "note", listed["id"], "Call back on Monday")
        assert (note["text"], sorted(note)) == ("Call back on Monday", ["author", "created_at", "id", "text"])
        fresh.json("operator", "add", "ada@example.com", "--role", "editor")
        assert fresh.json("conversation", "assign", listed["id"], "Ada@example.com")["assignee"] == "ada@example.com"
        shown = fresh.json("conversation", "show", listed["id"])
        assert (shown["notes"], shown["assignee"]) == ([note], "ada@example.com")
        assert "Call back on Monday" in fresh.run("conversation", "show", listed["id"]).out
        assert [conversation["notes"] for conversation in lines(fresh)] == [[note]]
        asked = serving.ask(key, "GET", f"/conversations/{listed['id']}")
        assert {"notes", "assignee"}.isdisjoint(asked.json["data"])
        assert fresh.json("conversation", "assign", listed["id"], "")["assignee"] is None
        assert "no operator" in fresh.refused("conversation", "assign", listed["id"], "nobody@example.com")
        assert "text must not be empty" in fresh.refused("conversation", "note", listed["id"], " ")
    fresh.serving = None


def test_saved_replies_are_set_listed_and_removed(fresh: Site) -> None:
    fresh.account()
    greeting = {"name": "greeting", "text": "Hello {name}"}
    assert fresh.json("saved-reply", "set", "greeting", "Hi") == {"name": "greeting", "text": "Hi"}
    assert fresh.json("saved-reply", "set", "greeting", "Hello {name}") == greeting
    assert fresh.json("saved-reply", "list") == [greeting]
    assert fresh.json("saved-reply", "remove", "greeting") == {**greeting, "removed": True}
    assert fresh.json("saved-reply", "list") == []
    assert "there is no saved reply 'greeting'" in fresh.refused("saved-reply", "remove", "greeting")
    account = fresh.account("Second")
    assert "there are 2 accounts" in fresh.refused("saved-reply", "list")
    assert fresh.json("saved-reply", "list", "--account", account) == []


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
        assert sorted(conversation["user_id"] for conversation in listed) == ["v0", "v1", "v2"]
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
        number = kinds.index(kind) + 1
        changed = json.dumps([kind, {**json.loads(lines[number])[1], field: value}]).encode()
        file.write_bytes(_with_end([*lines[:number], changed, *lines[number + 1 :]]))
        assert f"line {number + 1}: " in fresh.refused("account", "import", file)
    assert fresh.json("account", "list") == []
    # Nothing of them is in the store either.
    assert {bot["name"] for bot in fresh.json("bot", "list")} == set()
