"""`chatsvc conversation erase` and `export`, with a service that runs and without one."""

from __future__ import annotations

import codecs
import csv
import json
from pathlib import Path
from typing import Any

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
        usage_error(fresh.run("conversation", "erase", "--user-id", "v1"), "add --yes")
        erased = fresh.json("conversation", "erase", "--user-id", "v1", "--yes")
        none = dict.fromkeys(("requests", "appointments", "events", "attempts", "questions"), 0)
        assert erased == {"user_id": "v1", "conversations": 1, "messages": 4, **none}
        assert sorted(c["user_id"] for c in fresh.json("conversation", "list", "--bot", bot)) == ["v0", "v2"]
    fresh.serving = None
    assert fresh.json("conversation", "erase", "--user-id", "v2", "--bot", bot, "--yes")["messages"] == 4
    assert [c["user_id"] for c in fresh.json("conversation", "list")] == ["v0"]
    assert "there is no bot" in fresh.refused("conversation", "erase", "--user-id", "v0", "--bot", "x", "--yes")


def test_a_visitor_of_several_accounts_is_erased_from_the_one_that_is_named(fresh: Site) -> None:
    with fresh.serve():
        first, _ = talk(fresh, visitors=1, messages=1)
        second, _ = talk(fresh, visitors=1, messages=1)
        assert "there are 2 accounts" in fresh.refused("conversation", "erase", "--user-id", "v0", "--yes")
        (_, account) = fresh.json("account", "list")
        both = fresh.run("conversation", "erase", "--user-id", "v0", "--account", account["id"], "--bot", second, "--yes")
        usage_error(both, "one of them")
        assert fresh.json("conversation", "erase", "--user-id", "v0", "--account", account["id"], "--yes")["messages"] == 2
        assert fresh.json("conversation", "list", "--bot", second) == []
        assert len(fresh.json("conversation", "list", "--bot", first)) == 1
    fresh.serving = None


def lines(site: Site, *options: str | Path) -> list[dict[str, Any]]:
    done = site.run("conversation", "export", *options)
    assert (done.status, done.err) == (0, "")
    return [json.loads(line) for line in done.out.splitlines()]


def test_every_form_of_an_export_has_every_message(fresh: Site) -> None:
    with fresh.serve() as serving:
        bot, key = talk(fresh)
        ids = [item["id"] for item in serving.ask(key, "GET", "/conversations").json["data"]]
        shown = {one: serving.ask(key, "GET", f"/conversations/{one}").json["data"] for one in ids}
        exported = lines(fresh, "--bot", bot)
        assert {one["id"]: one for one in exported} == shown
        assert fresh.json("conversation", "export") == exported
    fresh.serving = None
    assert lines(fresh) == exported
    file = fresh.folder / "out.csv"
    done = fresh.run("conversation", "export", "--output", file)
    assert (done.status, done.out, done.err) == (0, "", f"3 conversations with 12 messages written to {file}\n")
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.read_bytes().startswith(codecs.BOM_UTF8)  # else spreadsheets misread Turkish letters
    with file.open(newline="", encoding="utf-8-sig") as stream:
        found = list(csv.DictReader(stream))
    assert [(row["conversation_id"], row["message_id"], row["content"], row["created_at"]) for row in found] == [
        (one["id"], m["id"], m["content"], m["created_at"]) for one in exported for m in one["messages"]
    ]


def test_an_export_that_is_refused_leaves_the_file_as_it_was(fresh: Site) -> None:
    file = fresh.folder / "out.jsonl"
    file.write_text("before")
    assert fresh.json("conversation", "export") == []
    assert "there is no bot" in fresh.refused("conversation", "export", "--bot", "x", "--output", file)
    assert file.read_text() == "before"
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
        assert [one["notes"] for one in lines(fresh)] == [[note]]
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
