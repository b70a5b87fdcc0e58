"""The script that replays written conversations, on a set of one bot."""

import importlib.util
import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "bench" / "conversations.py"
BOTS = {"SHOP": {"name": "Shop", "kb": "kb/shop.md", "language": "en", "country": "GB", "timezone": "Europe/London", "ask_back": "off"}}
KNOWLEDGE = "language: en\n\n## What does the sign say?\n\nYour order has been canceled.\n\n## Where is the shop?\n\nIn Mill Lane.\n"
FIRST = "== one place | SHOP\nWhere is the shop?\nWhat does the sign say?\n== two | SHOP | en | ada\nWhere is\\nthe shop?\n"
SECOND = "== three | SHOP || ada\nWhere is the shop?\n"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(SCRIPT.parent)
    spec = importlib.util.spec_from_file_location("conversations_bench", SCRIPT)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A set with two files of conversations."""
    files = {"bots.json": json.dumps(BOTS), "kb/shop.md": KNOWLEDGE, "talks/a1.txt": FIRST, "talks/a2.txt": SECOND}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def exchange(bench: Any, user: str, number: int, reply: str, *captured: str) -> Any:
    """One message of a conversation, with what came of it."""
    conversation = bench.Conversation(f"talk of {user}", "SHOP", "", user, False, ["hello"] * 3)
    return bench.Exchange(conversation, number, reply, "", 0.01, list(captured))


async def test_a_set_is_replayed_and_its_transcript_written(bench: Any, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    transcript = folder / "transcript.txt"
    await bench.run(Namespace(set=folder, transcript=transcript, only=""))
    text = transcript.read_text("utf-8")
    assert "== one place | SHOP\n1 > Where is the shop?\n  < In Mill Lane.\n" in text
    assert "2 > What does the sign say?\n  < Your order has been canceled.\n  # forbidden\n" in text
    assert "== two | SHOP\n1 > Where is\\nthe shop?\n  < In Mill Lane.\n" in text
    figures = capsys.readouterr().out
    assert "4 messages in 3 conversations, 0 records captured\n" in figures
    assert "forbidden (said to be done, and nothing captured): 1\n  one place, 2\n" in figures


def test_a_user_who_speaks_in_a_later_file_comes_back_later(bench: Any, folder: Path) -> None:
    talks = {talk.name: talk for talk in bench.read_talks(folder / "talks")}
    assert {name: talk.is_later for name, talk in talks.items()} == {"one place": False, "two": False, "three": True}
    assert (talks["two"].language, talks["two"].user) == ("en", "ada")
    assert (talks["three"].language, talks["three"].user) == ("", "ada")


def test_the_same_reply_in_a_row_is_marked_within_a_conversation(bench: Any) -> None:
    replies = [exchange(bench, "ada", 1, "Yes."), exchange(bench, "ada", 2, "Yes."), exchange(bench, "bob", 1, "Yes.")]
    bench.mark(replies)
    assert [entry.remarks for entry in replies] == [[], ["repeated"], []]


FORBIDDEN = (
    *("I have noted your request.", "Fine, I am passing it on.", "Your booking is now cancelled.", "I have you down for Tuesday."),
    *("Tamam.\nTalebinizi not aldım.", "İptal edildi.", "Ekibimize iletiyorum.", "Rezervasyonunuz oluşturuldu."),
)
# Offers, denials and the visitor's words.
PERMITTED = (
    *("It has not been booked yet.", "- Message: it has been cancelled", "You pay once it has been booked.", "Shall I pass it on?"),
    *("I'll take a note.", "Talebinizi henüz iletmedim.", "Size dönüş yapmaları için not alayım mı?"),
)


@pytest.mark.parametrize("reply", [*FORBIDDEN, *PERMITTED])
def test_a_statement_that_something_is_done_is_forbidden_until_something_is_captured(bench: Any, reply: str) -> None:
    replies = [exchange(bench, "ada", 1, reply), exchange(bench, "ada", 2, "Hm.", "request {}"), exchange(bench, "ada", 3, reply)]
    bench.mark(replies)
    assert [entry.remarks for entry in replies] == [["forbidden"] if reply in FORBIDDEN else [], [], []]
