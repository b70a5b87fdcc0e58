"""`bot sync`: bots from a folder."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from chatsvc.cli import bot_folder
from tests.cli.support import BOTH, Site
from tests.cli.test_bot_tests import BOT, FAILING, FAQ, folder_of


def synced(site: Site, folder: Path, account: str, *options: str) -> list[dict[str, object]]:
    plan: list[dict[str, object]] = site.json("bot", "sync", str(folder), "--account", account, *options)
    return plan


def bot_of(site: Site, account: str) -> str:
    (bot,) = site.json("bot", "list", "--account", account)
    identity: str = bot["id"]
    return identity


@BOTH
def test_a_folder_is_synced_once_and_then_nothing_changes(site: Site, tmp_path: Path) -> None:
    account, folder = site.account(), folder_of(tmp_path)
    (folder / "notes.yaml").write_text("timezone: Europe/Istanbul\n", encoding="utf-8")  # without a name: no bot
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
    assert [entry["question"] for entry in entries] == ["How much is a haircut?", "Do you have parking?"]
    none = [{"bot": "Salon", "change": "none", "details": {"settings": [], "files": []}}]
    assert synced(site, folder, account) == none
    assert site.run("bot", "sync", str(folder), "--account", account, "--check").status == 0
    assert site.json("knowledge", "list", bot) == entries
    assert "Salon  none" in site.run("bot", "sync", str(folder), "--account", account).out


def test_a_changed_folder_updates_settings_and_knowledge_and_keeps_the_rest(site: Site, tmp_path: Path) -> None:
    account, folder = site.account(), folder_of(tmp_path)
    (folder / "kb" / "more.md").write_text("## Do you take cards?\n\nYes, all cards.\n", encoding="utf-8")
    synced(site, folder, account)
    bot = bot_of(site, account)
    site.json("bot", "set", bot, "--instructions", "Be kind.")
    ids = [entry["id"] for entry in site.json("knowledge", "list", bot) if entry["source"] == "more.md"]
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
    assert [entry["id"] for entry in site.json("knowledge", "list", bot) if entry["source"] == "more.md"] == ids
    assert site.refused_with("knowledge", "test", bot)[0]["reply"] == "A haircut is 450 TL."


def test_a_failing_test_alone_fails_the_check(site: Site, tmp_path: Path) -> None:
    account, folder = site.account(), folder_of(tmp_path, FAILING)
    synced(site, folder, account)
    checked = site.run("bot", "sync", str(folder), "--account", account, "--check", "--json")
    assert checked.status == 1
    assert [step["change"] for step in json.loads(checked.out)] == ["none"]
    first, second = checked.err.splitlines()
    assert first == "chatsvc: the test 'what does a haircut cost?' of Salon fails: the reply lacks '450 TL'"
    assert second == "  the test 'do you repair submarines?' of Salon fails: the decision is abstain, not answer"


def test_a_pattern_of_many_folders_looks_at_each_folder_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path
    for depth in range(12):
        folder = folder / f"d{depth}"
        folder.mkdir()
    (folder / "faq.md").write_text("## Pay?\n\nCash.\n")
    pattern, looked, entries = "**/" * 14 + "*.md", list[str](), bot_folder._entries
    (tmp_path / "bot.yaml").write_text(f"name: Desk\nknowledge: ['{pattern}']\n")

    def counted(folder: Path, below: str) -> list[os.DirEntry[str]]:
        looked.append(below)
        return entries(folder, below)

    monkeypatch.setattr(bot_folder, "_entries", counted)
    (bot,) = bot_folder.read_folder(tmp_path)
    assert bot.knowledge == [("faq.md", b"## Pay?\n\nCash.\n")]
    assert len(looked) <= 16 * 14


def test_prune_removes_entries_of_files_that_are_gone_and_no_others(site: Site, tmp_path: Path) -> None:
    account, folder = site.account(), folder_of(tmp_path)
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


def _linked(path: str) -> Callable[[Path], object]:
    def link(folder: Path) -> None:
        (folder / path).symlink_to(folder / "kb" if path == "sub" else folder / "kb" / "faq.md")

    return link


def _written(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(content)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda folder: (folder / "salon.yaml").unlink(), ["there is no *.yaml with a name"]),
        (_written("b.yaml", b"name: Other\nnam: x\nopening_hours: never\n"), ["b.yaml:2:1", "b.yaml:3:16"]),
        (_written("b.yaml", b"name: B\nknowledge: [kb/none.md, ../x.md, /etc/passwd]\n"), ["b.yaml:2:13", "b.yaml:2:25", "b.yaml:2:34"]),
        (_written("b.yaml", b"name: Salon\n"), ["b.yaml"]),
        (_written("b.yaml", b"name: Other\nmodel: none\n"), ["b.yaml"]),
        (_written("b.yaml", b"name: Other\n"), ["no more bots"]),
        (_written("kb/bad.md", b"## Q\n\n\0\xff\xfe\n"), ["bad.md"]),
        *((_linked(path), ["symbolic link"]) for path in ("evil.yaml", "kb/evil.md", "sub")),
    ],
)
def test_a_fault_in_one_file_changes_nothing(site: Site, tmp_path: Path, spoil: Callable[[Path], object], says: list[str]) -> None:
    account, folder = site.account(plan="free"), folder_of(tmp_path)
    spoil(folder)
    done = site.run("bot", "sync", str(folder), "--account", account)
    assert done.status == 1
    assert [word for word in says if word not in done.err] == []
    assert site.json("bot", "list", "--account", account) == []
