"""The search of the engine without a model: facts under their headings, follow-ups, and three decisions by one number."""

import pytest

from chatsvc.domain.models import Entry
from chatsvc.engines import Evidence
from chatsvc.engines.knowledge.search import evidence, facts
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from chatsvc.engines.knowledge.search.tokens import Speller, stem
from tests.tables import rows

KNOWLEDGE = {
    "Instrument hire": "| Instrument | Per month |\n|---|---|\n| Violin | £12 |\n| Guitar | £10 |\n\n"
    "Minimum hire is three months with a £40 deposit.",
    "Cars": (
        "| Class | 1-3 days | 4-7 days | Deposit |\n|---|---|---|---|\n| Economy | £30 | £27 | £200 |\n| Estate | £45 | £40 | £300 |\n"
        "| Van | £60 | £55 | £500 |\n\nOne day is 24 hours. We don't hire out motorbikes."
    ),
    "Baby seat £5 a day": "Baby seat £5, satnav £3, snow chains £8.",
    "Finding us": "27 Harbour Lane, Bristol. Tel 0117 496 0188. There is no car park. It is 5 minutes from Dr. Smith's surgery.",
    "Do you teach adults?": "Yes, beginners of any age.",
    "Opening hours": "- Monday to Friday 10:00-20:00\n- Saturday 9:00-16:00\n\nHolidays:\nClosed from 19 December.",
}
ENTRIES = [Entry(str(number), question, (), answer, "en") for number, (question, answer) in enumerate(KNOWLEDGE.items())]
INDEX = KnowledgeIndex([*ENTRIES, Entry("tr", "Evcil hayvan kabul ediyor musunuz?", ("Köpeğimle gelebilir miyim?",), "Hayır.", "tr")], "en")


@pytest.mark.parametrize(("question", "subject", "text"), rows("engines/knowledge/told")[1:])
def test_a_question_is_told_the_fact_under_its_headings(question: str, subject: str, text: str) -> None:
    hits = INDEX.search(question, subject=subject or None).hits
    fact = hits[0].fact
    assert fact is not None
    assert fact.text == text.replace("\\n", "\n")
    assert fact.entry == hits[0].entry


@pytest.mark.parametrize(
    ("question", "answer", "texts"),
    [
        ("Boya", "Dip boya 1.200 TL, bütün boya 1.800 TL'den başlar.", ["Dip boya 1.200 TL", "Bütün boya 1.800 TL'den başlar"]),
        ("Kesim", "Kesim 600 TL, indirimli kesim 400 TL.", ["Kesim 600 TL", "İndirimli kesim 400 TL"]),
        # The others are no names without the words that the first one has.
        ("Kesim", "Saç kesimi kadın 600 TL, erkek 350 TL, çocuk 250 TL.", ["Saç kesimi kadın 600 TL, erkek 350 TL, çocuk 250 TL."]),
    ],
)
def test_a_list_of_prices_is_told_by_name(question: str, answer: str, texts: list[str]) -> None:
    assert [part.fact.text for part in facts.parts_of(Entry("1", question, (), answer, "tr"))] == texts


@pytest.mark.parametrize(
    ("question", "decision"),
    [
        ("how much is it to hire a guitar per month", "answer"),
        ("how much for 2 on sunday", "ask"),  # names an amount and no thing
        ("qwerty uiop", "abstain"),
        ("", "abstain"),
    ],
)
def test_the_decision_follows_from_one_number(question: str, decision: str) -> None:
    result = INDEX.search(question)
    assert result.decision == decision
    assert 0.0 <= result.confidence <= 1.0


def test_the_language_asked_for_weighs_most() -> None:
    assert INDEX.search("köpeğimle gelsem olur mu").language == "tr"
    assert INDEX.search("köpek", "tr").hits[0].entry.id == "tr"
    assert INDEX.languages == {"en", "tr"}


def test_reasons_name_the_words_that_matched() -> None:
    (hit,) = INDEX.search("guitars hire cost minimm zzzz", explain=True, limit=1).hits
    assert "hire = hire" in hit.why
    assert any(line.startswith("guitars (answer)") for line in hit.why)


def test_synonyms_of_the_bot_mean_the_same() -> None:
    index = KnowledgeIndex(ENTRIES, "en", [["strad", "violin"]])
    assert index.search("strad").hits[0].entry.question == "Instrument hire"


def test_compounds_and_spelling_are_read_as_the_entries_write_them() -> None:
    assert INDEX.search("carpark").hits[0].entry.question == "Finding us"
    assert INDEX.search("giutar per month").hits[0].entry.question == "Instrument hire"
    assert Speller(["guitar", "harbour"]).nearest("zz") is None
    assert stem("kopegim") == "kopek"


def test_a_word_that_may_ask_for_two_kinds_of_amounts_always_asks_for_the_same() -> None:
    assert {evidence.kind_of(concepts) for concepts in (["price", "hours"], ["hours", "price"])} == {"clock"}


def test_the_nearest_entries_are_ranked_without_their_facts() -> None:
    assert INDEX.rank("opening hours")[0].entry.question == "Opening hours"


def test_a_section_is_told_whole_under_its_name() -> None:
    assert facts.whole(ENTRIES[0]).text.startswith("Instrument hire\n\n- Violin: Per month £12\n- Guitar")
    assert facts.whole(ENTRIES[4]).text == "Yes, beginners of any age."


def test_an_entry_comes_first_by_its_own_question() -> None:
    answers = {
        "Tickets": "Adult £11, child £7.50.",
        "Refunds": "Tickets are not refunded. Tickets can be moved.",
        "Ticket desk": "Tickets at the desk.",
    }
    index = KnowledgeIndex([Entry(question, question, (), answer, "en") for question, answer in answers.items()], "en")
    assert (index.search("tickets?").hits[0].entry.id, index.search("tickets?").decision) == ("Tickets", "answer")


def test_the_evidence_of_a_reply_names_first_the_entry_that_the_search_puts_first() -> None:
    answers = {"Do you rent bikes?": "Yes, 10 pounds a day.", "Bikes": "We sell bikes.", "Deposit": "The deposit is 50 pounds."}
    index = KnowledgeIndex([Entry(question, question, (), answer, "en") for question, answer in answers.items()], "en")
    result = index.search("Do you rent bikes?")
    assert max(result.hits, key=lambda hit: hit.score).entry.id == "Bikes"
    assert Evidence.of(result.hits, result.decision).answering == "Do you rent bikes?"


def test_a_row_and_a_column_that_are_named_are_the_cell() -> None:
    rooms = "| Oda | Kişi | En küçük yaş |\n|---|---|---|\n| Firavun | 2-6 | 8 |\n| Hastane | 4-7 | 16 |\n\nHastane odasında oyuncu var."
    index = KnowledgeIndex([Entry("1", "Odalar", (), rooms, "tr"), Entry("2", "Fiyat", (), "Kişi başı 450 TL.", "tr")], "tr")
    result = index.search("hastane odası kaç kişilik")
    assert (result.decision, result.hits[0].fact and result.hits[0].fact.text) == ("answer", "Odalar: Hastane: Kişi 4-7")


def test_two_likely_facts_of_one_section_are_told_together() -> None:
    cleaning = "Stains that stay cost £15, lost accessories their shop price. Please don't wash anything yourself."
    index = KnowledgeIndex([Entry("1", "Cleaning and damage", (), cleaning, "en"), *ENTRIES], "en")
    result = index.search("what if there is a wine stain on it")
    assert len(result.facts) == 1
