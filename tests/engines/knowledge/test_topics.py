"""Topics learned from sentences lead to the entry where no word is shared."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search import lexicon, topics
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from chatsvc.language.folding import words

SCRIPT = Path(__file__).resolve().parents[3] / "scripts/topics/learn.py"


@pytest.fixture(scope="module")
def learn() -> ModuleType:
    spec = importlib.util.spec_from_file_location("learn", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_data_is_what_the_sentences_and_the_lexicon_teach(learn: ModuleType) -> None:
    learned = "\n".join(learn.learn(learn.read())) + "\n"
    assert learned == learn.DATA.read_text(encoding="utf-8"), "run scripts/topics/learn.py"


def test_every_topic_is_spoken_of_in_both_languages_and_by_no_sentence_twice(learn: ModuleType) -> None:
    for name, said in learn.read().items():
        assert len(said) >= 20, name
        turkish = [line for line in said if set("çğıöşüÇĞİÖŞÜ") & set(line)]
        assert len(said) / 5 <= len(turkish) <= len(said) * 4 / 5, name
        assert len(set(said)) == len(said), (name, sorted(line for line in said if said.count(line) > 1))


def about(text: str) -> list[str]:
    known = topics.shared()
    found = topics.of_words(words(text), lexicon.shared())
    return [known.names[topic] for topic in sorted(found, key=lambda topic: (-found[topic], topic))]


@pytest.mark.parametrize(
    ("said", "topic"),
    [
        ("I'm on crutches since last week", "wheelchair and step-free access"),
        ("tekerlekli sandalyem var, merdiven çıkamam", "wheelchair and step-free access"),
        ("where do I leave the car", "parking"),
        ("arabayı nereye çekeyim", "parking"),
    ],
)
def test_what_a_visitor_describes_is_known_by_its_topic(said: str, topic: str) -> None:
    assert topic in about(said)[:3]


def test_what_says_nothing_is_about_nothing_and_topics_have_the_length_one() -> None:
    assert topics.of_words([], lexicon.shared()) == {}
    assert topics.of_words(words("xqzv wvxq"), lexicon.shared()) == {}
    found = topics.of_words(words("can I pay by card"), lexicon.shared())
    assert 0 < len(found) <= topics.MOST
    assert sum(weight**2 for weight in found.values()) == pytest.approx(1.0)


def test_an_entry_is_found_by_what_it_is_about_where_it_shares_no_word_with_the_question() -> None:
    entries = [
        Entry("steps", "Is there a ramp or an elevator?", ("step-free access", "wheelchair users"), "There is a ramp.", "en"),
        Entry("cards", "Which cards do you accept?", ("paying by card",), "All of them.", "en"),
        Entry("hours", "When do you open?", ("opening times",), "At nine.", "en"),
    ]
    index = KnowledgeIndex(entries, "en")
    found = index.search("my granny walks with a zimmer frame", explain=True)
    assert found.hits[0].entry.id == "steps"
    assert any(line.startswith("(about: ") for line in found.hits[0].why)
