"""`knowledge test`, `bot apply --test` and `bot sync`: tests of a bot, and bots from a folder."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.cli.support import Site, run

FAQ = """## How much is a haircut?

alt: what does a haircut cost

A haircut is 400 TL.

## Do you have parking?

Yes, there is free parking behind the shop.
"""
BOT = """name: Salon
language: en
model: offline
knowledge: [kb/*.md]
tests:
  - {ask: "what does a haircut cost?", entry: "How much is a haircut?", contains: "400 TL", decision: answer}
  - {ask: "is there parking?", contains: [FREE PARKING, shop], lacks: "400"}
  - ask: "do you repair submarines?"
    decision: abstain
"""
FAILING = BOT.replace('"400 TL"', '"450 TL"').replace("decision: abstain", "decision: answer")


def folder_of(path: Path, bot: str = BOT) -> Path:
    """A folder with one bot and its knowledge."""
    folder = path / "bots"
    (folder / "kb").mkdir(parents=True, exist_ok=True)
    (folder / "kb" / "faq.md").write_text(FAQ, encoding="utf-8")
    (folder / "salon.yaml").write_text(bot, encoding="utf-8")
    (folder / "notes.yaml").write_text("other: true\n".replace("other", "timezone").replace("true", "Europe/Istanbul"), encoding="utf-8")
    return folder


def account_of(site: Site) -> str:
    identity: str = site.json("account", "create", "Acme")["id"]
    return identity


def synced(site: Site, folder: Path, account: str, *options: str) -> list[dict[str, object]]:
    plan: list[dict[str, object]] = site.json("bot", "sync", str(folder), "--account", account, *options)
    return plan


def bot_of(site: Site, account: str) -> str:
    (bot,) = site.json("bot", "list", "--account", account)
    identity: str = bot["id"]
    return identity


def test_tests_run_from_a_file_without_an_installation(tmp_path: Path) -> None:
    folder, junit = folder_of(tmp_path), tmp_path / "tests.xml"
    done = run("knowledge", "test", "--file", str(folder / "salon.yaml"), "--json", "--junit", str(junit), cwd=tmp_path)
    assert (done.status, done.err) == (0, "")
    first, second, third = json.loads(done.out)
    assert list(first) == ["ask", "passed", "decision", "confidence", "entry", "reply", "why"]
    assert (first["passed"], first["decision"], first["entry"]) == (True, "answer", "How much is a haircut?")
    assert second["reply"] == "Yes, there is free parking behind the shop."
    assert (third["decision"], third["entry"]) == ("abstain", None)
    assert not (tmp_path / "data").exists()
    suite = ET.parse(junit).getroot()  # noqa: S314  # written by the command
    assert (suite.get("tests"), suite.get("failures"), suite[0].get("name")) == ("3", "0", "what does a haircut cost?")


def test_a_test_that_fails_ends_with_1_and_says_why(tmp_path: Path) -> None:
    folder, junit = folder_of(tmp_path, FAILING), tmp_path / "tests.xml"
    done = run("knowledge", "test", "--file", str(folder / "salon.yaml"), "--json", "--junit", str(junit), cwd=tmp_path)
    assert done.status == 1
    first, second, third = json.loads(done.out)
    assert (first["passed"], first["why"]) == (False, "the reply lacks '450 TL'")
    assert second["passed"]
    assert (third["passed"], third["why"]) == (False, "the decision is abstain, not answer")
    suite = ET.parse(junit).getroot()  # noqa: S314  # written by the command
    assert [case.find("failure") is not None for case in suite] == [True, False, True]
    table = run("knowledge", "test", "--file", str(folder / "salon.yaml"), cwd=tmp_path)
    assert table.status == 1
    assert "the reply lacks '450 TL'" in table.out
    assert table.err == "chatsvc: 2 of 3 tests failed\n"


def test_faults_of_tests_are_told_with_line_and_column(site: Site, tmp_path: Path) -> None:
    account = account_of(site)
    bot = site.json("bot", "create", "Front desk", "--model", "offline", "--account", account)["id"]
    file = tmp_path / "bot.yaml"
    file.write_text(
        "tests:\n  - {ask: hi}\n  - {entry: x}\n  - {ask: a, decision: maybe}\n  - {ask: a, says: b}\n"
        "  - {ask: a, contains: ''}\n  - {ask: a, language: '!', lacks: b}\n",
        encoding="utf-8",
    )
    done = site.run("bot", "apply", bot, str(file))
    assert done.status == 1
    places = ("2:5", "3:5", "4:24", "5:5", "5:14", "6:24", "7:24")
    assert [place for place in places if f"bot.yaml:{place}: " not in done.err] == []


def test_the_running_bot_is_tested_and_nothing_is_stored_or_charged(site: Site, tmp_path: Path) -> None:
    account = account_of(site)
    synced(site, folder_of(tmp_path), account)
    bot = bot_of(site, account)
    found = site.json("knowledge", "test", bot)
    assert [one["passed"] for one in found] == [True, True, True]
    assert site.json("bot", "show", bot)["messages_used"] == 0
    assert site.json("conversation", "list", "--bot", bot) == []
    assert site.json("knowledge", "unanswered", bot) == []
    text = site.json("bot", "export", bot)["yaml"]
    assert '    contains:\n      - "FREE PARKING"\n      - "shop"\n    lacks: "400"\n' in text


def test_apply_with_test_refuses_a_file_whose_tests_fail(site: Site, tmp_path: Path) -> None:
    account, folder = account_of(site), folder_of(tmp_path)
    synced(site, folder, account)
    bot = bot_of(site, account)
    before = site.json("bot", "show", bot)
    (folder / "salon.yaml").write_text(FAILING + "greeting: Hello\n", encoding="utf-8")
    done = site.run("bot", "apply", bot, str(folder / "salon.yaml"), "--test")
    assert done.status == 1
    assert "what does a haircut cost?: the reply lacks '450 TL'" in done.err
    assert site.json("bot", "show", bot) == before
    assert site.json("bot", "apply", bot, str(folder / "salon.yaml"))["greeting"] == "Hello"
    assert site.run("knowledge", "test", bot).status == 1
    (folder / "salon.yaml").write_text(BOT, encoding="utf-8")
    assert len(site.json("bot", "apply", bot, str(folder / "salon.yaml"), "--test")["tests"]) == 3


def test_a_folder_is_synced_once_and_then_nothing_changes(site: Site, tmp_path: Path) -> None:
    account, folder = account_of(site), folder_of(tmp_path)
    checked = site.run("bot", "sync", str(folder), "--account", account, "--check", "--json")
    assert checked.status == 1
    (plan,) = json.loads(checked.out)
    assert (plan["bot"], plan["change"]) == ("Salon", "create")
    assert plan["details"]["files"] == [{"source": "faq.md", "entries": 2, "replaced": 0}]
    assert set(plan["details"]["settings"]) == {"name", "language", "tests"}
    assert site.json("bot", "list", "--account", account) == []
    assert synced(site, folder, account) == [plan]
    bot = bot_of(site, account)
    entries = site.json("knowledge", "list", bot)
    assert [one["question"] for one in entries] == ["How much is a haircut?", "Do you have parking?"]
    none = [{"bot": "Salon", "change": "none", "details": {"settings": [], "files": []}}]
    assert synced(site, folder, account) == none
    assert site.run("bot", "sync", str(folder), "--account", account, "--check").status == 0
    assert site.json("knowledge", "list", bot) == entries
    assert "Salon  none" in site.run("bot", "sync", str(folder), "--account", account).out


def test_a_changed_folder_updates_settings_and_knowledge_and_keeps_the_rest(site: Site, tmp_path: Path) -> None:
    account, folder = account_of(site), folder_of(tmp_path)
    (folder / "kb" / "more.md").write_text("## Do you take cards?\n\nYes, all cards.\n", encoding="utf-8")
    synced(site, folder, account)
    bot = bot_of(site, account)
    site.json("bot", "set", bot, "--instructions", "Be kind.")
    kept = [one["id"] for one in site.json("knowledge", "list", bot) if one["source"] == "more.md"]
    (folder / "salon.yaml").write_text(BOT + "greeting: Hello\n", encoding="utf-8")
    (folder / "kb" / "faq.md").write_text(FAQ.replace("400", "450"), encoding="utf-8")
    checked = site.run("bot", "sync", str(folder), "--account", account, "--check")
    assert checked.status == 1
    assert "the test 'what does a haircut cost?' of Salon fails: the reply lacks '400 TL'" in checked.err
    (step,) = synced(site, folder, account)
    details = {"settings": ["greeting"], "files": [{"source": "faq.md", "entries": 2, "replaced": 2}]}
    assert step == {"bot": "Salon", "change": "update", "details": details}
    after = site.json("bot", "show", bot)
    assert (after["greeting"], after["instructions"]) == ("Hello", "Be kind.")
    assert [one["id"] for one in site.json("knowledge", "list", bot) if one["source"] == "more.md"] == kept
    assert site.refused_with("knowledge", "test", bot)[0]["reply"] == "A haircut is 450 TL."


def test_a_failing_test_alone_fails_the_check(site: Site, tmp_path: Path) -> None:
    account, folder = account_of(site), folder_of(tmp_path, FAILING)
    synced(site, folder, account)
    checked = site.refused_with("bot", "sync", str(folder), "--account", account, "--check")
    assert [step["change"] for step in checked] == ["none"]
    err = site.run("bot", "sync", str(folder), "--account", account, "--check").err
    assert err.count("fails") == 2
    assert "something would change" not in err


def test_prune_removes_entries_of_files_that_are_gone_and_no_others(site: Site, tmp_path: Path) -> None:
    account, folder = account_of(site), folder_of(tmp_path)
    (folder / "kb" / "more.md").write_text("## Do you take cards?\n\nYes, all cards.\n", encoding="utf-8")
    synced(site, folder, account)
    bot = bot_of(site, account)
    site.json("bot", "create", "Other", "--account", account, "--model", "offline")
    (folder / "kb" / "more.md").unlink()
    assert [step["change"] for step in synced(site, folder, account)] == ["none"]
    assert len(site.json("knowledge", "list", bot)) == 3
    details = {"settings": [], "files": [{"source": "more.md", "entries": 0, "replaced": 1}]}
    plan = [{"bot": "Salon", "change": "remove", "details": details}]
    checked = site.run("bot", "sync", str(folder), "--account", account, "--prune", "--check", "--json")
    assert (checked.status, json.loads(checked.out)) == (1, plan)
    assert synced(site, folder, account, "--prune") == plan
    assert len(site.json("knowledge", "list", bot)) == 2
    assert [step["change"] for step in synced(site, folder, account, "--prune")] == ["none"]
    (folder / "salon.yaml").write_text(BOT.replace("knowledge: [kb/*.md]\n", ""), encoding="utf-8")
    synced(site, folder, account, "--prune")
    assert len(site.json("knowledge", "list", bot)) == 2
    assert len(site.json("bot", "list", "--account", account)) == 2


def test_a_fault_in_one_file_changes_nothing(site: Site, tmp_path: Path) -> None:
    account, folder = account_of(site), folder_of(tmp_path)
    (folder / "b.yaml").write_text("name: Other\nnam: x\nopening_hours: never\n", encoding="utf-8")
    (folder / "c.yaml").write_text("name: Third\nknowledge: [kb/none.md, ../x.md, /etc/passwd]\n", encoding="utf-8")
    done = site.run("bot", "sync", str(folder), "--account", account)
    assert done.status == 1
    for place in ("b.yaml:2:1", "b.yaml:3:16", "c.yaml:2:13", "c.yaml:2:25", "c.yaml:2:34"):
        assert place in done.err
    assert site.json("bot", "list", "--account", account) == []


@pytest.mark.parametrize("second", ["name: Salon\n", "name: Other\nmodel: none\n"])
def test_what_only_the_service_can_tell_changes_nothing_either(site: Site, tmp_path: Path, second: str) -> None:
    account, folder = account_of(site), folder_of(tmp_path)
    (folder / "second.yaml").write_text(second, encoding="utf-8")
    done = site.run("bot", "sync", str(folder), "--account", account)
    assert done.status == 1
    assert "second.yaml" in done.err
    assert site.json("bot", "list", "--account", account) == []


def test_a_knowledge_file_that_cannot_be_read_changes_nothing(site: Site, tmp_path: Path) -> None:
    account, folder = account_of(site), folder_of(tmp_path)
    (folder / "kb" / "bad.md").write_bytes(b"## Q\n\n\0\xff\xfe\n")
    done = site.run("bot", "sync", str(folder), "--account", account)
    assert done.status == 1
    assert "bad.md" in done.err
    assert site.json("bot", "list", "--account", account) == []


@pytest.mark.parametrize("link", ["evil.yaml", "kb/evil.md", "sub"])
def test_symbolic_links_are_refused(site: Site, tmp_path: Path, link: str) -> None:
    account, folder = account_of(site), folder_of(tmp_path)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text(FAQ, encoding="utf-8")
    (folder / link).symlink_to(outside if link == "sub" else outside / "x.md")
    done = site.run("bot", "sync", str(folder), "--account", account)
    assert done.status == 1
    assert "symbolic link" in done.err
    assert site.json("bot", "list", "--account", account) == []


def test_more_bots_than_the_plan_has_are_refused_as_a_whole(site: Site, tmp_path: Path) -> None:
    account = site.json("account", "create", "Small", "--plan", "free")["id"]
    folder = folder_of(tmp_path)
    (folder / "second.yaml").write_text("name: Other\n", encoding="utf-8")
    done = site.run("bot", "sync", str(folder), "--account", account)
    assert done.status == 1
    assert "no more bots" in done.err
    assert site.json("bot", "list", "--account", account) == []
