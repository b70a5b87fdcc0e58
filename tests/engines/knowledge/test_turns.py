"""Turns that the dialogue decides: captured records, people and complaints, opening hours, offers, corrections, farewells."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import date, time
from pathlib import Path

import pytest

from chatsvc.domain.captures import CapturedRecord, change_message
from chatsvc.domain.contacts import own_name
from chatsvc.domain.models import Bot, HistoryMessage
from chatsvc.domain.profiles import Form, FormField, Profile, days, load
from chatsvc.engines import EngineError, Reply, Turn
from chatsvc.engines.knowledge.engine import KnowledgeEngine
from chatsvc.engines.knowledge.policy.state import load as load_state
from tests.engines.knowledge.test_index import SAMPLE
from tests.fakes import START

ANSWERS = Path(__file__).parents[2] / "answers"
HOURS = "mon-fri 09:00-18:00; sat 10:00-14:00"
BOOKED = CapturedRecord(
    "appointment",
    "a1",
    "appointment",
    "pending",
    "Randevu",
    START - 60_000,
    date(2026, 11, 25),
    time(14, 30),
    "Ayşe",
    None,
    "+905321234567",
)
NOTED = CapturedRecord("request", "r1", "contact", "new", "Beni arayın", START - 60_000, visitor_name="Ayşe", visitor_phone="+905321234567")
HOUR_MS = 3_600_000


@dataclass
class Visitor:
    """A conversation; what is captured is remembered as the service does it."""

    captured: list[CapturedRecord] = field(default_factory=list)
    speaks: str = "tr"
    hours: str | None = HOURS
    now: int = START  # Friday 20 November 2026, 15:14 in Istanbul
    country: str = "TR"
    profile: Profile | None = None
    may_capture: bool = True
    history: list[HistoryMessage] = field(default_factory=list)
    dialogue: str | None = None

    def say(self, message: str) -> Reply:
        bot = Bot("b", "a", "Pedal", None, "offline", True, 0, 0, 0)
        bot = bot._replace(country=self.country, language=self.speaks, opening_hours=self.hours, ask_back=False)
        bot = bot._replace(profile=self.profile.dump() if self.profile else None)
        turn = Turn(
            bot, "api", message, self.history, None, SAMPLE, "", 30.0, self.now, self.dialogue, self.may_capture, tuple(self.captured)
        )
        self.history = [*self.history, HistoryMessage("user", message)]
        reply = asyncio.run(KnowledgeEngine().reply(turn))
        self.history = [*self.history, HistoryMessage("assistant", reply.text)]
        self.dialogue = reply.dialogue
        return reply

    def fails(self, message: str) -> None:
        with pytest.raises(EngineError):
            self.say(message)


# Captured records


@pytest.mark.parametrize(
    ("message", "holds"),
    [
        ("randevum ne zamandı", "25 Kasım 2026 Çarşamba, 14:30. Henüz onaylanmadı"),
        ("onaylandı mı", "Henüz onaylanmadı"),
        ("randevum kesin mi", "Henüz onaylanmadı"),
        ("when is my appointment?", "Wednesday 25 November 2026, 14:30. It is not confirmed yet"),
        ("is it confirmed?", "not confirmed yet"),
        ("what time am i coming", "14:30"),
    ],
)
def test_a_question_about_the_appointment_is_answered_from_the_record(message: str, holds: str) -> None:
    reply = Visitor([BOOKED]).say(message)
    assert holds in reply.text
    assert reply.captured is None


@pytest.mark.parametrize(
    ("status", "holds"), [("confirmed", "It is confirmed"), ("canceled", "Our team has canceled"), ("done", "marked as done")]
)
def test_the_status_that_the_team_has_set_is_given(status: str, holds: str) -> None:
    assert holds in Visitor([BOOKED._replace(status=status)]).say("is my appointment confirmed?").text


@pytest.mark.parametrize(
    ("message", "day", "clock"),
    [
        ("move it to friday at 12", date(2026, 11, 27), time(12)),
        ("can we move my appointment to friday same time", date(2026, 11, 27), time(14, 30)),
        ("randevumu cumaya alabilir miyiz", date(2026, 11, 27), time(14, 30)),
        ("saat 16:00 yapalım randevuyu", date(2026, 11, 25), time(16)),
        ("cumaya alsak olur mu ayni saat", date(2026, 11, 27), time(14, 30)),
        ("actually make it 5 pm", date(2026, 11, 25), time(17)),
    ],
)
def test_moving_is_a_request_to_the_team_and_no_second_appointment(message: str, day: date, clock: time) -> None:
    caught = Visitor([BOOKED]).say(message).captured
    assert caught is not None
    assert caught.change is not None
    assert (caught.change.appointment.id, caught.change.cancels, caught.date, caught.time) == ("a1", False, day, clock)


def test_a_move_without_a_time_asks_for_one_and_to_a_closed_day_for_another() -> None:
    visitor = Visitor([BOOKED])
    assert "Hangi gün" in visitor.say("randevumu ertelemek istiyorum").text
    assert "kapalıyız" in visitor.say("pazar").text
    caught = visitor.say("cuma 11").captured
    assert caught is not None
    assert (caught.date, caught.time) == (date(2026, 11, 27), time(11))


@pytest.mark.parametrize("message", ["cancel my appointment", "randevumu iptal edin", "iptal edelim lütfen"])
def test_canceling_is_passed_on_and_never_called_done(message: str) -> None:
    reply = Visitor([BOOKED]).say(message)
    assert reply.captured is not None
    assert reply.captured.change is not None
    assert reply.captured.change.cancels
    assert "iptal ettim" not in reply.text
    assert "have canceled" not in reply.text


def test_a_change_already_asked_for_is_told_with_the_appointment() -> None:
    caught = Visitor([BOOKED]).say("move it to friday at 12").captured
    assert caught is not None
    assert caught.change is not None
    request = NOTED._replace(id="r2", request_type="appointment", message=change_message(caught, caught.change, "en"))
    said = Visitor([BOOKED, request]).say("so when is it now?").text
    assert "Wednesday 25 November 2026, 14:30" in said
    assert "Friday 27 November 2026, 12:00" in said


def test_nothing_is_captured_where_nothing_may_be() -> None:
    for message in ("cancel my appointment", "move it to friday at 12"):
        reply = Visitor([BOOKED], may_capture=False).say(message)
        assert reply.captured is None
        assert "any more notes today" in reply.text


@pytest.mark.parametrize("message", ["randevum ne zamandı"])
def test_without_a_record_the_bot_says_so_and_offers_a_note(message: str) -> None:
    visitor = Visitor()
    assert any(part in visitor.say(message).text for part in ("göremiyorum", "can't see"))
    assert any(part in visitor.say("Ayşe Yılmaz 0532 123 45 67").text for part in ("Özetliyorum", "Here is what I have"))


# People, complaints, contact data volunteered


@pytest.mark.parametrize("message", ["just get me a real person please", "bir insana bağlayın", "canlı biriyle konuşmak istiyorum"])
def test_a_person_is_asked_for(message: str) -> None:
    visitor = Visitor()
    told = visitor.say(message).text
    assert "take a note" in told or "not alayım" in told
    for answer in ("fren bakımı", "Ayşe Yılmaz, ayse@example.com"):
        visitor.say(answer)
    caught = visitor.say("evet").captured
    assert caught is not None
    assert (caught.request_type, caught.visitor_name) == ("contact", "Ayşe Yılmaz")
    assert "fren bakımı" in caught.message


def test_a_complaint_gets_an_apology_and_everything_said_of_it_is_in_the_request() -> None:
    visitor = Visitor(speaks="en")
    assert visitor.say("the bike broke again after one day, this is ridiculous").text.startswith("I understand")
    visitor.say("nobody picks up the phone")
    visitor.say("here: Anthony Russo, arusso@example.com")
    caught = visitor.say("yes").captured
    assert caught is not None
    assert caught.request_type == "support"
    assert caught.message.split("\n")[:2] == ["the bike broke again after one day, this is ridiculous", "nobody picks up the phone"]


def test_name_and_number_after_a_turn_without_an_answer_are_taken_and_its_matter_is_asked_for() -> None:
    visitor = Visitor(speaks="en", country="GB")
    visitor.fails("do you repair violins")
    assert "What would you like to talk about" in visitor.say("Hannah Boyd 07700 900 552").text
    assert "Here is what I have" in visitor.say("a repair of my violin").text
    caught = visitor.say("yes thats right").captured
    assert caught is not None
    assert (caught.visitor_name, caught.visitor_phone) == ("Hannah Boyd", "+447700900552")
    assert caught.message == "a repair of my violin"


def test_an_offer_is_declined_or_outlives_one_question() -> None:
    visitor = Visitor(speaks="en")
    visitor.say("where is my order")
    assert load_state(visitor.say("no thanks").dialogue, START).draft is None
    visitor.say("where is my order")
    visitor.say("what are your opening hours")
    assert "your name" in visitor.say("yes please").text


# Opening hours


@pytest.mark.parametrize(
    ("message", "holds"),
    [
        ("açık mısınız", "bugün 18:00 saatine kadar açığız"),
        ("acikmisiniz", "bugün 18:00 saatine kadar açığız"),
        ("u guys open", "until 18:00 today (Friday)"),
        ("are you open on sunday?", "We are closed Sunday. Our next opening is Monday at 09:00."),
        ("yarın açık mısınız", "Yarın (Cumartesi) günü 10:00-14:00"),
        ("are you open christmas day", "public holidays we are closed"),
        ("1 ocakta açık mısınız", "resmî tatillerde kapalıyız"),
        ("are you open the monday after christmas", "28 December 2026 we are open"),
        ("29 ekimden sonraki pazartesi açık mısınız", "1 Kasım 2027 Pazartesi günü 09:00-18:00"),
    ],
)
def test_opening_hours_are_computed(message: str, holds: str) -> None:
    assert holds in Visitor().say(message).text


def test_hours_of_something_else_are_not_computed() -> None:
    Visitor().fails("is the sauna open to children")


# Corrections


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("yok 2 olsun", "- Saat: 14:00"),
        ("evet ama 11 olsun", "- Saat: 11:00"),
        ("hayır 10:30 olsun", "- Saat: 10:30"),
        ("soyadım Yılmazer", "- Ad: Ayşe Yılmazer"),
        ("isim Emir Yavuz olacak", "- Ad: Emir Yavuz"),
    ],
)
def test_a_value_at_the_summary_is_a_correction(message: str, shown: str) -> None:
    visitor = Visitor()
    visitor.say("çarşamba 15:00 için randevu istiyorum, adım Ayşe Yılmaz, 0532 123 45 67")
    reply = visitor.say(message)
    assert reply.captured is None
    assert f"{shown}\n" in reply.text


def test_a_later_spelling_of_one_word_is_kept_and_no_other_combination() -> None:
    assert own_name("Linda Prescott", ["Linda Prescot", "its Prescott"]) == "Linda Prescott"
    assert own_name("Linda Baker", ["Linda Prescot", "Baker"]) is None


def test_a_question_beside_a_value_is_named_when_it_has_no_answer() -> None:
    visitor = Visitor(speaks="en")
    visitor.say("I'd like to make an appointment")
    said = visitor.say("monday 11am. do you teach the violin?").text
    assert "don't have information on that" in said
    assert "your name" in said


def test_a_question_answered_before_a_wish_is_no_part_of_it() -> None:
    visitor = Visitor(speaks="en")
    visitor.say("do you take credit cards")
    for message in ("ok book it for me, monday 11am", "Jane Smith", "jane@example.com"):
        visitor.say(message)
    caught = visitor.say("yes").captured
    assert caught is not None
    assert caught.message == "ok book it for me, monday 11am"


# Small talk, languages, overviews


@pytest.mark.parametrize(
    "message",
    ["bye dude", "shame. laters", "neyse iyi geceler", "tamam iyi seneler"],
)
def test_farewells_in_many_words(message: str) -> None:
    assert Visitor().say(message).text in ("Goodbye, and have a nice day!", "Görüşmek üzere, iyi günler!")


@pytest.mark.parametrize("message", ["stupid bot", "ne işe yararsın sen salak bot"])
def test_an_insult_is_answered_calmly(message: str) -> None:
    assert any(part in Visitor().say(message).text for part in ("I'm sorry", "üzgünüm"))


def test_a_goodbye_in_a_form_lets_the_visitor_go_and_keeps_the_form() -> None:
    visitor = Visitor(speaks="en")
    visitor.say("I'd like to make an appointment")
    assert visitor.say("bye").text.startswith("Goodbye")
    visitor.now += 20 * HOUR_MS
    assert "shall we go on with it?" in visitor.say("hello").text
    assert "What time" in visitor.say("monday").text


# Owner's words


def test_the_owners_sentences_and_familiar_address_are_used() -> None:
    profile = Profile(form_of_address="familiar", texts={"done": {"tr": "Aldım, ararız."}, "smalltalk.thanks": {"tr": "Ne demek!"}})
    visitor = Visitor(profile=profile)
    assert visitor.say("teşekkürler").text == "Ne demek!"
    assert "Adını alabilir miyim?" in visitor.say("fren bakımı için beni arayın").text
    visitor.say("Ayşe Yılmaz, ayse@example.com")
    assert visitor.say("evet").text == "Aldım, ararız."
    assert Visitor(profile=profile).say("thanks").text.startswith("You're welcome")


def test_closed_days_are_closed_for_forms_and_for_questions() -> None:
    visitor = Visitor(profile=Profile(closed=(days("2026-11-23..2026-11-24"),)))
    assert "Bir sonraki açılışımız: 25 Kasım" not in visitor.say("pazartesi açık mısınız").text
    assert "kapalıyız. Bir sonraki açılışımız: Çarşamba 09:00." in visitor.say("pazartesi açık mısınız").text
    visitor.say("randevu almak istiyorum")
    assert "kapalıyız" in visitor.say("pazartesi 10:00").text
    assert "kapalıyız." in Visitor(hours=None, profile=visitor.profile).say("pazartesi 10:00'a randevu istiyorum").text


def test_a_form_asks_for_the_owners_fields_and_nights_and_keeps_the_answers() -> None:
    fields = (
        FormField("Kişi", "number", {"tr": "Kaç kişisiniz?"}),
        FormField("Oda", "choice", {"tr": "Hangi oda?"}, ("deniz", "bahçe")),
        FormField("Not", "text", {"tr": "Eklemek istediğiniz?"}, (), False),
    )
    profile = Profile(texts={"privacy": {"tr": "Verileriniz gizlidir."}}, forms={"appointment": Form("nights", fields)})
    visitor = Visitor(profile=profile)
    visitor.say("randevu almak istiyorum")
    asked = [visitor.say(message).text for message in ("pazartesi", "3", "iki kişi", "deniz olsun", "yok", "Ayşe Yılmaz")]
    expected = ["Kaç gece", "Kaç kişisiniz?", "Hangi oda? (deniz / bahçe)", "Eklemek istediğiniz?", "Adınızı", "Verileriniz gizlidir. Size"]
    assert [part in text for part, text in zip(expected, asked, strict=True)] == [True] * 6
    assert "- Kişi: iki kişi\n- Oda: deniz" in visitor.say("0532 123 45 67").text
    caught = visitor.say("evet").captured
    assert caught is not None
    assert (caught.date, caught.time) == (date(2026, 11, 23), time(9))
    assert caught.details == (("nights", "3"), ("Kişi", "iki kişi"), ("Oda", "deniz"))


def test_a_question_of_a_form_offers_its_choices_and_yes_or_no() -> None:
    field = FormField("Oda", "choice", {"tr": "Hangi oda?"}, ("deniz", " bahçe ", "", "deniz", "üst\n kat"))
    visitor = Visitor(profile=Profile(forms={"contact": Form("time", (field,))}))
    said = visitor.say("fren bakımı için beni arayın")
    assert said.text.endswith("Hangi oda? (deniz / bahçe / üst kat)")
    assert said.choices == ("deniz", "bahçe", "üst kat")
    assert visitor.say("kırmızı").choices == said.choices
    assert visitor.say("üst kat").choices == ()
    visitor.say("Ayşe Yılmaz")
    summary = visitor.say("0532 123 45 67")
    assert (summary.text[-14:], summary.choices) == ("(evet / hayır)", ("Evet", "Hayır"))
    assert visitor.say("Hayır").choices == ()
    assert visitor.say("adım Ayşe Demir").choices == ("Evet", "Hayır")
    last = visitor.say("Evet")
    assert (last.captured is not None, last.choices) == (True, ())


def test_choices_are_offered_with_their_question_alone() -> None:
    field = FormField("Room", "choice", {"en": "Which room?"}, ("sea", "garden"))
    visitor = Visitor(speaks="en", profile=Profile(forms={"contact": Form("time", (field,))}))
    texts = ("please call me back about a bike repair", "what are your opening hours?", "do you repair bikes?")
    said = [visitor.say(text) for text in texts]
    assert [one.text.endswith("Which room? (sea / garden)") for one in said] == [True] * 3
    assert [one.choices for one in said] == [("sea", "garden")] * 3
    assert visitor.say("do you take cards?").choices == ()  # after two questions in a row the form's own is not repeated


@pytest.mark.parametrize(
    ("choices", "opening", "told"),
    [
        (("deniz", "bahçe"), "deniz manzaralı oda için beni arayın", True),
        (("deniz", "bahçe"), "denize bakan oda için beni arayın", True),
        (("A", "B"), "fren bakımı için beni arayın", False),
        (("A", "B"), "B sınıfı için beni arayın", True),
        (("rıza", "eren"), "ömür boyu hizmet veren birini arıyorum, beni arayın", False),
        (("★★", "★★★"), "fren bakımı için beni arayın", False),
    ],
)
def test_a_choice_in_the_first_message_is_taken_by_its_words(choices: tuple[str, ...], opening: str, *, told: bool) -> None:
    visitor = Visitor(profile=Profile(forms={"contact": Form("time", (FormField("Konu", "choice", {"tr": "Hangisi?"}, choices),))}))
    assert (visitor.say(opening).choices == ()) == told


@pytest.mark.parametrize("chosen", ["C", "C++", "★★", "★★★", "Vazgeç", "Hayır", "Sonra", "Saat kaç?", "merhaba", "Ayşe Kaya"])
def test_a_choice_that_comes_as_offered_is_that_choice_whatever_else_it_may_mean(chosen: str) -> None:
    choices = ("★★★", "★★", "C++", "C", "Vazgeç", "Hayır", "Sonra", "Saat kaç?", "merhaba", "Ayşe Kaya")
    visitor = Visitor(profile=Profile(forms={"contact": Form("time", (FormField("Konu", "choice", {"tr": "Hangisi?"}, choices, False),))}))
    assert visitor.say("fren bakımı için beni arayın").choices == choices
    assert "Adınızı" in visitor.say(chosen).text
    visitor.say("Ali Veli")
    assert f"- Konu: {chosen}" in visitor.say("0532 123 45 67").text.split("\n")


def test_an_answer_that_is_no_value_of_the_field_is_asked_for_again() -> None:
    profile = Profile(forms={"contact": Form("time", (FormField("Oda", "choice", {"tr": "Hangi oda?"}, ("deniz", "bahçe")),))})
    visitor = Visitor(profile=profile)
    assert "Hangi oda?" in visitor.say("fren bakımı için beni arayın").text
    assert "anlayamadım" in visitor.say("kırmızı").text
    assert "Adınızı" in visitor.say("bahçe").text


@pytest.mark.parametrize(
    ("said", "chosen"),
    [
        *(("Dt. Elif", "Dt. Elif"), ("dt elif olsun", "Dt. Elif"), ("ahmet bey", "Dt. Ahmet"), ("Dt. Elif Kaya lütfen", "Dt. Elif Kaya")),
        *(
            ("2", "Dt. Ahmet"),
            ("ikincisi", "Dt. Ahmet"),
            ("sonuncusu", "Dt. Elif Kaya"),
            ("kaya", "Dt. Elif Kaya"),
            ("DT. AHMET", "Dt. Ahmet"),
        ),
    ],
)
def test_a_choice_is_understood_whole_in_part_or_by_its_number(said: str, chosen: str) -> None:
    field = FormField("Hekim", "choice", {"tr": "Hangi hekim?"}, ("Dt. Elif", "Dt. Ahmet", "Dt. Elif Kaya"))
    visitor = Visitor(profile=Profile(forms={"contact": Form("time", (field,))}))
    visitor.say("fren bakımı için beni arayın")
    assert "anlayamadım" in visitor.say("dt").text
    assert "Adınızı" in visitor.say(said).text
    visitor.say("Ayşe Yılmaz")
    assert f"- Hekim: {chosen}\n" in visitor.say("0532 123 45 67").text
    caught = visitor.say("evet").captured
    assert caught is not None
    assert caught.details == (("Hekim", chosen),)


def test_a_profile_comes_back_from_the_store_as_it_was() -> None:
    closed = (days("2026-12-31"), days("2027-03-09 .. 2027-03-11  Ramazan Bayramı"))
    assert [str(one) for one in closed] == ["2026-12-31", "2027-03-09..2027-03-11 Ramazan Bayramı"]
    profile = Profile(closed, "familiar", {"done": {"tr": "x"}}, {"quote": Form("time", (FormField("A", "date"),))})
    assert load(profile.dump()) == profile
    assert Profile().dump() is None
    for stored in ("[]", "{", '{"forms": {"quote": 1}}'):
        with pytest.raises(ValueError, match=r"profile|property|Expecting"):
            load(stored)
