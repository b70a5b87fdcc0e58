"""Persons asked for by name, bare days, resumed requests, and replies that do not repeat."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import date, time
from itertools import pairwise

import pytest

from chatsvc.domain.models import Bot, Entry, HistoryMessage
from chatsvc.engines import Reply, Turn
from chatsvc.engines.knowledge.engine import KnowledgeEngine
from chatsvc.engines.knowledge.policy import state as states
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from tests.fakes import START

SATURDAY, TUESDAY = date(2026, 11, 21), date(2026, 11, 24)
HOUR_MS = 3_600_000
ESTATE = KnowledgeIndex(
    [
        Entry("1", "How much is the flat in Quay Street?", (), "£1,150 a month. Viewings on weekdays; tell us which day suits you.", "en"),
        Entry("2", "Who works there?", (), "Priya does the lettings, Tom Harding the sales.", "en"),
        Entry("3", "Do you take pets?", (), "Cats yes, dogs if the landlord agrees.", "en"),
        Entry("4", "Moda'daki daire ne kadar?", (), "Aylık 32.000 TL. Yer göstermeyi hafta içi yapıyoruz, size uyan günü yazın.", "tr"),
        Entry("5", "Kimler çalışıyor?", (), "Kiralıklara Ayşe Hanım, satılıklara Mehmet Bey bakar.", "tr"),
        Entry("6", "Evcil hayvan olur mu?", (), "Kedi olur.", "tr"),
    ]
)


@dataclass
class Caller:
    """A visitor of an estate agent."""

    country: str = "GB"
    zone: str = "Europe/London"
    speaks: str = "en"
    now: int = START  # Friday 20 November 2026
    dialogue: str | None = None
    may_capture: bool = True
    history: list[HistoryMessage] = field(default_factory=list)

    def say(self, message: str) -> Reply:
        bot = Bot("b", "a", "Harbour Homes", None, "offline", True, 0, 0, 0, opening_hours="mon-sat 09:00-19:00")
        bot = bot._replace(country=self.country, timezone=self.zone, language=self.speaks)
        turn = Turn(bot, "api", message, self.history, None, ESTATE, "", 30.0, self.now, self.dialogue, self.may_capture)
        reply = asyncio.run(KnowledgeEngine().reply(turn))
        self.history = [*self.history, HistoryMessage("user", message), HistoryMessage("assistant", reply.text)]
        self.dialogue = reply.dialogue
        return reply


def turk() -> Caller:
    return Caller("TR", "Europe/Istanbul", "tr")


@pytest.mark.parametrize(
    ("caller", "said"),
    [
        (Caller(), "can I talk to Priya?"),
        (Caller(), "can i have a word with kevin"),
        (turk(), "mehmet bey orada mı"),
        (turk(), "Ayşe hanım var mı"),
        (turk(), "Ayşe ile görüşebilir miyim"),
        (turk(), "mehmet ile konuşmam lazım"),
    ],
)
def test_a_person_asked_for_by_name_gets_a_note(caller: Caller, said: str) -> None:
    text = caller.say(said).text
    assert "someone from our team gets back to you" in text or "ekibimize yönlendireyim" in text
    caller.say("about the flat in quay street" if caller.speaks == "en" else "modadaki daire hakkında")
    agrees = "yes" if caller.speaks == "en" else "evet"
    replies = [caller.say(message) for message in ("Sam Hill", "sam@example.com", agrees)]
    assert replies[-1].captured is not None
    assert ("about the flat" if caller.speaks == "en" else "daire hakkında") in replies[-1].captured.message


@pytest.mark.parametrize("said", ["who works there?", "kimler çalışıyor", "do you take pets there"])
def test_a_question_about_persons_is_none_for_one(said: str) -> None:
    assert "put you through" not in Caller().say(said).text


def test_a_person_asked_for_where_no_more_notes_are_taken() -> None:
    assert "please contact our team directly" in Caller(may_capture=False).say("can I talk to Priya?").text


@pytest.mark.parametrize(
    ("caller", "asked", "day"),
    [
        (Caller(), "how much is the flat in quay street", "tuesday at 3pm works for me"),
        (turk(), "modadaki daire ne kadar", "salı 15:00 bana uyar"),
    ],
)
def test_a_day_and_an_hour_that_suit_open_the_request(caller: Caller, asked: str, day: str) -> None:
    caller.say(asked)
    text = caller.say(day).text
    assert "your name" in text or "Adınızı" in text
    agrees = "yes" if caller.speaks == "en" else "evet"
    reply = [caller.say(message) for message in ("Lee Moor", "lee@example.com", agrees)][-1]
    assert reply.captured is not None
    assert (reply.captured.date, reply.captured.time) == (TUESDAY, time(15))


def test_a_day_that_only_counts_is_no_wish() -> None:
    caller = Caller()
    caller.history = [HistoryMessage("user", "oil change"), HistoryMessage("assistant", "It is $49. No appointment needed before 3pm.")]
    said = caller.say("today counts right")
    assert said.captured is None
    assert "your name" not in said.text


@pytest.mark.parametrize("said", ["ok let's do it then", "actually yes, continue", "ok book it after all", "on saturday then"])
def test_a_request_given_up_is_taken_up_again_with_its_values(said: str) -> None:
    caller = Caller()
    caller.say("I'd like to book a viewing at 11am")
    caller.say("it's for saturday")
    assert "I have dropped it" in caller.say("actually forget it").text
    assert "May I have your name?" in caller.say(said).text
    reply = [caller.say(message) for message in ("Mia", "mia@example.com", "yes")][-1]
    assert reply.captured is not None
    assert (reply.captured.date, reply.captured.time) == (SATURDAY, time(11))


@pytest.mark.parametrize("said", ["tamam devam edelim", "neyse alalım"])
def test_a_request_given_up_is_taken_up_again_in_turkish(said: str) -> None:
    caller = turk()
    caller.say("yarın 11e randevu istiyorum")
    assert "bu talebi bıraktım" in caller.say("vazgeçtim").text
    assert "Adınızı alabilir miyim?" in caller.say(said).text


def test_a_request_given_up_stays_given_up_after_ok_and_after_hours() -> None:
    caller = Caller()
    caller.say("I'd like to book a viewing at 11am")
    caller.say("forget it")
    assert caller.say("ok").text == "All right. I'm here if you have another question."
    assert "Cats yes" in caller.say("do you take pets?").text
    assert not states.load(caller.dialogue, caller.now).has_open_form
    later = Caller()
    later.say("I'd like to book a viewing at 11am")
    later.say("forget it")
    later.now += 7 * HOUR_MS
    assert "May I have your name?" not in later.say("thanks").text


@pytest.mark.parametrize(("caller", "said"), [(Caller(), "i was only asking"), (turk(), "sadece sordum")])
def test_who_was_only_asking_is_let_go(caller: Caller, said: str) -> None:
    caller.say("I'd like to book a viewing" if caller.speaks == "en" else "randevu istiyorum")
    text = caller.say(said).text
    assert "I have dropped it" in text or "bu talebi bıraktım" in text
    assert "anything else" in Caller().say("just asking").text


@pytest.mark.parametrize("said", ["cheers see you friday", "perfect. see you tomorrow morning"])
def test_a_goodbye_may_name_a_day(said: str) -> None:
    assert Caller().say(said).text == "Goodbye, and have a nice day!"


@pytest.mark.parametrize("said", ["teşekkürler cumartesi görüşürüz", "tamam yarın saat 3te görüşürüz"])
def test_a_goodbye_may_name_a_day_in_turkish(said: str) -> None:
    assert turk().say(said).text == "Görüşmek üzere, iyi günler!"


def test_no_reply_comes_twice_in_a_row() -> None:
    caller = Caller()
    angry = [caller.say(message).text for message in ("this is unacceptable", "you are a joke", "what a disgrace")]
    assert all(one != other for one, other in pairwise(angry))
    assert "pass it on to our team" in angry[0]
    small = [caller.say(word).text for word in ("thanks", "thanks", "bye", "bye")]
    assert small[1:] == ["Any time.", "Goodbye, and have a nice day!", "Take care!"]


def test_the_same_question_again_gets_an_offer_beside_its_answer() -> None:
    caller = Caller()
    first = caller.say("do you take pets?").text
    assert (
        caller.say("do you take pets").text
        == f"{first}\n\nThat is all I know about this. Shall I take a note so that our team gets back to you?"
    )
    assert "What would you like to talk about?" in caller.say("yes please").text or "your name" in caller.history[-1].content


@pytest.mark.parametrize("said", ["i'll take that one", "sorry, yes go ahead with that booking", "put me down for saturday"])
def test_who_takes_what_was_offered_gets_a_request(said: str) -> None:
    caller = Caller()
    caller.say("how much is the flat in quay street")
    assert caller.say(said).text.startswith("Of course, let me take ")


@pytest.mark.parametrize(
    "said", ["i've rung three times, nobody answers", "kaç gündür arıyorum kimse ilgilenmiyor", "you scratched my door"]
)
def test_a_complaint_gets_no_price_list(said: str) -> None:
    text = Caller(speaks="tr" if "kaç" in said else "en").say(said).text
    assert "pass it on to our team" in text or "ekibimize ileteyim" in text


def test_a_name_is_in_no_foreign_language_and_begins_a_note() -> None:
    caller = turk()
    caller.say("modadaki daire ne kadar")
    assert "telefon numaranızı" in caller.say("Gizem Nur").text
