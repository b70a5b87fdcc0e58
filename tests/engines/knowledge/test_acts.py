"""Acts of sentences, of acts.tsv, and the tables that scripts/train makes."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from chatsvc.engines.knowledge import acts, questions
from chatsvc.language.wordlists import FOLDER

LANGUAGES = ("en", "tr")


def rows() -> list[list[str]]:
    with Path(__file__).with_name("acts.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter="\t"))


@pytest.mark.parametrize(("language", "text", "act"), rows())
def test_an_act(language: str, text: str, act: str) -> None:
    assert acts.classify(text, language).name == act


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_table_belongs_to_its_sentences(language: str) -> None:
    sentences = FOLDER / language / "acts.txt"
    table = (FOLDER / language / "acts.table").read_bytes()
    assert table[: acts.DIGEST] == acts.digest(sentences), "run scripts/train"
    assert len(acts.read(sentences)) <= 3_000


def test_a_table_is_learned(tmp_path: Path) -> None:
    file = tmp_path / "acts.txt"
    file.write_text("# A comment.\n== yes\nyes\nyes please\n== no\nno\nno thanks\n")
    assert acts.train(acts.read(file)) != bytes(1)
    file.write_text("== maybe\nperhaps\n")
    with pytest.raises(ValueError, match="no act 'maybe'"):
        acts.read(file)


def test_another_language_has_the_table_of_the_fallback() -> None:
    assert acts.classify("yes please", "de").name == "yes"


@pytest.mark.parametrize(
    ("text", "asks", "needs", "calls"),
    [
        ("how much is a haircut", True, True, False),
        ("thanks", False, False, False),
        ("can I talk to a human", False, False, True),
        ("what?", True, False, False),
        ("I want to complain", False, True, True),
    ],
)
def test_judgements_of_one_text(text: str, asks: bool, needs: bool, calls: bool) -> None:
    assert questions.asks(text, "en") is asks
    assert questions.needs_answer(text, "en") is needs
    assert questions.calls_a_person(text, "en") is calls
