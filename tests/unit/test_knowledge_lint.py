"""What is said to be weak in a bot's knowledge, and what is not."""

from __future__ import annotations

import pytest

from chatsvc import samples
from chatsvc.domain.knowledge_files import parse_file
from chatsvc.domain.models import Entry
from chatsvc.usecases import knowledge_lint
from chatsvc.usecases.knowledge_lint import KINDS, Finding, findings

MANY = ("how may I pay", "which cards do you take", "can I pay cash", "payment methods", "is paypal possible")


def entry(name: str, question: str, *alt: str, answer: str = "", language: str = "en") -> Entry:
    """An entry with an answer of its own."""
    return Entry(name, question, alt, answer or f"The answer is {name}.", language, "faq.md")


def kinds(*entries: Entry) -> list[tuple[str, str, str | None]]:
    """What is found but for the number of phrasings."""
    return [(one.kind, one.entry, one.other) for one in findings(entries, "en") if one.kind != "too_few_phrasings"]


def test_the_sample_business_has_no_weak_spot() -> None:
    entries = [
        Entry(f"{name} {nth}", one.question, one.alt, one.answer, one.language, name)
        for name, text in samples.knowledge().items()
        for nth, one in enumerate(parse_file(name, text, "tr"))
    ]
    assert len(entries) > 30
    assert findings(entries, "tr") == []


def test_fewer_than_five_phrasings_are_told() -> None:
    assert findings([entry("a", *MANY)], "en") == []
    assert findings([entry("a", *MANY[:3])], "en") == [
        Finding("too_few_phrasings", "a", None, "“how may I pay” has 3 of 5 phrasings: visitors ask in other words")
    ]


def test_a_phrasing_that_finds_another_entry_first_is_told() -> None:
    ship = entry(
        "ship", "do you ship to France", "do you ship to Spain", "do you ship abroad", "where do you ship to", "do you ship to Italy"
    )
    stray = entry("open", "opening hours", "when are you open", "are you open on sunday", "until when are you open", "do you ship to")
    assert kinds(ship, stray) == [("answers_another", "open", "ship")]


def test_the_same_phrasing_twice_is_told_whatever_its_spelling() -> None:
    assert kinds(entry("a", "Opening Hours?"), entry("b", "when is it open", "opening hours")) == [("duplicate_phrasing", "b", "a")]


@pytest.mark.parametrize(
    "other",
    [
        entry("b", "And can I pay with cards?"),
        entry("b", "something else entirely", answer="The  ANSWER is a."),
    ],
)
def test_entries_with_the_same_words_or_the_same_answer_are_near_duplicates(other: Entry) -> None:
    assert kinds(entry("a", "can I pay with a card"), other) == [("near_duplicate", "b", "a")]


def test_another_language_is_another_entry() -> None:
    assert kinds(entry("a", "Wi-Fi?"), entry("b", "Wi-Fi?", language="tr")) == []


def test_an_entry_that_is_plainly_in_another_language_is_told() -> None:
    turkish = ("Odada havlu ve çarşaf var mı acaba?", "yoksa biz mi getirelim")
    assert kinds(entry("a", *turkish, answer="Evet, odada iki havlu var.")) == [("foreign_language", "a", None)]
    assert kinds(entry("a", *turkish, answer="Evet, odada iki havlu var.", language="tr-TR")) == []


def test_an_answer_that_is_no_chat_message_any_more_is_told() -> None:
    assert kinds(entry("a", "What are your terms?", answer="These are the terms. " * 100)) == [("long_answer", "a", None)]


def test_what_is_worst_comes_first_and_each_pair_once() -> None:
    found = findings([entry("a", "x y z"), entry("b", "x y z", answer="The answer is a."), entry("c", "q", answer="long " * 400)], "en")
    assert [KINDS.index(one.kind) for one in found] == sorted(KINDS.index(one.kind) for one in found)
    assert [one.kind for one in found if one.other] == ["duplicate_phrasing"]


def test_of_very_many_phrasings_the_first_of_each_entry_are_searched_for_and_all_where_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge_lint, "MOST_SEARCHED", 3)
    entries = [entry(name, f"{name} question", f"{name} other", f"{name} third") for name in ("apple", "banana")]
    assert [phrasing for _, phrasing in knowledge_lint._in_turn(entries)][:4] == [
        "apple question",
        "banana question",
        "apple other",
        "banana other",
    ]
    for everything, searches in ((False, 3), (True, 6)):
        told: list[tuple[str, int, int]] = []
        findings(entries, "en", everything=everything, progress=lambda *state: told.append(state))  # noqa: B023  # called at once
        assert told[-1] == ("searching for phrasings", searches, searches)
    assert knowledge_lint.searched(entries) == (3, 6)
