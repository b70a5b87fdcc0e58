"""Turns of a form: what one line holds is kept, asides are answered, corrections count, also after the capture."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import date, time
from itertools import pairwise

import pytest

from chatsvc.domain.captures import Captured, CapturedRecord, change_message, checked
from chatsvc.domain.models import Bot, Entry, HistoryMessage
from chatsvc.domain.times import local
from chatsvc.engines import Reply, Turn
from chatsvc.engines.knowledge.engine import KnowledgeEngine
from chatsvc.engines.knowledge.policy.state import load
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from chatsvc.services.conversations import captures
from tests.fakes import START

EVENINGS = "tue-sun 12:00-22:30"
SATURDAY, SUNDAY = date(2026, 11, 21), date(2026, 11, 22)
KNOWLEDGE = KnowledgeIndex(
    [
        Entry("1", "Is there parking?", ("where can I park",), "Street parking is free after 6pm.", "en"),
        Entry("2", "Do you have gluten free pizza?", (), "Yes, gluten free bases for £2 extra.", "en"),
        Entry("3", "Can I pay by card?", ("do you take cards",), "All cards but Amex.", "en"),
        Entry("4", "Otopark var mı?", (), "Vale var, 150 TL.", "tr"),
        Entry("5", "Canlı müzik var mı?", (), "Cuma ve cumartesi canlı fasıl var.", "tr"),
    ]
)


@dataclass
class Guest:
    """A visitor of a restaurant; captured records are remembered as the service does it."""

    country: str = "GB"
    zone: str = "Europe/London"
    speaks: str = "en"
    hours: str | None = EVENINGS
    dialogue: str | None = None
    history: list[HistoryMessage] = field(default_factory=list)
    records: list[CapturedRecord] = field(default_factory=list)

    def turn(self, message: str) -> Turn:
        """The turn of the next message."""
        bot = Bot("b", "a", "Bella", None, "offline", True, 0, 0, 0)
        bot = bot._replace(country=self.country, timezone=self.zone, language=self.speaks, opening_hours=self.hours)
        return Turn(bot, "api", message, self.history, None, KNOWLEDGE, "", 30.0, START, self.dialogue, True, tuple(self.records))

    def say(self, message: str) -> Reply:
        reply = asyncio.run(KnowledgeEngine().reply(self.turn(message)))
        self.history = [*self.history, HistoryMessage("user", message), HistoryMessage("assistant", reply.text)]
        self.dialogue = reply.dialogue
        return reply

    def capture(self, *messages: str) -> Captured:
        """Say the messages; return what the last one captured, checked as the service checks it."""
        reply = [self.say(message) for message in messages][-1]
        assert reply.captured is not None, reply.text
        spoken = [told.content for told in self.history if told.role == "user"]
        kept = checked(reply.captured, spoken, local(START, self.zone), self.country)
        kind = "appointment" if kept.date and not kept.change else "request"
        self.records.append(
            CapturedRecord(
                kind,
                f"{kind}{len(self.records)}",
                kept.request_type,
                "pending",
                change_message(kept, kept.change, self.speaks) if kept.change else kept.message,
                START,
                kept.date,
                kept.time,
                kept.visitor_name,
                kept.visitor_email,
                kept.visitor_phone,
            )
        )
        return kept


def turk() -> Guest:
    return Guest("TR", "Europe/Istanbul", "tr")


BOOKED = ("can I get a table for 4 tmrw 8ish", "nora parker 07700 900123", "yep")


def test_party_day_hour_name_and_number_of_lazy_lines_are_all_kept() -> None:
    kept = Guest().capture(*BOOKED)
    assert (kept.request_type, kept.date, kept.time) == ("appointment", SATURDAY, time(20))
    assert (kept.visitor_name, kept.visitor_phone) == ("nora parker", "+447700900123")
    assert "table for 4" in kept.message


@pytest.mark.parametrize(
    ("lines", "clock"),
    [
        (("yarın akşam 4 kişilik yer var mı", "8 gibi"), time(20)),
        (("yarın 4 kişilik masa ayırın", "8"), time(20)),
        (("yarın akşam 4 kişilik yer var mı", "13:00"), time(13)),
    ],
)
def test_a_bare_hour_is_the_evening_where_an_evening_is_meant_or_the_morning_is_closed(lines: tuple[str, ...], clock: time) -> None:
    assert turk().capture(*lines, "Mert Kara 0532 555 11 22", "evet").time == clock


def test_a_morning_said_outright_stays_one_and_is_outside_the_opening_hours() -> None:
    visitor = turk()
    visitor.say("yarın 4 kişilik masa ayırın")
    assert "Saat 08:00 çalışma saatlerimizin dışında" in visitor.say("sabah 8").text


def test_the_summary_quotes_what_the_request_is_about() -> None:
    visitor = Guest()
    visitor.say("need a table for saturday 7pm, its a birthday")
    visitor.say("we are 6 people one vegan")
    text = visitor.say("Emma Stone-Fox 07700 900 808").text
    assert "its a birthday / we are 6 people one vegan" in text
    assert "- Name: Emma Stone-Fox" in text


def test_a_detail_given_instead_of_an_answer_is_kept_and_the_question_asked_again() -> None:
    visitor = Guest()
    visitor.say("table for 6 on sunday 1pm")
    assert visitor.say("one of us is vegan").text == "All right. And your name?"
    assert "one of us is vegan" in visitor.capture("Lou Bell, lou@bell.example", "yes").message


def test_the_wish_repeated_as_a_question_is_acknowledged() -> None:
    visitor = Guest()
    visitor.say("do you have a table for 4 on sunday at 7pm")
    assert visitor.say("can i book it then?").text == "All right. And your name?"


def test_another_kind_of_wish_keeps_what_was_said_of_the_first() -> None:
    visitor = Guest()
    visitor.say("I'd like to book a table for our wedding party on sunday")
    kept = visitor.capture("actually can someone call me instead", "Meg Bell 07700 900777", "yes")
    assert kept.request_type == "contact"
    assert "wedding party" in kept.message


def test_a_day_and_an_hour_in_a_request_to_be_called_make_it_an_appointment() -> None:
    visitor = turk()
    visitor.say("doğum günü için görüşmek istiyorum")
    kept = visitor.capture("çarşamba 5te uygun mu", "Nihan Güven 05055550055", "olur")
    assert (kept.request_type, kept.date, kept.time) == ("appointment", date(2026, 11, 25), time(17))


def test_a_part_of_the_day_alone_is_no_greeting() -> None:
    visitor = Guest(hours=None)
    visitor.say("I'd like an appointment on wednesday")
    assert visitor.say("morning").text == "All right. And what time?"


def test_a_stay_is_asked_for_the_time_of_arrival() -> None:
    assert "About what time will you arrive?" in Guest(hours=None).say("Id like to reserve a double for 2 nights from friday").text
    visitor = turk()
    visitor.hours = None
    assert "Saat kaç gibi gelirsiniz?" in visitor.say("yarın için 2 gecelik oda ayırtmak istiyorum").text


def test_two_days_told_open_the_request_for_a_stay_which_asks_for_the_arrival_once() -> None:
    visitor = Guest(hours=None)
    assert "About what time will you arrive?" in visitor.say("just the cat then, 8 december till the 10th").text
    assert "About what time" not in visitor.say("she is a bit shy").text
    visitor = turk()
    visitor.hours = None
    assert "Saat kaç gibi gelirsiniz?" in visitor.say("sadece kedi o zaman 4 aralıktan 7 aralığa").text
    assert visitor.say("Pelin Ercan 0555 123 98 76").text.endswith("Bilgiler doğru mu? (evet / hayır)")


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("hayır 3 kişi", "- Saat: 20:30"),
        ("isim Tolga değil Tolgahan", "- Ad: Tolgahan"),
        ("soyadım da Tuna", "- Ad: Tolga Tuna"),
        ("numara yanlış 0532 555 8800 olacak", "- Telefon: 0532 555 88 00"),
    ],
)
def test_at_the_summary_a_value_alone_is_a_correction(message: str, told: str) -> None:
    visitor = turk()
    visitor.say("cumartesi 20.30 2 kişi, isim Tolga, 0532 555 8899")
    assert told in visitor.say(message).text


@pytest.mark.parametrize(
    ("message", "name", "email", "phone", "said"),
    [
        ("sorry my number is 07700 900 555", "nora parker", None, "+447700900555", "phone 07700 900555"),
        ("can you change my number to 07700 900 555", "nora parker", None, "+447700900555", "phone 07700 900555"),
        ("my email is nora@parker.example", "nora parker", "nora@parker.example", "+447700900123", "nora@parker.example"),
    ],
)
def test_after_the_capture_a_correction_is_a_request_to_correct_the_record(
    message: str, name: str, email: str | None, phone: str, said: str
) -> None:
    visitor = Guest()
    visitor.capture(*BOOKED)
    kept = visitor.capture(message)
    assert kept.change is not None
    assert (kept.change.appointment.id, kept.change.corrects, kept.date) == ("appointment0", True, None)
    assert (kept.visitor_name, kept.visitor_email, kept.visitor_phone) == (name, email, phone)
    assert said in visitor.history[-1].content
    assert "Correction of the record (appointment0)" in visitor.records[-1].message
    assert "Saturday 21 November 2026, 20:00. It is not confirmed yet" in visitor.say("when is my table?").text


def test_a_question_about_a_record_is_answered_inside_of_another_form() -> None:
    visitor = Guest()
    visitor.capture(*BOOKED)
    visitor.say("can you also book a table for 2 on friday")
    assert "Saturday 21 November 2026, 20:00" in visitor.say("when is my other booking?").text


def test_a_number_that_begins_like_none_of_the_country_stays_as_typed() -> None:
    visitor = turk()
    visitor.say("table for 2 on sunday 7pm")
    assert "07700900909" in visitor.say("Bill Yates 07700 900 909").text
    assert visitor.capture("yes").visitor_phone == "07700900909"


@pytest.mark.parametrize("message", ["doğrudur", "hepsi doğru", "evet onaylıyorum"])
def test_a_colloquial_yes_confirms(message: str) -> None:
    visitor = turk()
    visitor.say("cumartesi 20.30 2 kişi, isim Tolga, 0532 555 8899")
    assert visitor.capture(message).visitor_name == "Tolga"


@pytest.mark.parametrize("message", ["how much for gluten free", "theres 3 of us", "looks good"])
def test_no_word_of_a_question_or_remark_becomes_the_name(message: str) -> None:
    visitor = Guest()
    visitor.say("table for 3 on sunday at 7pm")
    assert visitor.say(message).text.endswith("And your name?")


def test_the_end_of_a_span_is_not_the_day_wanted_and_a_room_before_a_day_is_no_room_number() -> None:
    visitor = Guest(hours=None)
    told = visitor.say("I'm in town till Friday. Is there any way you could see me tomorrow at 3? Fiona Bell, fiona@bell.example").text
    assert "- Date: Saturday 21 November 2026" in told
    stay = Guest(hours=None)
    stay.say("can we get the family room 27th dec to 30th")
    stay.say("6pm")
    assert "- Date: Sunday 27 December 2026" in stay.say("Chidi Okonkwo, chidi@okonkwo.example").text


def test_somebody_else_is_not_the_visitor_and_a_day_makes_an_appointment_of_a_request() -> None:
    visitor = turk()
    visitor.say("kursa başlamak istiyorum")
    assert "Adınızı" in visitor.say("Dilara hocayla").text
    kept = visitor.capture("perşembe akşam 6", "Melis melis@posta.example", "evet")
    assert (kept.request_type, kept.date, kept.visitor_name) == ("appointment", date(2026, 11, 26), "Melis")


@pytest.mark.parametrize("message", ["karar veremedim sonra yazarım"])
def test_a_visitor_who_puts_it_off_is_let_go_and_finds_the_form_again(message: str) -> None:
    visitor = Guest() if message.isascii() else turk()
    visitor.say("table for 2 on sunday" if message.isascii() else "pazar 2 kişilik masa ayırın")
    said = visitor.say(message).text
    assert "take your time" in said or "acelesi yok" in said
    visitor.say("is there parking?" if message.isascii() else "otopark var mı")
    kept = visitor.capture("13:00", "Lou Bell, lou@bell.example", "yes" if message.isascii() else "evet")
    assert (kept.date, kept.time) == (SUNDAY, time(13))


@pytest.mark.parametrize(
    ("message", "holds"),
    [
        ("no", "whatever you would like to be called"),
        ("why", "I ask so that our team"),
        ("hello?", "Hello! And your name?"),
        ("what?", "Just your first and last name will do"),
        ("nobody ever called me back last time", "I'm sorry about that. And your name?"),
    ],
)
def test_short_objections_to_a_question_are_understood(message: str, holds: str) -> None:
    visitor = Guest()
    visitor.say("table for 2 on sunday 7pm")
    assert holds in visitor.say(message).text


def test_a_request_given_up_is_no_part_of_another_wish_but_of_the_same_one_taken_up_again() -> None:
    visitor = turk()
    visitor.say("pazar 2 kişilik masa ayırın")
    visitor.say("neyse vazgeçtim")
    assert "2 kişilik" not in visitor.capture("düğün yemeği için beni arar mısınız", "Elif Koç elif@koc.example", "evet").message
    again = Guest()
    again.say("we're 16 for a family reunion, can u quote me for a party")
    again.say("forget it")
    assert "family reunion" in again.capture("ok go on then. Hannah Boyd 07700 900 552", "yes").message


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("annesi Gonca Er, gonca.er@posta.example", "Gonca Er"),
        ("HR Manager Anita Rao, Brightside Ltd, anita@brightside.example", "Anita Rao"),
        ("Rob & Jen Tate, jen@tate.example", "Jen Tate"),
    ],
)
def test_relations_and_posts_are_no_part_of_the_name_and_of_two_the_whole_one_counts(message: str, name: str) -> None:
    visitor = Guest()
    visitor.say("table for 2 on sunday 7pm")
    assert f"- Name: {name}\n" in visitor.say(message).text


def test_the_second_day_of_a_turkish_span_is_no_hour() -> None:
    visitor = Guest("TR", "Europe/Istanbul", "tr", hours="mon-sun 08:00-23:00")
    assert visitor.say("aralığın 20si ile 23ü arası iki gecelik oda ayırtmak istiyoruz").text.endswith("Saat kaç gibi gelirsiniz?")


@pytest.mark.parametrize(
    "message", ["i need to change my colour appt from weds to fri", "my booking for tomorrow, can you add one more person?"]
)
def test_a_booking_made_elsewhere_is_changed_by_the_team(message: str) -> None:
    kept = Guest().capture(message, "Chloe Martin 07700 900 222", "yes")
    assert kept.request_type in ("other", "contact")
    assert kept.date is None
    assert message in kept.message


# Names, repetitions, and what the form has no field for


def test_the_name_is_not_asked_for_a_third_time() -> None:
    guest = Guest()
    guest.say("book a table tomorrow at 7pm for 3")
    assert "a first name" in guest.say("i'd rather not").text
    assert guest.say("no i wont").text.startswith("No problem, we can do without a name. Could you give me a phone number")
    kept = guest.capture("07700 900 445", "yes")
    assert (kept.visitor_name, kept.visitor_phone) == (None, "+447700900445")


def test_an_unusual_name_is_taken_when_it_is_said_again() -> None:
    guest = Guest()
    guest.say("book a table tomorrow at 7pm for 3")
    assert "didn't catch your name" in guest.say("window").text
    assert "phone number" in guest.say("sunny bunny").text
    assert guest.capture("07700 900 445", "yes").visitor_name == "sunny bunny"


@pytest.mark.parametrize(
    ("said", "name"), [("hasan abi diyin", "hasan"), ("efe işte", "efe"), ("it's me ayşe", "ayşe"), ("MURAT.", "MURAT")]
)
def test_a_name_is_found_between_its_fillers(said: str, name: str) -> None:
    guest = turk()
    guest.say("yarın akşam 8e 3 kişilik masa istiyorum")
    assert guest.capture(said, "0532 111 22 33", "evet").visitor_name == name


def test_no_reply_of_a_form_comes_twice_in_a_row() -> None:
    guest = turk()
    guest.say("yarın akşam 8e 3 kişilik masa istiyorum")
    said = [guest.say(message).text for message in ("tamam", "teşekkürler", "teşekkürler", "merhaba", "merhaba", "0532 111 22 33", "tamam")]
    assert all(before != after for before, after in pairwise(said))


def test_how_many_come_is_no_hour() -> None:
    guest = Guest()
    guest.say("put me down for thursday")
    assert guest.say("we'll be 4").text == "All right. And what time?"
    kept = guest.capture("8", "dave", "07700 900222", "yep")
    assert (kept.time, kept.message) == (time(20), "put me down for thursday\nwe'll be 4")


@pytest.mark.parametrize(
    ("said", "holds"),
    [
        (["beni arar mısınız yarın öğlene kadar", "menü hakkında", "Ayşe", "0532 777 88 99", "evet"], "yarın öğlene kadar"),
        (["beni arayın lütfen", "menü hakkında", "Ayşe", "akşam 5ten sonra", "0532 777 88 99", "evet"], "akşam 5ten sonra"),
        (["beni arayın lütfen", "menü hakkında", "Ayşe", "0532 777 88 99 sabah arayın", "evet"], "sabah arayın"),
    ],
)
def test_when_to_call_back_stands_in_the_message(said: list[str], holds: str) -> None:
    kept = turk().capture(*said)
    assert kept.request_type == "contact"
    assert holds in kept.message


def test_another_day_beside_not_coming_moves_the_booking() -> None:
    guest = turk()
    guest.capture("yarın akşam 8e 3 kişilik masa istiyorum", "Ece", "0532 777 88 99", "evet")
    moved = guest.say("gelemiyorum pazara olsun aynı saatte").captured
    assert moved is not None
    assert (moved.change and moved.change.cancels, moved.date, moved.time) == (False, SUNDAY, time(20))


def test_can_you_cancel_is_no_question_about_cancelling() -> None:
    guest = Guest()
    guest.capture("book a table tomorrow at 7pm for 3", "Ann", "07700 900 445", "yes")
    assert "you want to cancel Saturday 21 November" in guest.say("actually can you cancel that").text


def test_the_form_keeps_the_language_of_the_conversation() -> None:
    guest = turk()
    guest.say("otopark var mı sizde")
    assert "Adınızı alabilir miyim?" in guest.say("cuma 7de").text


def test_a_question_that_the_bot_cannot_answer_goes_to_the_team() -> None:
    guest = Guest()
    guest.say("please call me back about a party")
    assert "I'll add your question to the note" in guest.say("do you rent the roof terrace to film crews?").text
    assert "roof terrace" in guest.capture("07700 900 445", "Ann", "yes").message


def test_how_many_come_is_kept_from_a_question_too() -> None:
    guest = Guest()
    guest.say("I'd like to book a table")
    kept = guest.capture("can you do 12 of us on the 5th of december", "7.30", "Mo", "07700 900 445", "spot on")
    assert "12 of us" in kept.message


@pytest.mark.parametrize(
    ("said", "name"),
    [(["kızımın adı Ela"], "Ela")],
)
def test_the_name_is_the_visitors_own_and_can_be_retyped(said: list[str], name: str) -> None:
    guest = turk()
    for message in ["yarın akşam 8e 3 kişilik masa istiyorum", *said]:
        guest.say(message)
    assert guest.capture("0532 111 22 33", "evet").visitor_name == name


@pytest.mark.parametrize("said", ["who will call me", "kim arayacak beni"])
def test_who_will_call_is_asked_of_the_request(said: str) -> None:
    guest = Guest() if said.isascii() and said.startswith("who") else turk()
    wish = "please call me back about a party" if guest.speaks == "en" else "parti için beni arayın lütfen"
    guest.capture(wish, "Ann", "07700 900 445" if guest.speaks == "en" else "0532 111 22 33", "yes" if guest.speaks == "en" else "evet")
    assert "is noted and with our team" in guest.say(said).text or "ekibimizde bekliyor" in guest.history[-1].content


def test_not_making_a_day_cancels_the_booking() -> None:
    guest = Guest()
    guest.capture("book a table tomorrow at 7pm for 3", "Ann", "07700 900 445", "yes")
    canceled = guest.say("i cant make saturday anymore").captured
    assert canceled is not None
    assert canceled.change is not None
    assert canceled.change.cancels


@pytest.mark.parametrize("message", ["can we make it 7"])
def test_a_bare_hour_after_the_capture_moves_the_appointment(message: str) -> None:
    visitor = Guest()
    visitor.capture(*BOOKED)
    kept = visitor.capture(message)
    assert kept.change is not None
    assert kept.time == time(19)


def test_the_day_of_a_question_shortly_before_is_taken_with_the_wish() -> None:
    visitor = Guest()
    visitor.say("are you open on tuesday?")
    visitor.say("great")
    assert visitor.say("ok book us in please").text.endswith("What time would suit you?")
    visitor = turk()
    visitor.say("12 aralık açık mısınız")
    assert visitor.say("tamam akşam 7 için randevu alalım").text.endswith("Adınızı alabilir miyim?")


def test_what_is_asked_for_is_left_once_other_things_were_told_three_times() -> None:
    visitor = Guest(hours=None)
    assert visitor.say("I'd like to book a visit").text.endswith("Which day would suit you?")
    assert visitor.say("I am Nora Parker").text == "All right. And which day?"
    assert visitor.say("my number is 07700 900123").text.endswith("And which day?")
    assert "Which day" not in visitor.say("nora@example.com is better").text


def test_a_number_said_in_words_is_captured() -> None:
    visitor = turk()
    visitor.say("yarın 15:00 için randevu almak istiyorum")
    summary = visitor.say("adım Kerem Uz numaram sıfır beş yüz kırk bir yedi yüz yirmi otuz üç kırk").text
    assert "0541 720 33 40" in summary
    reply = visitor.say("evet")
    assert reply.captured is not None
    bot = visitor.turn("").bot
    request, _ = captures.records(bot, reply.captured, [told.content for told in visitor.history if told.role == "user"], START)
    assert request.visitor_phone == "+905417203340"


def test_a_number_that_is_too_short_is_no_hour() -> None:
    visitor = turk()
    visitor.hours = None
    visitor.say("yarın için randevu almak istiyorum")
    assert "05:35" not in visitor.say("0535 610 22 7").text


def test_an_offer_is_forgotten_after_two_answers() -> None:
    visitor = Guest()
    visitor.say("I am not happy, it broke after one day")
    for question in ("are you open on saturday", "and on sunday"):
        visitor.say(question)
    assert load(visitor.dialogue, START).pending == ""
