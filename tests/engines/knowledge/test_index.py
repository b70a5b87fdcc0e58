"""Searching a bot's knowledge: what is found, in which order and language, and that nothing makes it stumble."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatsvc import samples
from chatsvc.domain.knowledge_files import parse_file
from chatsvc.domain.models import Entry
from chatsvc.engines import Knowledge
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from tests.engines.knowledge.questions import ENGLISH, FOREIGN_ENGLISH, FOREIGN_TURKISH, TURKISH
from tests.engines.knowledge.test_stemming import ANY_TEXT


def sample_entries() -> list[Entry]:
    entries: list[Entry] = []
    for name, text in samples.knowledge().items():
        for number, parsed in enumerate(parse_file(name, text, "tr"), start=1):
            identity = f"{parsed.language}{number}"
            entries.append(Entry(identity, parsed.question, parsed.alt, parsed.answer, parsed.language, parsed.source))
    return entries


SAMPLE = KnowledgeIndex(sample_entries())


def entry(identity: str, question: str, *alt: str, answer: str = "-", language: str = "en") -> Entry:
    return Entry(identity, question, alt, answer, language)


def ids(index: Knowledge, text: str, language: str | None = None, limit: int = 5) -> list[str]:
    return [hit.entry.id for hit in index.search(text, language, limit).hits]


@pytest.mark.parametrize(("tag", "questions"), [("tr", TURKISH), ("en", ENGLISH)])
def test_rephrased_questions_find_their_entry(tag: str, questions: list[tuple[str, int]]) -> None:
    missed = [question for question, number in questions if ids(SAMPLE, question)[:1] != [f"{tag}{number}"]]
    assert len(missed) <= 1, missed  # 47 of 48 when this was written


@pytest.mark.parametrize(("tag", "questions"), [("tr", TURKISH), ("en", ENGLISH)])
def test_what_is_answered_is_answered_rightly(tag: str, questions: list[tuple[str, int]]) -> None:
    findings = [(SAMPLE.search(question), f"{tag}{number}") for question, number in questions]
    answered = [(finding.hits[0].entry.id, wanted) for finding, wanted in findings if finding.decision == "answer"]
    assert sum(got == wanted for got, wanted in answered) >= 0.95 * len(answered)
    assert len(answered) >= 0.7 * len(questions)


@pytest.mark.parametrize("question", FOREIGN_TURKISH + FOREIGN_ENGLISH)
def test_foreign_questions_are_not_answered(question: str) -> None:
    assert SAMPLE.search(question).decision != "answer"


def test_every_phrasing_of_an_entry_finds_it() -> None:
    lost = [
        phrasing
        for one in SAMPLE.entries
        for phrasing in (one.question, *one.alt)
        if ids(SAMPLE, phrasing, one.language)[:1] != [one.id] or SAMPLE.search(phrasing, one.language).decision != "answer"
    ]
    assert not lost


def test_entries_with_a_single_phrasing_are_found() -> None:
    index = KnowledgeIndex([entry(one.id, one.question, language=one.language) for one in SAMPLE.entries])
    asked = [(question, f"{tag}{number}") for tag, all_of in (("tr", TURKISH), ("en", ENGLISH)) for question, number in all_of]
    found = sum(ids(index, question)[:1] == [wanted] for question, wanted in asked)
    assert found >= 0.7 * len(asked)


def test_the_lexicon_finds_what_shares_no_word() -> None:
    index = KnowledgeIndex(
        [entry("hours", "When are you open?"), entry("pets", "May I bring my dog?"), entry("pay", "Do you accept cash?")]
    )
    assert ids(index, "closing time")[0] == "hours"
    assert ids(index, "are animals allowed")[0] == "pets"
    assert ids(index, "ödeme nakit mi")[0] == "pay"


def test_a_bot_has_synonyms_of_its_own() -> None:
    entries = [entry("frame", "How tall is the frame?"), entry("pedal", "Which pedals are there?"), entry("lock", "Is a lock included?")]
    synonyms = [["frame", "frankular", "quax tube"], ["pedal", "zimp plate"], [], ["  "]]
    plain, own = KnowledgeIndex(entries, "en"), KnowledgeIndex(entries, "en", synonyms)
    for asked, wanted in (("frankulars", "frame"), ("a frankulra", "frame"), ("quax tubes", "frame"), ("zimp plates", "pedal")):
        assert ids(plain, asked)[:1] != [wanted]
        assert ids(own, asked)[:1] == [wanted]
    assert ids(own, "what frame")[:1] == ["frame"]


def test_a_hit_says_why_where_it_is_asked_for() -> None:
    hours = entry("a", "Pazar günü saat kaçta açıksınız?", "pazar", answer="Cumartesi kapora.", language="tr")
    index = KnowledgeIndex([hours, entry("b", "x y")])
    finding = index.search("pazarları açıksınız mesai kapora saaat", "tr", explain=True)
    why = finding.hits[0].why
    assert "aciksiniz = aciksiniz" in why
    assert any(line.startswith(("pazarlari ~ ", "pazarlari -> ")) for line in why)
    assert "kapora (answer)" in why
    assert any(line.startswith("mesai -> ") and line.endswith(")") for line in why)
    assert index.search("pazar", "tr").hits[0].why == ()


def test_a_slip_of_the_pen_is_forgiven() -> None:
    assert ids(SAMPLE, "do you take credti crads")[0] == "en5"
    assert ids(SAMPLE, "depozto ne kadr")[0] == "tr7"


def test_a_word_only_in_the_answer_counts_a_little() -> None:
    asked = ("What do you eat?", "What is for lunch?")
    index = KnowledgeIndex(
        [entry("a", "What do you serve?", *asked, answer="Lentil soup."), entry("b", "Lentil recipes", *asked, answer="Ask.")]
    )
    assert index.search("soup").hits[0].entry.id == "a"
    assert ids(index, "lentil recipes")[0] == "b"


def test_the_wanted_language_wins_over_the_same_entry_in_another() -> None:
    assert ids(SAMPLE, "wifi taksi visa kart", "tr")[0] == "tr5"
    assert ids(SAMPLE, "visa kart", "en-GB")[0].startswith("en")
    assert ids(SAMPLE, "whatsapp", "tr")[0] == "tr19"
    assert ids(SAMPLE, "whatsapp", "en")[0] == "en19"


def test_without_a_language_the_question_shows_it_else_the_default_counts() -> None:
    assert SAMPLE.search("do you have whatsapp").language == "en"
    assert SAMPLE.search("whatsapp var mı").language == "tr"
    assert SAMPLE.search("whatsapp").language == "tr"
    assert ids(SAMPLE, "whatsapp")[0] == "tr19"
    english = KnowledgeIndex(sample_entries(), default_language="en-US")
    assert english.search("whatsapp").language == "en"
    assert ids(english, "whatsapp")[0] == "en19"


def test_other_languages_serve_where_the_wanted_one_has_nothing() -> None:
    index = KnowledgeIndex([one for one in SAMPLE.entries if one.language == "en"])
    finding = index.search("kredi kartı ile ödeme", "tr")
    assert finding.language == "tr"
    assert finding.hits[0].entry.id == "en5"
    german = SAMPLE.search("what are your opening hours", "de")
    assert (german.language, german.hits[0].entry.id) == ("de", "en1")


def test_hits_are_best_first_and_no_more_than_asked_for() -> None:
    for question, _ in TURKISH + ENGLISH:
        scores = [hit.score for hit in SAMPLE.search(question).hits]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)
        assert len(scores) <= 5
    assert len(SAMPLE.search("bisiklet", limit=2).hits) == 2
    assert SAMPLE.search("bisiklet", limit=0).hits == ()


def test_equal_entries_keep_the_order_in_which_they_were_given() -> None:
    twins = [entry(str(number), "Where are you?") for number in range(5)]
    assert ids(KnowledgeIndex(twins), "where are you") == ["0", "1", "2", "3", "4"]


@pytest.mark.parametrize("entries", [[], [entry("a", "")], [entry("a", "???", answer="")], [entry("a", "Hi"), entry("a", "Hi")]])
def test_an_index_of_next_to_nothing_works(entries: list[Entry]) -> None:
    index = KnowledgeIndex(entries)
    assert index.search("hello").decision in {"answer", "ask", "abstain"}
    assert index.search("").decision == "abstain"
    assert list(index.entries) == entries


@pytest.mark.parametrize("text", ["", " ", "\ud800" * 4000, "🙂" * 4000, "a " * 2000, "'" * 4000, "Ж" * 4000, "\x00", "the of and"])
def test_odd_texts_are_no_answer(text: str) -> None:
    assert SAMPLE.search(text).decision != "answer"


@settings(deadline=None)
@given(ANY_TEXT, st.sampled_from([None, "tr", "en-GB", "zz", ""]))
def test_any_text_is_searched_the_same_way_twice(text: str, language: str | None) -> None:
    finding = SAMPLE.search(text, language)
    assert finding == SAMPLE.search(text, language)
    assert 0 <= finding.confidence <= 1


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), max_size=8), ANY_TEXT)
def test_any_entries_can_be_indexed(pairs: list[tuple[str, str]], text: str) -> None:
    entries = [entry(str(number), question, question[::-1], answer=answer) for number, (question, answer) in enumerate(pairs)]
    assert KnowledgeIndex(entries).search(text) == KnowledgeIndex(entries).search(text)


_PRINT_FINDINGS = """
from tests.engines.knowledge.test_index import SAMPLE, TURKISH, ENGLISH
for question, _ in TURKISH + ENGLISH:
    found = SAMPLE.search(question)
    print(found.language, found.decision, found.confidence, [(hit.entry.id, hit.score) for hit in found.hits])
"""


def test_the_findings_do_not_hang_on_the_seed_of_hashes() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", _PRINT_FINDINGS], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True, text=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert outputs.pop().count("\n") == len(TURKISH + ENGLISH)


def test_a_search_touches_no_more_postings_than_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatsvc.engines.knowledge.search.postings.BUDGET", 10)
    monkeypatch.setattr("chatsvc.engines.knowledge.search.spelling._BUDGET", 3)
    many = KnowledgeIndex([entry(str(number), f"Where is shelf number{number}?") for number in range(100)])
    assert ids(many, "where is shelf number42")[0] == "42"  # the rare word comes first
    assert many.search("where is shelf numebr42").hits


def test_a_passage_of_a_document_is_found_by_its_sentences() -> None:
    about = (
        "Our workshop has existed since 1987. We repair bicycles of all makes, and electric ones as well. "
        "A worn chain is replaced while you wait, which takes about a quarter of an hour. "
        "Whoever leaves a bicycle for longer than a month pays two lira for each further day. "
        "In winter the workshop is closed on Mondays, since hardly anybody rides in the snow then."
    )
    other = (
        "The tours begin at the fountain. A guide rides ahead and another one behind, so that nobody is lost on the way. "
        "Helmets are lent to everybody who comes without one. Children ride along from the age of eight, on bicycles of their size. "
        "The long tour has forty kilometres and a rest at noon, the short one fifteen and a rest at the beach."
    )
    index = KnowledgeIndex([entry("w", "About us", answer=about), entry("t", "More about us", answer=other)], "en")
    for question, wanted in (("can I wait while the chain is replaced", "w"), ("from what age can children ride along", "t")):
        assert ids(index, question)[0] == wanted
        assert index.search(question).decision == "answer"
