"""Forms that visitors interrupt: questions in between are answered, values stay what they are, and no question is asked without end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from chatsvc.domain.models import Bot, Entry, HistoryMessage
from chatsvc.engines import Reply, Turn
from chatsvc.engines.knowledge.engine import KnowledgeEngine
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from tests.fakes import START

INN = {
    "Parking": "Courtyard, 8 spaces, €12 a night. Can't reserve. Charging point for electric cars, 45 cents per kWh.",
    "Sauna": "Open 5pm to 9pm, free for guests, others €18. Towels there. No kids under 14.",
    "Payment": "Cards, cash, no cheques. Deposit 30% when you book.",
    "Trial week": "First week half price, €11. No obligation.",
    "Gift cards": "From €25, valid 2 years, by e-mail or printed.",
    "Staff": "Fiona Byrne is the owner, Declan runs the restaurant.",
    "Lost property": "Kept 3 months, we post it if you pay postage.",
}
GARAGE = {
    "Fren": "Ön balata 2.500, arka 2.200. Disk dahil ön takım 6.800 TL. Fren kontrolü ücretsiz, 15 dakika sürer.",
    "Ekspertiz": "Tam paket 4.500 TL, motor ve kaporta. 1.5 saat. Rapor aynı gün pdf.",
    "Kredi kartı geçiyor mu": "Evet bütün kartlar. 6 taksite kadar Bonus ve World. Havale de olur.",
    "Vale": "Vale var 150 TL. Akşam 7'den sonra.",
    "Hekimler": "Dr. Selin Aksoy ve Dr. Mert Uçar. Selin hanım perşembe günleri yok.",
    "Canlı müzik": "Cuma ve cumartesi 20.30'dan sonra fasıl var. Müzik ücreti yok.",
    "Acil durum": "Gece 22'ye kadar 0532 555 90 11 nöbetçi telefonu açık.",
}


@dataclass
class Caller:
    """A visitor with a conversation of their own."""

    tongue: str
    dialogue: str | None = None
    history: list[HistoryMessage] = field(default_factory=list)

    def say(self, message: str) -> Reply:
        facts, country, zone = (INN, "IE", "Europe/Dublin") if self.tongue == "en" else (GARAGE, "TR", "Europe/Istanbul")
        index = KnowledgeIndex([Entry(name, name, (), answer, self.tongue) for name, answer in facts.items()], self.tongue)
        bot = Bot("b", "a", "Bot", None, "offline", True, 0, 0, 0, language=self.tongue, country=country, timezone=zone)
        bot = bot._replace(opening_hours="mon-sat 08:00-22:00")
        reply = asyncio.run(
            KnowledgeEngine().reply(Turn(bot, "api", message, self.history, None, index, "", 30.0, START, self.dialogue, True))
        )
        self.history = [*self.history, HistoryMessage("user", message), HistoryMessage("assistant", reply.text)]
        self.dialogue = reply.dialogue
        return reply


def after(tongue: str, *messages: str) -> Caller:
    caller = Caller(tongue)
    for message in messages:
        caller.say(message)
    return caller


@pytest.mark.parametrize(
    ("tongue", "before", "message", "answer"),
    [
        ("tr", ("yarın 10da randevu fren",), "ödemeyi kartla yapabiliyor muyum", "Evet bütün kartlar."),
        ("tr", ("yarın 10da randevu fren",), "vale var mı bu arada", "Vale var 150 TL."),
        ("tr", ("cumartesiye randevu",), "rapor ne zaman elimde", "Rapor aynı gün pdf."),
        ("tr", ("cumartesiye randevu",), "fasıl olucak mı o gün", "fasıl var"),
        ("en", ("i want to book a room for friday", "6pm"), "does the sauna cost extra", "free for guests"),
    ],
)
def test_a_question_in_a_form_is_answered_before_the_forms_own_is_repeated(
    tongue: str, before: tuple[str, ...], message: str, answer: str
) -> None:
    caller = after(tongue, *before)
    told = caller.say(message).text
    assert answer in told
    assert told.endswith(("Adınızı da yazar mısınız?", "Peki saat kaçta?", "And your name?"))


def test_a_question_that_only_proposes_a_day_gets_no_answer_from_an_entry() -> None:
    caller = after("en", "can i book a session please")
    assert caller.say("on saturday?").text == "What time would suit you?"


def test_going_on_with_the_form_repeats_its_question() -> None:
    caller = after("tr", "cumartesiye randevu", "rapor ne zaman elimde", "vale var mı")
    assert caller.say("tamam randevuya devam edelim").text.endswith("Sizin için saat kaç uygun?")


@pytest.mark.parametrize(
    ("second", "told", "shown"),
    [
        ("0532 123", "yazdığınız gibi not alıyorum", "- Telefon: 0532123"),
        ("0532 1", "telefon yerine e-posta da olur", "E-posta adresinizi yazar mısınız?"),
    ],
)
def test_a_number_that_cannot_be_right_is_asked_for_once_more(second: str, told: str, shown: str) -> None:
    caller = after("tr", "yarın 10da randevu fren", "Hasan Demirci")
    assert "numarayı okuyamadım" in caller.say("0532 12").text
    reply = caller.say(second).text
    assert told in reply
    assert shown in reply


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("soyadım Erkmen adım Tülay", "Tülay Erkmen"),
        ("adım elif soyadım yaman", "elif yaman"),
    ],
)
def test_of_a_line_with_more_in_it_the_name_alone_is_taken(message: str, name: str) -> None:
    caller = after("tr", "yarın 10da randevu fren", message)
    assert f"- Ad: {name}\n" in caller.say("0532 111 22 33").text


def test_an_address_told_after_the_word_wrong_is_the_right_one() -> None:
    caller = after("en", "i want to book a room for friday", "6pm", "Amy Hill", "amy@mail.example")
    assert "- E-mail: amie@mail.example" in caller.say("thats wrong its amie@mail.example").text


@pytest.mark.parametrize("message", ["acil durumda pazar?"])
def test_an_emergency_on_a_day_is_no_question_about_opening_hours(message: str) -> None:
    assert "nöbetçi" in Caller("tr").say(message).text


def test_a_remark_about_the_visitor_is_kept_while_a_day_or_an_hour_is_asked_for() -> None:
    caller = after("en", "i want to book a room for friday")
    assert caller.say("my husband is allergic to nuts").text.startswith("All right. ")
    told = after("en", "i want to book a room for friday", "my husband is allergic to nuts", "6pm", "Amy Hill").say("amy@mail.example")
    assert "allergic to nuts" in told.text


def test_a_bare_question_in_a_form_is_about_what_the_form_is_about() -> None:
    caller = after("en", "can i book the sauna for friday")
    assert "free for guests" in caller.say("how much is it").text


@pytest.mark.parametrize("message", ["kaça kadar açıksınız"])
def test_until_when_the_business_is_there_is_told_after_another_question(message: str) -> None:
    assert "22:00" in after("tr", "fren").say(message).text
