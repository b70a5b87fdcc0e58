"""Acts and kinds of questions: training sentences and the linear model."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from chatsvc.domain.folding import fold
from chatsvc.language import linear, sentences

LANGUAGES = [folder.name for folder in sentences.FOLDER.iterdir() if (folder / "sentences").is_dir()]
LEAST = 50  # sentences of each act


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_act_and_kind_has_sentences_and_no_sentence_has_two(language: str) -> None:
    given = sentences.read(language)
    acts, kinds = Counter(one.act for one in given), Counter(one.kind for one in given if one.act == "ask")
    assert {act: acts[act] for act in sentences.ACTS if acts[act] < LEAST} == {}
    assert {kind: kinds[kind] for kind in sentences.KINDS if kinds[kind] < LEAST} == {}
    labels: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for one in given:
        labels.setdefault((fold(one.text), one.asked), set()).add((one.act, one.kind))
    assert {text: found for text, found in labels.items() if len(found) > 1} == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_most_sentences_held_out_of_the_training_are_told_by_their_act(language: str) -> None:
    given = sentences.read(language)
    model = linear.train((one.act, one.text, one.asked) for at, one in enumerate(given) if at % 5)
    held = given[::5]
    assert sum(model.best(one.text, one.asked) == one.act for one in held) > 0.7 * len(held)


def test_what_the_bot_asked_for_decides_between_acts() -> None:
    given = [("greet", "hello", ""), ("give", "anna", "name"), ("ask", "price", ""), ("affirm", "ok", "confirm"), ("thank", "ok", "")]
    model = linear.train(given * 3)
    assert [model.best("ok", asked) for asked in ("confirm", "")] == ["affirm", "thank"]
    told = model.probabilities("ok", "confirm")
    assert max(told, key=lambda label: told[label]) == "affirm"
    assert sum(told.values()) == pytest.approx(1)


def test_the_same_sentences_give_the_same_weights() -> None:
    given = [(one.act, one.text, one.asked) for one in sentences.read("tr")[::20]]
    assert linear.train(given).probabilities("fiyat ne kadar") == linear.train(given).probabilities("fiyat ne kadar")


@pytest.mark.parametrize(
    "header", ["== ask", "== book price", "== greet visit", "== ask colour", "== greet @weather", "==", "== Ask price"]
)
def test_a_header_that_is_none_is_named_with_its_place(tmp_path: Path, header: str) -> None:
    folder = tmp_path / "xx" / "sentences"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text(f"# Words.\n{header}\nhello\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.txt:2: not a header"):
        sentences.read("xx", tmp_path)


def test_a_sentence_before_the_first_header_is_refused(tmp_path: Path) -> None:
    (tmp_path / "xx" / "sentences").mkdir(parents=True)
    (tmp_path / "xx" / "sentences" / "a.txt").write_text("hello\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.txt:1: a sentence before the first header"):
        sentences.read("xx", tmp_path)
