"""Acts and kinds of questions: training sentences and the linear model."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from chatsvc.domain.folding import fold
from chatsvc.language import acts, linear, sentences

LANGUAGES = [folder.name for folder in sentences.FOLDER.iterdir() if (folder / "sentences").is_dir()]
LEAST = 50  # sentences of each act


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_act_and_kind_has_sentences_and_no_sentence_has_two(language: str) -> None:
    given = sentences.read(language)
    told, kinds = Counter(one.act for one in given), Counter(one.kind for one in given if one.act == "ask")
    assert {act: told[act] for act in sentences.ACTS if told[act] < LEAST} == {}
    assert {kind: kinds[kind] for kind in sentences.KINDS if kinds[kind] < LEAST} == {}
    labels: dict[tuple[str, str], set[tuple[str, str]]] = {}
    for one in given:
        labels.setdefault((fold(one.text), one.asked), set()).add((one.act, one.kind))
    assert {text: found for text, found in labels.items() if len(found) > 1} == {}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_weights_belong_to_the_sentences(language: str) -> None:
    assert acts.path(language).read_bytes()[:32] == acts.digest(sentences.read(language)), "run scripts/train"


@pytest.mark.no_cover  # the training is measured once, with few sentences
@pytest.mark.parametrize("language", LANGUAGES)
def test_most_sentences_held_out_of_the_training_are_told_by_their_act(language: str) -> None:
    given = sentences.read(language)
    # With two fifths of the sentences, since the training takes long; the product has all of them.
    table = acts.trained([one for at, one in enumerate(given) if at % 5 in (1, 3)])[32:]
    held = given[::5]
    told = [acts.reading(table, one.text, one.asked) for one in held]
    assert sum(linear.best(read.acts) == one.act for read, one in zip(told, held, strict=True)) > 0.74 * len(held)


def test_what_the_bot_asked_for_decides_between_acts() -> None:
    given = [("greet", "hello", ""), ("give", "anna", "name"), ("ask", "price", ""), ("affirm", "ok", "confirm"), ("thank", "ok", "")]
    labels = ("affirm", "ask", "give", "greet", "thank")
    table = linear.packed(linear.train(given * 3, labels))
    told = [linear.probabilities(table, linear.features("ok", asked), [labels])[0] for asked in ("confirm", "")]
    assert [linear.best(one) for one in told] == ["affirm", "thank"]
    assert sum(told[0].values()) == pytest.approx(1)


def test_the_same_sentences_give_the_same_weights() -> None:
    given = sentences.read("tr")[::40]
    assert acts.trained(given) == acts.trained(given)


@pytest.mark.parametrize(
    ("language", "text", "asked", "act", "kind"),
    [
        ("en", "how much is a tooth filling", "", "ask", "price"),
        ("tr", "dolgu ne kadar", "", "ask", "price"),
        ("en", "please cancel my appointment", "", "cancel", ""),
        ("tr", "randevumu iptal edin", "", "cancel", ""),
        ("en", "book me in for tuesday", "", "book", ""),
        ("tr", "salıya randevu almak istiyorum", "", "book", ""),
        ("en", "none of your business", "phone", "refuse", ""),
        ("tr", "farketmez", "time", "skip", ""),
        ("nn", "can i bring my dog", "", "ask", "may"),
        ("en", "is a dog allowed in the room", "", "ask", "may"),
        ("en", "my boiler is leaking", "", "state", ""),
        ("tr", "dişim çok ağrıyor", "", "state", ""),
        ("tr", "randevu almak zorunda mıyız", "", "ask", "may"),
        ("tr", "pazar günkü derse gelemeyeceğiz", "", "cancel", ""),
        ("en", "your cancellation policy?", "", "ask", "what"),
        ("en", "the soup was cold and nobody apologised", "", "complain", ""),
        ("en", "are you open on sundays", "", "ask", "open"),
        ("tr", "iki gece için oda ayırtmak istiyorum", "", "book", "stay"),
    ],
)
def test_a_clause_is_told_by_act_and_kind(language: str, text: str, asked: str, act: str, kind: str) -> None:
    told = acts.classify(text, language, asked)
    assert linear.best(told.acts) == act
    assert told.acts[act] > 0.7
    assert not kind or linear.best(told.purposes if act == "book" else told.kinds) == kind
    assert [sum(one.values()) for one in told] == pytest.approx([1, 1, 1])


@pytest.mark.parametrize("text", ["", " ", "?", "🙂", "x" * 20_000, "ﷺ" * 20_000])
def test_anything_can_be_classified(text: str) -> None:
    assert sum(acts.classify(text, "en").acts.values()) == pytest.approx(1)


@pytest.mark.parametrize(
    "header", ["== give price", "== book price", "== greet visit", "== ask colour", "== greet @weather", "==", "== Ask price"]
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
