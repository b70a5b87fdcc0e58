"""Conversations of conversations.txt, and what does not fit into them."""

import re
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from chatsvc.domain.captures import Captured
from chatsvc.domain.models import HistoryMessage
from chatsvc.domain.profiles import Form, FormField, Profile
from chatsvc.domain.times import DAY_MS
from chatsvc.engines import EngineError
from chatsvc.engines.knowledge import dialogue, state
from tests.engines.knowledge.desk import NOW, Desk

FILE = Path(__file__).with_name("conversations.txt")


class Exchange(NamedTuple):
    said: str
    lines: list[tuple[str, str]]


def conversations() -> list[tuple[str, str, list[Exchange]]]:
    talks: list[tuple[str, str, list[Exchange]]] = []
    for line in FILE.read_text(encoding="utf-8").splitlines():
        sign, text = line[:1], line[2:].strip()
        if line.startswith("== "):
            language, _, title = text.strip().removeprefix(" ").partition(": ")
            talks.append((language.removeprefix("= ").strip(), title, []))
        elif sign == ">":
            talks[-1][2].append(Exchange(text, []))
        elif sign in "<?*" and line:
            talks[-1][2][-1].lines.append((sign, text))
    return [talk for talk in talks if talk[2]]


def captured_fields(captured: Captured) -> dict[str, str]:
    change = captured.change
    kind = ("cancel" if change.cancels else "correct" if change.corrects else "move") if change else captured.request_type
    fields = {"name": captured.visitor_name, "phone": captured.visitor_phone, "email": captured.visitor_email}
    when = {"date": captured.date and f"{captured.date}", "time": captured.time and f"{captured.time:%H:%M}"}
    return {"": kind, **{name: value for name, value in {**fields, **when}.items() if value}}


@pytest.mark.parametrize(("language", "title", "exchanges"), conversations(), ids=lambda value: value if isinstance(value, str) else "")
def test_a_conversation(language: str, title: str, exchanges: list[Exchange]) -> None:
    desk = Desk(language)
    for message, lines in exchanges:
        reply, noted = desk.say(message), False
        for sign, text in lines:
            if sign == "<":
                for part in map(str.strip, text.split(" | ")):
                    matches = any(option in reply for option in part.split("|")) if "|" in part else part.removeprefix("!") in reply
                    assert matches != part.startswith("!"), (title, message, part, reply)
            elif sign == "?":
                assert list(desk.choices) == text.split(" | ")
            else:
                assert desk.captured is not None, (title, message, reply)
                kind, *rest = re.split(r" (?=\w+=|~)", text)
                assert captured_fields(desk.captured) == {"": kind, **dict(pair.split("=", 1) for pair in rest if pair[0] != "~")}
                assert all(pair[1:] in desk.captured.message for pair in rest if pair[0] == "~"), desk.captured.message
                noted = True
        assert noted or desk.captured is None, (title, message, desk.captured)


OWN = Profile(
    texts={"open.appointment": {"en": "Gladly!"}},
    forms={
        "appointment": Form(
            "time",
            (
                FormField("Size", "choice", {"en": "Which size?"}, ("Small", "Large")),
                FormField("Notes", "text", {"en": "Anything else?"}, (), False),
                FormField("Frames", "number", {"en": "How many?"}),
            ),
        )
    },
)


def test_the_owners_fields_and_sentences() -> None:
    desk = Desk("en", profile=OWN)
    assert desk.say("I'd like to book saturday at 11").startswith("Gladly! Which size? (Small / Large)")
    assert desk.choices == ("Small", "Large")
    assert "Anything else?" in desk.say("the big one, large")
    assert "How many?" in desk.say("it is fragile")
    assert "name" in desk.say("3")
    assert "Size: Large" in desk.say("Tom Hill 07700 900123")
    desk.say("yes")
    assert desk.captured is not None
    assert desk.captured.details == (("Size", "Large"), ("Notes", "it is fragile"), ("Frames", "3"))
    assert desk.captured.offered == ("Large",)


@pytest.mark.parametrize(
    ("message", "people"),
    [
        ("book saturday at 11 for 12 children", "12"),
        ("book saturday at 11, a party of 8 people and 1 dog", "8"),
        ("book saturday at 11 for 2 adults and 3 kids", ""),
    ],
)
def test_a_number_of_people_counts_wherever_it_stands(message: str, people: str) -> None:
    fields = (FormField("People", "number", {"en": "How many people are you?"}),)
    desk = Desk("en", profile=Profile(forms={"appointment": Form("time", fields)}))
    assert ("How many people" in desk.say(message)) != bool(people)
    assert ("People: " in desk.say("Tom Hill 07700 900123")) == bool(people)


def test_nights_end_a_stay() -> None:
    desk = Desk("en", profile=Profile(forms={"appointment": Form("nights")}))
    assert "arrive" in desk.say("I'd like to book a room")
    assert "How many nights" in desk.say("friday 4 december")
    assert "name" in desk.say("3")
    assert "Nights: 3" in desk.say("Tom Hill 07700 900123")


def test_an_english_visitor_of_a_turkish_bot_is_told_once() -> None:
    desk = Desk("tr")
    desk.say("hello, good morning to you")
    first = desk.say("what about the otopark please")
    assert first.endswith("Otoparkımız yok.")
    assert "Turkish" in first
    assert desk.say("and what about teslimat please") == "Teslimat aynı gün, 80 TL."


@pytest.mark.parametrize("channel", ["web", "api"])
def test_what_is_unknown_is_a_fallback_with_its_offer(channel: str) -> None:
    desk = Desk("en", channel=channel)
    assert "Shall I take a note" in desk.say("do you restore mirrors")
    assert desk.failure == "no_answer"
    assert desk.choices == ("Yes", "No")
    assert "May I have your name?" in desk.say("yes")


def test_a_question_whose_choices_nobody_took_was_missed() -> None:
    desk = Desk("en")
    assert "Did you mean" in desk.say("what does a frame cost")
    assert not desk.reply.is_answer
    desk.say("Walnut frame")
    assert desk.reply.is_answer
    assert not desk.reply.missed
    desk.say("how much is a frame then")
    desk.say("do you have parking")
    assert desk.reply.missed == "how much is a frame then"
    assert not desk.reply.is_answer


def test_hand_off_names_the_person() -> None:
    assert "just write “agent”" in Desk("en", hand_off=True).say("do you restore mirrors")


def test_another_language_names_those_spoken() -> None:
    assert "English" in Desk("en").say("Guten Tag, ich möchte gerne wissen ob Sie auch Spiegel reparieren")


def test_a_form_of_hours_ago_is_taken_up_after_a_question() -> None:
    desk = Desk("en")
    desk.say("I'd like to book saturday 21 november")
    desk.turn = replace(desk.turn, now_ms=NOW + DAY_MS // 3)
    assert "Last time we had started" in desk.say("hello")
    assert "what time" in desk.say("yes").lower()


def test_no_more_notes_today() -> None:
    desk = Desk("en")
    desk.turn = replace(desk.turn, may_capture=False)
    assert "can't take any more notes today" in desk.say("I'd like to book saturday at 11")


@pytest.mark.parametrize("stored", ["", "{", "[]", '{"version": 3}', '{"version": 2, "at": 1}', "x" * 20_000])
def test_a_state_that_cannot_be_read_counts_as_none(stored: str) -> None:
    assert state.load(stored, NOW) == (state.State(), False)


def test_a_form_begins_where_nobody_came() -> None:
    desk = Desk("en")
    turn = replace(desk.turn, message="can I talk to somebody")
    assert "Nobody from our team is free" in dialogue.nobody_came(turn).text


def test_the_interface_gets_no_sentence_without_an_answer() -> None:
    desk = Desk("en")
    with pytest.raises(EngineError, match="no_answer"):
        dialogue.reply(replace(desk.turn, message="do you restore mirrors"))


def test_a_greeting_that_was_shown_already_is_not_said_again() -> None:
    assert Desk("en", channel="web").say("hello") == "Hello, go ahead."
    desk = Desk("tr", channel="telegram", greeting="Çerçeveye hoş geldiniz!")
    desk.turn = replace(desk.turn, history=[HistoryMessage("assistant", "Çerçeveye hoş geldiniz!")])
    assert desk.say("merhaba") == "Merhaba, buyurun."
    assert Desk("tr", greeting="Çerçeveye hoş geldiniz!").say("merhaba") == "Çerçeveye hoş geldiniz!"
