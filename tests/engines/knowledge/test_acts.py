"""Acts of sentences, of acts.tsv, and the tables that scripts/train makes."""

from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest

from chatsvc.engines.knowledge import acts, questions
from chatsvc.language.wordlists import FOLDER
from tests.tables import rows

LANGUAGES = ("en", "tr")


@pytest.fixture(scope="module")
def train() -> Any:
    """Return scripts/train as a module."""
    loader = SourceFileLoader("train", str(Path(__file__).parents[3] / "scripts" / "train"))
    spec = spec_from_loader("train", loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(("language", "text", "act"), rows("engines/knowledge/acts"))
def test_an_act(language: str, text: str, act: str) -> None:
    assert acts.classify(text, language).name == act


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_table_belongs_to_its_sentences(train: Any, language: str) -> None:
    sentences = FOLDER / language / "acts.txt"
    table = (FOLDER / language / "acts.table").read_bytes()
    assert table[: acts.DIGEST] == train.digest(sentences), "run scripts/train"
    assert len(train.read(sentences)) <= 3_000


def test_a_table_is_learned(train: Any, tmp_path: Path) -> None:
    file = tmp_path / "acts.txt"
    file.write_text("# A comment.\n== yes\nyes\nyes please\n== no\nno\nno thanks\n")
    assert set(train.learn(train.read(file))) != {acts.ZERO}
    file.write_text("== maybe\nperhaps\n")
    with pytest.raises(ValueError, match="no act 'maybe'"):
        train.read(file)


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
