"""Findings about weak knowledge and missing settings, and knowledge without findings."""

import pytest

from chatsvc import samples
from chatsvc.domain import knowledge_findings
from chatsvc.domain.knowledge_findings import KINDS
from chatsvc.domain.models import Bot, Entry
from chatsvc.services.knowledge import knowledge_lint
from chatsvc.services.knowledge.knowledge_lint import findings
from tests.knowledge_files import parse_file
from tests.tables import json_rows, rows


def entry(name: str, question: str, *alt: str, answer: str = "", language: str = "en") -> Entry:
    """An entry with an answer of its own."""
    return Entry(name, question, alt, answer or f"The answer is {name}.", language, "faq.md")


def kinds(*entries: Entry) -> list[tuple[str, str | None, str | None]]:
    """List the findings without those of generated questions."""
    return [
        (finding.kind, finding.entry, finding.other)
        for finding in findings(entries, "en")
        if finding.kind not in ("easily_missed", "overlap")
    ]


def test_the_sample_business_has_no_weak_spot() -> None:
    entries = [
        Entry(f"{name} {nth}", item.question, item.alt, item.answer, item.language, name)
        for name, text in samples.knowledge().items()
        for nth, item in enumerate(parse_file(name, text, "tr"))
    ]
    assert len(entries) > 30
    assert findings(entries, "tr") == []


def test_an_entry_with_a_plain_heading_and_no_other_phrasing_is_no_finding() -> None:
    inn = [
        entry("1", "Parking", answer="Behind the house, £5 a night."),
        entry("2", "Breakfast", answer="From 8:00 to 10:00 in the garden room, £12."),
        entry("3", "Dogs", answer="One dog per room, £10 a night."),
    ]
    assert findings(inn, "en") == []


def test_the_entries_that_visitors_will_probably_miss_are_named_with_questions_that_miss_them() -> None:
    known = [entry(f"{n}", name, answer=f"{name} costs £{n} at the desk.") for n, name in enumerate(("Parking", "Breakfast", "Laundry"))]
    titles = ("More", "Other", "And also", "For all of you", "This and that", "What else", "Some more")
    odd = [entry(f"odd {n}", title, answer=f"Bring voucher {n} along to the desk, £3.") for n, title in enumerate(titles)]
    missed = [finding for finding in findings([*known, *odd], "en") if finding.kind == "easily_missed"]
    assert 1 <= len(missed) <= knowledge_lint.MOST_MISSED
    assert all(str(finding.entry).startswith("odd") for finding in missed)
    assert "ways to ask it lead elsewhere, such as “" in missed[0].sentence()


def test_entries_whose_generated_questions_find_each_other_overlap() -> None:
    asked = ("do you have breakfast", "how much is breakfast", "breakfast price")
    hidden = entry("b", "what about breakfast", *asked, answer="See the leaflet.")
    entries = [entry("a", "Breakfast", answer="Served until ten, £9."), hidden, entry("c", "Parking")]
    overlaps = [(finding.kind, finding.entry, finding.other) for finding in findings(entries, "en")]
    assert {kind for kind, *_ in overlaps} & {"overlap", "easily_missed"}


@pytest.mark.parametrize(("question", "answer", "language", "questions"), json_rows("unit/generated_questions"))
def test_questions_are_generated_from_heading_facts_and_sentences(question: str, answer: str, language: str, questions: list[str]) -> None:
    assert knowledge_lint.generated(entry("a", question, answer=answer, language=language))[: len(questions)] == questions


@pytest.mark.parametrize(("entries", "expected"), [pytest.param(*row, id=what) for what, *row in json_rows("unit/weak_spots")])
def test_weak_spots_are_named(entries: list[tuple[str, list[str], dict[str, str]]], expected: list[list[str | None]]) -> None:
    assert [[*finding] for finding in kinds(*(entry(name, *phrasings, **more) for name, phrasings, more in entries))] == expected


def test_an_answer_that_is_no_chat_message_is_a_weak_spot() -> None:
    assert kinds(entry("a", "What are your terms?", answer="These are the terms. " * 100)) == [("long_answer", "a", None)]


def test_questions_for_another_kind_of_fact_are_no_near_duplicates() -> None:
    shows = (
        entry("a", "What shows are on?", answer="Night Sky and Little Star."),
        entry("b", "When is each show?", answer="11:00 and 15:00."),
    )
    assert "near_duplicate" not in {kind for kind, *_ in kinds(*shows)}


def test_what_is_worst_comes_first_and_each_pair_once() -> None:
    listed = findings([entry("a", "x y z"), entry("b", "x y z", answer="The answer is a."), entry("c", "q", answer="long " * 400)], "en")
    assert [KINDS.index(finding.kind) for finding in listed] == sorted(KINDS.index(finding.kind) for finding in listed)
    assert [finding.kind for finding in listed if finding.other] == ["duplicate_phrasing"]


def test_of_very_many_phrasings_the_first_of_each_entry_are_searched_for_and_all_where_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knowledge_lint, "MOST_SEARCHED", 3)
    entries = [entry(name, f"{name} question", f"{name} other", f"{name} third") for name in ("apple", "banana")]
    order: list[str] = []
    monkeypatch.setattr(knowledge_lint, "_searched", lambda _, __, phrasing: order.append(phrasing))
    for everything, searches in ((False, 3), (True, 6)):
        states: list[tuple[str, int, int]] = []
        findings(entries, "en", everything=everything, progress=lambda *state: states.append(state))  # noqa: B023  # called at once
        assert ("searching for phrasings", searches, searches) in states
    assert order[:3] == ["apple question", "banana question", "apple other"]
    assert order[3:7] == ["apple question", "banana question", "apple other", "banana other"]


BOT = Bot("b", "a", "Pedal", None, "offline", True, 0, 0, 0)


@pytest.mark.parametrize(("question", "answer", "setting", "value"), rows("unit/business_facts"))
def test_a_missing_setting_is_named_with_what_the_knowledge_says(question: str, answer: str, setting: str, value: str) -> None:
    findings = {finding.kind: finding for finding in knowledge_findings.findings(BOT, [Entry("e", question, (), answer, "tr")])}
    assert findings.keys() == {"phone_missing", "address_missing", "opening_hours_missing"}
    named = findings[f"{setting}_missing"]
    assert (named.entry, named.facts) == (("e", {"value": value}) if value else (None, {}))
    assert setting == "opening_hours" or all(value in named.sentence(language) for language in ("tr", "en"))


@pytest.mark.parametrize(
    ("hours", "turkish", "english"),
    [
        (
            "mon-fri 09:00-12:00; mon-fri 13:00-18:00; sat 10:00-14:00",
            "Pazartesi-Cuma 09:00-12:00 / 13:00-18:00, Cumartesi 10:00-14:00",
            "Monday-Friday 09:00-12:00 / 13:00-18:00, Saturday 10:00-14:00",
        ),
        ("sun 20:00-24:00; mon 00:00-02:00", "Pazar 20:00-02:00", "Sunday 20:00-02:00"),
    ],
)
def test_opening_hours_are_offered_as_people_write_them(hours: str, turkish: str, english: str) -> None:
    finding = knowledge_findings.LintFinding("opening_hours_missing", "e", None, {"value": hours})
    assert (turkish in finding.sentence("tr"), english in finding.sentence()) == (True, True)
    bot = BOT._replace(phone="1", address="x", opening_hours=hours)
    assert list(knowledge_findings.findings(bot, [])) == []
    assert knowledge_findings.missing(bot._replace(phone=None)) == ["phone"]
