"""Facts of entries, and the answers that are made of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search import amounts, facts
from chatsvc.engines.knowledge.search.answering import Answer, FactIndex
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from chatsvc.engines.knowledge.search.question import Question

ROOMS = "Prices per room per night including breakfast: Double £120, Twin £115, Single £80, Family Room (sleeps 4) £190. July adds £30."
VANS = """
| Van | Sleeps | Low season | High season |
|---|---|---|---|
| Poppy (VW T5) | 2 | £65 | £89 |
| Marge (Ford) | 5 | £95 | £130 |
| Big Dave (Fiat) | 6 | £110 | £155 |

High season is from 1 June to 15 September. The minimum is 3 nights. Vans are handed over from Monday to Saturday only.
Drivers are 25 at least.
"""


def entry(question: str, answer: str, *alt: str, language: str = "en") -> Entry:
    return Entry(question, question, alt, answer.strip(), language, "")


HOUSE = (
    entry("How much is a room?", ROOMS),
    entry("Our vans", VANS),
    entry("Is there a lift?", "No, the house is from 1820 and has narrow stairs."),
    entry(
        "Can I bring my dog?",
        "Yes, well behaved dogs are welcome in the ground floor rooms for £10 per night. Not in the breakfast room please.",
    ),
    entry("Swimming pool or spa?", "No pool, sorry. The beach is 2 minutes away, and guests get 20% off at the Carbis Bay spa."),
)


def ask(text: str, kind: str = "", subject: str = "", entries: Sequence[Entry] = HOUSE) -> Answer:
    return FactIndex(KnowledgeIndex(entries, "en")).answer(Question(text, kind, "en", ((subject, ""),) if subject else ()))


@pytest.mark.parametrize(
    ("text", "kind", "numbers"),
    [
        ("Kompozit dolgu 1.800 TL - 2.500 TL arası", "money", [1800, 2500]),
        ("The joining fee is £24.50", "money", [24.5]),
        ("Muayene ücretsizdir", "money", [0]),
        ("2 ila 5 ay arası sürer", "duration", [2 * 43200, 5 * 43200]),
        ("a 30 minute talk", "duration", [30]),
        ("Hafta içi 09:00 - 19:00", "time", [9, 19]),
        ("3 yaşından itibaren", "age", [3]),
        ("Over 65s pay less", "age", [65]),
        ("vegan and gluten free", "money", []),
        ("12, £20 each", "money", [20]),
        ("from 5 January to 10 February", "day", [5, 10]),
    ],
)
def test_amounts_are_read_with_their_kind(text: str, kind: str, numbers: list[float]) -> None:
    assert [value.number for value in amounts.read(text).values if value.kind == kind] == numbers


def test_days_between_two_are_named_too() -> None:
    assert amounts.read("Monday - Friday: 6:00 - 22:00").days == {0, 1, 2, 3, 4}
    assert amounts.read("Salı ve perşembe").days == {1, 3}
    assert amounts.read("from June to September").months == {6, 7, 8, 9}


def test_facts_are_sentences_items_and_rows_with_what_stands_over_them() -> None:
    assert [fact.text for fact in facts.of(entry("Adres", "Caferağa Mah. Moda Cad. No: 84 Kat: 2 Kadıköy. Metrodan 12 dakika."))] == [
        "Caferağa Mah. Moda Cad. No: 84 Kat: 2 Kadıköy.",
        "Metrodan 12 dakika.",
    ]
    items = facts.of(entry("Extras", "You can rent:\n- Bike rack £15\n- Awning £40"))
    assert [(fact.head, fact.text) for fact in items] == [("You can rent:", "Bike rack £15"), ("You can rent:", "Awning £40")]
    row = facts.of(entry("Our vans", VANS))[0]
    assert row.text == "Poppy (VW T5): Sleeps 2, Low season £65, High season £89"


def test_a_row_is_told_with_the_columns_asked_for_and_not_the_table() -> None:
    assert ask("how much is marge", "price").text == "Marge (Ford): Low season £95, High season £130"


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("whats the cheapest room", "The cheapest is Single: £80."),
        ("which van is the most expensive in high season", "The most expensive is Big Dave (Fiat): £155 (High season)."),
        ("which is cheaper, twin or double room", "Twin is cheaper: £115. Double: £120."),
    ],
)
def test_the_least_and_the_most_are_computed(question: str, told: str) -> None:
    assert ask(question, "price").text == told


def test_a_leading_yes_or_no_is_told_to_the_entrys_own_question_alone() -> None:
    assert ask("do you have a lift", "whether").text.startswith("No, the house")
    assert ask("from when is the house, are the stairs narrow", "whether").text.startswith("The house")
    assert ask("so you don't allow dogs", "whether").text.startswith("Well behaved dogs")


def test_the_subject_is_taken_where_the_question_names_nothing() -> None:
    assert ask("and how much is it?", "price", "How much is a room?").entry == "How much is a room?"
    assert ask("is it far?", "whether", "spa").entry == "Swimming pool or spa?"
    assert "Poppy" in ask("and poppy, how much?", "price", "Is there a lift?").text


TRIPS = (
    entry("Seal cruise", "Adults £18, children (3-14) £11, under 3s free. Family ticket (2 adults + 2 children) £50. Dogs £2 on a lead."),
    entry("Sunset trip", "2 hours on Fridays. £26 per person, prosecco included."),
    entry(
        "Private hire",
        "| | 2 hours | half day |\n|---|---|---|\n| Kittiwake (up to 8) | £220 | £380 |\n| Guillemot (up to 12) | £290 | £480 |",
    ),
    entry("Business cards", "100 cards £19, 250 cards £29, 500 cards £42. Double sided adds £8. Rounded corners £5 extra."),
    entry("Cakes", "| | 6 inch | 10 inch |\n|---|---|---|\n| Vegan | £55 | £90 |\n| Chocolate | £45 | £80 |"),
    entry("Our tents", "Small tent £7.50 per night, big tent £1,250 per week. Parking £4 for 3 hours."),
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("How much for 3 adults and 2 kids on the seal cruise?", "3 × Adults £18 + 2 × children (3-14) £11 = £76."),
        ("seal cruise for two adults and a dog, what does it cost", "2 × Adults £18 + Dogs £2 = £38."),
        ("price for 4 people on the sunset trip", "4 × per person £26 = £104."),
        ("how much is the small tent for 3 nights", "3 × Small tent £7.50 = £22.50."),
        ("how much is the big tent for 2 weeks", "2 × big tent £1,250 = £2,500."),
    ],
)
def test_prices_are_added_up_where_it_is_clear_what_each_is_for(text: str, said: str) -> None:
    found = ask(text, "price", entries=TRIPS)
    assert (found.decision, found.text) == ("answer", said)


@pytest.mark.parametrize(
    "text",
    [
        "How much is the kittiwake for 4 people for half a day?",  # the price is for the boat
        "seal cruise for 2 adults and 3 camels, what does it cost",  # nothing is known of camels
        "how much is the seal cruise for 2 adults and 2 children",  # the owner's own price for them
        "what do 300 cards cost",  # between two prices
        "10 inch cake price",  # a size
        "how much is the vegan 6 inch",
        "parking for 2 hours price",  # for another number of hours
        "how much is the small tent for 2 weeks",  # for another unit
    ],
)
def test_no_sum_is_guessed(text: str) -> None:
    assert "=" not in ask(text, "price", entries=TRIPS).text


def test_numbers_told_in_the_message_before_count_for_a_total() -> None:
    question = Question("and how much is that in total on the sunset trip?", "price", "en", before="we are 5 people")
    assert FactIndex(KnowledgeIndex(TRIPS, "en")).answer(question).text == "5 × per person £26 = £130."
