"""Answers of a bot whose knowledge file has short headings and no other phrasings: bands, follow-ups, facts, several questions."""

from __future__ import annotations

from typing import Any

import pytest

from chatsvc.domain.models import Bot, Entry, HistoryMessage
from chatsvc.engines import EngineError, SearchResult, Turn
from chatsvc.engines.knowledge.dialogue import facts
from chatsvc.engines.knowledge.engine import KnowledgeEngine
from chatsvc.engines.knowledge.search.index import KnowledgeIndex

INN = {
    "Parking": "No car park of our own. There is a pay and display on Quay Street, £7 for 24 hours, three minutes' walk. "
    "We have 2 permits at £4 a night.",
    "Wi-Fi": "Free, the password is on the card by the lamp. Speed is about 60 Mbps.",
    "Breakfast": "Served from 8:00 to 10:00 in the garden room. £12 for guests from outside.",
    "Dogs": "One dog per room, £10 a night. Not in the breakfast room please.",
    "Boat trip": "Every day at 14:00 from May to September, three hours. £35 per person, tea included. Captain is Maggie.",
    "Late arrival": "Reception closes at 22:00. If you come later, tell us and we leave the key in the box by the door.",
    "Laundry": "Washing £5 a load, ready the same day if you bring it before 10:00.",
    "Bicycles": "Six bikes, half a day £8, full day £14. Helmets are free.",
    "Cancellation": "Free until 48 hours before arrival. After that we charge the first night.",
    "Where to find us": "12 Quay Street, behind the old lighthouse. The bus stops outside the door.",
}
BOT = Bot("b", "a", "Quay Inn", None, "offline", True, 0, 0, 0, language="en")
KNOWLEDGE = KnowledgeIndex([Entry(name, name, (), answer, "en") for name, answer in INN.items()], "en")
ENGINE = KnowledgeEngine()


class Banded(KnowledgeIndex):
    """An index whose searches all end in one band."""

    band: tuple[str, bool] = ("answer", False)

    def search(self, *asked: Any, **rest: Any) -> SearchResult:
        found = super().search(*asked, **rest)
        return SearchResult(found.language, self.band[0], 0.4, found.hits, self.band[1])


def turn(message: str, *history: str, knowledge: KnowledgeIndex = KNOWLEDGE, bot: Bot = BOT) -> Turn:
    told = [HistoryMessage("assistant" if at % 2 else "user", text) for at, text in enumerate(history)]
    return Turn(bot, "api", message, told, None, knowledge, "", 30.0, 0)


async def said(message: str, *history: str, **rest: Any) -> str:
    return (await ENGINE.reply(turn(message, *history, **rest))).text


async def test_a_likely_entry_is_answered_with_its_name() -> None:
    banded = Banded([Entry(name, name, (), answer, "en") for name, answer in INN.items()], "en")
    banded.band = ("ask", True)
    asked = "and would there be a strong wifi signal up in the attic"
    assert await said(asked, knowledge=banded) == f"I think you are asking about “Wi-Fi”:\n\n{INN['Wi-Fi']}"
    turkish = Banded([Entry("1", "Havuz var mı?", (), "Havuzumuz yok.", "tr")], "tr")
    turkish.band = ("ask", True)
    asked = "orada bizim çocuklar için bir de havuz gibi bir şey var mı acaba"
    assert await said(asked, knowledge=turkish) == "Sanırım şunu soruyorsunuz: Havuz var mı.\n\nHavuzumuz yok."
    banded.band = ("ask", False)
    assert (await said("and would there be a strong wifi signal up in the attic", knowledge=banded)).startswith("Did you mean")
    with pytest.raises(EngineError):
        await said("and would there be a strong wifi signal up in the attic", knowledge=banded, bot=BOT._replace(ask_back=False))


@pytest.mark.parametrize(
    ("spoken", "message", "lead"),
    [
        ("Parking", "price?", "There is a pay and display on Quay Street, £7"),
        ("Parking", "how far is it", "There is a pay and display"),
        ("Boat trip", "how much is that?", "£35 per person"),
        ("Boat trip", "is that per person?", "£35 per person"),
        ("Boat trip", "what time?", "Every day at 14:00"),
        ("Boat trip", "and how long?", "Every day at 14:00 from May to September, three hours"),
        ("Boat trip", "who runs it", "Captain is Maggie."),
        ("Breakfast", "until when?", "Served from 8:00 to 10:00"),
    ],
)
async def test_a_question_for_a_fact_looks_first_into_the_entry_spoken_of(spoken: str, message: str, lead: str) -> None:
    reply = await said(message, spoken.lower(), INN[spoken])
    assert reply.startswith(lead)
    assert set(facts.sentences(reply)) <= set(facts.sentences(INN[spoken]))


@pytest.mark.parametrize(("message", "name"), [("wifi any good", "Wi-Fi"), ("and breakfast?", "Breakfast"), ("laundry?", "Laundry")])
async def test_an_entry_that_the_message_names_is_answered_outright(message: str, name: str) -> None:
    assert facts.sentences(await said(message)) == facts.sentences(INN[name])


async def test_the_entry_spoken_of_is_still_known_when_its_sentences_were_rearranged() -> None:
    first = await said("how much is the car park per night, for parking")
    assert first != INN["Parking"]
    assert first.startswith("There is a pay and display")
    assert (await said("how much?", "parking", first)).startswith("There is a pay and display")


async def test_of_near_entries_the_one_that_states_the_fact_comes_first() -> None:
    rooms = [
        Entry("1", "How many rooms are there?", (), "Fourteen, some with a view of the sea.", "en"),
        Entry("2", "Room rates", (), "Standard £90, with a sea view £120.", "en"),
        Entry("3", "Parking", (), "Behind the house.", "en"),
    ]
    index = Banded(rooms, "en")
    index.band = ("ask", True)
    assert index.search("what would the rooms with a view of the sea cost").hits[0].entry.id == "1"
    assert "£120" in await said("what would the rooms with a view of the sea cost", knowledge=index)


async def test_another_subject_is_not_taken_for_a_follow_up() -> None:
    assert await said("and breakfast?", "parking", INN["Parking"]) == INN["Breakfast"]
    assert await said("do you take dogs", "parking", INN["Parking"]) == INN["Dogs"]


async def test_the_words_of_a_question_without_an_answer_are_context_of_the_next() -> None:
    alone = "bring one"
    with pytest.raises(EngineError):
        await said(alone, bot=BOT._replace(ask_back=False))
    message = turn(alone, bot=BOT._replace(ask_back=False))
    history = [HistoryMessage("user", "my dogs")]
    answered = await ENGINE.reply(Turn(message.bot, "api", "my dogs, can they come", history, None, KNOWLEDGE, "", 30.0, 0))
    assert INN["Dogs"] in answered.text


async def test_each_of_several_questions_is_answered_and_what_has_no_answer_is_named() -> None:
    both = await said("do you take dogs? and what time is breakfast?")
    assert INN["Dogs"] in both
    assert INN["Breakfast"] in both
    three = await said("do you take dogs? what time is breakfast? is there a helipad?")
    assert three.startswith(both)
    assert three.endswith("I don't have information on this: “is there a helipad”.")


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("how much is it", {"money"}),
        ("fiyatı ne kadar", {"money"}),
        ("kaç para", {"money"}),
        ("what time do you open", {"time"}),
        ("kaçta başlıyor", {"time"}),
        ("how long does it take", {"duration"}),
        ("ne kadar sürer", {"duration"}),
        ("who does it", {"person"}),
        ("kim yapıyor", {"person"}),
        ("where is it", {"place"}),
        ("nerede oluyor", {"place"}),
    ],
)
def test_a_question_shows_the_kind_of_fact_it_asks_for(question: str, kinds: set[str]) -> None:
    assert facts.asked(question) == kinds


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Kişi başı 650 TL.", "money"),
        ("Yarım gün ₺200.", "money"),
        ("A fiver on the door.", "money"),
        ("about 30 pounds", "money"),
        ("Giriş 14:00, çıkış 12:00.", "time"),
        ("We open at 9 am.", "time"),
        ("Takes 40 minutes.", "duration"),
        ("2 seansta biter.", "duration"),
        ("Pazartesi kapalı.", "date"),
        ("from May to October", "date"),
        ("Sakarya Mah. Zeytin Sok. No:12", "place"),
        ("behind the church", "place"),
        ("Terapist Maya Hanım.", "person"),
        ("Done by Aoife.", "person"),
        ("yüzde 10 indirim", "percent"),
    ],
)
def test_a_sentence_states_facts_of_a_kind(sentence: str, kind: str) -> None:
    assert kind in facts.stated(sentence)


def test_a_sentence_that_points_back_takes_the_one_before_along() -> None:
    answer = (
        "We have six rooms in the old house and four in the garden. We take a deposit of a part of the price by card. It is £50 per room."
    )
    assert facts.lead_with(answer, "how much is the deposit") == (
        "We take a deposit of a part of the price by card. It is £50 per room. We have six rooms in the old house and four in the garden."
    )
    assert facts.lead_with("Rooms are nice. It is £50.", "how much") == "Rooms are nice. It is £50."


def test_an_abbreviation_ends_no_sentence() -> None:
    assert facts.sentences("Dr. Pelin Hanım bakıyor. Sakarya Mah. Zeytin Sok. No:12.\nTel. 0266") == [
        "Dr. Pelin Hanım bakıyor.",
        "Sakarya Mah. Zeytin Sok. No:12.",
        "Tel. 0266",
    ]
