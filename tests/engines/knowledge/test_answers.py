"""Answers of a bot whose knowledge file has short headings and no other phrasings: bands, follow-ups, facts, several questions."""

from __future__ import annotations

from typing import Any

import pytest

from chatsvc.domain.models import Bot, Entry, HistoryMessage
from chatsvc.engines import Turn
from chatsvc.engines.knowledge.engine import KnowledgeEngine
from chatsvc.engines.knowledge.policy.state import State, Subject
from chatsvc.engines.knowledge.search import facts
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


def turn(message: str, *history: str, bot: Bot = BOT) -> Turn:
    """A message, after an entry's name and its answer."""
    told = [HistoryMessage("assistant" if at % 2 else "user", text) for at, text in enumerate(history)]
    spoken = next((name for name, answer in INN.items() if answer in history), "")
    dialogue = State(subjects=(Subject(spoken, spoken),), language="en").dump(0) if spoken else None
    return Turn(bot, "api", message, told, None, KNOWLEDGE, "", 30.0, 0, dialogue)


async def said(message: str, *history: str, **rest: Any) -> str:
    return (await ENGINE.reply(turn(message, *history, **rest))).text


@pytest.mark.parametrize(
    ("spoken", "message", "lead"),
    [
        ("Parking", "price?", "There is a pay and display on Quay Street, £7"),
        ("Parking", "how far is it", "There is a pay and display on Quay Street, £7"),
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


async def test_a_bare_question_that_the_entry_spoken_of_cannot_answer_is_about_what_the_visitor_named() -> None:
    asked = "do i have to tell you before if i want the boat trip"
    assert "£35" in await said("how much", asked, INN["Late arrival"])


@pytest.mark.parametrize(("message", "name"), [("wifi any good", "Wi-Fi"), ("and breakfast?", "Breakfast"), ("laundry?", "Laundry")])
async def test_an_entry_that_the_message_names_is_answered_outright(message: str, name: str) -> None:
    assert facts.sentences(await said(message)) == facts.sentences(INN[name])


async def test_another_subject_is_not_taken_for_a_follow_up() -> None:
    assert await said("and breakfast?", "parking", INN["Parking"]) == INN["Breakfast"]
    assert await said("do you take dogs", "parking", INN["Parking"]) == INN["Dogs"]


async def test_each_of_several_questions_is_answered_and_what_has_no_answer_is_named() -> None:
    both = await said("do you take dogs? and what time is breakfast?")
    assert INN["Dogs"] in both
    assert INN["Breakfast"] in both
    three = await said("do you take dogs? what time is breakfast? is there a helipad?")
    assert three.startswith(both)
    assert three.endswith("I don't have information on this: “is there a helipad”.")
