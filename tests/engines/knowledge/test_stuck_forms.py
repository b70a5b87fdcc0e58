"""Forms whose questions are not answered go on: the name is asked for twice, and what else was said is kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, time, timedelta

import pytest

from chatsvc.engines.knowledge.policy.rules import reply
from tests.engines.knowledge.test_form_turns import BOOKED, SUNDAY, Guest, turk


def call(visitor: Guest) -> Guest:
    """Open a form that asks for the name."""
    asked = visitor.say(
        "beni arar mısınız, fren sesi hakkında" if visitor.speaks == "tr" else "can somebody call me back about a brake noise"
    )
    assert asked.text.endswith(("your name?", "Adınızı alabilir miyim?"))
    return visitor


@pytest.mark.parametrize(
    ("visitor", "line", "name", "rest"),
    [
        (Guest(), "it's Selin Kaya, 07700 900123, and please after six", "Selin Kaya", "after six"),
        (Guest(), "Martin Weber here, my number is 07700 900123, I need it by Friday", "Martin Weber", "by Friday"),
        (Guest(), "raj patel 07700 900123, mornings", "raj patel", "mornings"),
        (turk(), "Derya Aksoy, 0532 123 45 67, acil", "Derya Aksoy", "acil"),
        (turk(), "ben hakan yıldız numaram 0532 123 45 67 akşam altıdan sonra", "hakan yıldız", "altıdan sonra"),
    ],
)
def test_what_stands_beside_name_and_number_is_kept_in_the_message(visitor: Guest, line: str, name: str, rest: str) -> None:
    kept = call(visitor).capture(line, "evet" if visitor.speaks == "tr" else "yes")
    assert kept.visitor_name == name
    assert rest in kept.message


@pytest.mark.parametrize(
    ("visitor", "lines", "rest"),
    [
        (turk(), ("yolda kaldım zaten", "0532 123 45 67", "evet"), "yolda kaldım zaten"),
        (turk(), ("arabam dünden beri stop ediyor", "çok acelem var bugün lazım", "0532 123 45 67", "evet"), "stop ediyor"),
    ],
)
def test_the_name_is_asked_for_twice_at_most(visitor: Guest, lines: tuple[str, ...], rest: str) -> None:
    kept = call(visitor).capture(*lines)
    assert kept.visitor_name is None
    assert kept.visitor_phone in ("+447700900123", "+905321234567")
    assert rest in kept.message
    asked = [
        told.content
        for told in visitor.history
        if told.content.endswith(("your name?", "Adınızı alabilir miyim?", "Adınızı da yazar mısınız?"))
    ]
    assert len(asked) == 2


def test_a_question_with_contact_data_is_answered_and_is_what_the_request_is_about() -> None:
    visitor = turk()
    visitor.say("beni arayın lütfen")
    text = visitor.say("merve ben, otoparkınız var mı, numaram 0532 123 45 67").text
    assert "Vale var, 150 TL." in text
    assert "- Ad: merve" in text
    assert "otoparkınız var mı" in visitor.capture("evet").message


def test_an_appointment_whose_day_is_never_told_becomes_a_request_to_be_called() -> None:
    visitor = Guest()
    visitor.say("I'd like to book a table, Tom Hill 07700 900123")
    kept = visitor.capture("xx", "xxx", "xx xx", "xxxx", "yes")
    assert (kept.request_type, kept.visitor_phone) == ("contact", "+447700900123")
    assert "book a table" in kept.message


def test_a_hedged_answer_stays_one_in_a_form_where_the_entry_knows_the_words() -> None:
    visitor = turk()
    visitor.say("pazar 19:00 2 kişilik masa ayırın")
    assert "150 TL" in visitor.say("arabayı otoparka bırakabilir miyim").text


def test_a_question_that_only_gets_remarks_is_done_without_the_third_time() -> None:
    visitor = Guest()
    visitor.say("I'd like to book a table, Tom Hill 07700 900123")
    told = [visitor.say(line).text for line in ("it's for my mum's birthday", "she is in a wheelchair", "my dad is not allowed any nuts")]
    assert told[0] == "All right. And which day?"
    assert "skip" in told[1]
    assert "our team will agree on the day" in told[2]
    kept = visitor.capture("yes")
    assert all(part in kept.message for part in ("birthday", "wheelchair", "nuts"))


@pytest.mark.parametrize(
    ("visitor", "lines", "remark"),
    [
        (Guest(), ("can I get a table for 4 tmrw 8ish", "nora parker 07700 900123"), "rather the table in the garden please"),
        (turk(), ("yarın 20:00 4 kişilik masa ayırın", "Mert Kara 0532 555 11 22"), "bahçe tarafında bir masa olsun"),
    ],
)
def test_a_remark_to_the_summary_goes_into_the_message(visitor: Guest, lines: tuple[str, ...], remark: str) -> None:
    for line in lines:
        visitor.say(line)
    assert remark in visitor.say(remark).text
    assert remark in visitor.capture("yes" if visitor.speaks == "en" else "evet").message


def test_the_booked_hour_named_again_changes_nothing() -> None:
    visitor = Guest()
    visitor.capture(*BOOKED)
    reply = visitor.say("8pm")
    assert reply.captured is None
    assert "20:00" in reply.text
    assert "instead" not in reply.text
    moved = visitor.capture("can we make it sunday")
    assert (moved.date, moved.time) == (SUNDAY, time(20))
    assert visitor.say("8pm").captured is None
    later = visitor.capture("make it 9pm")
    assert (later.date, later.time) == (SUNDAY, time(21))


@pytest.mark.parametrize(
    ("visitor", "opening", "detail", "question"),
    [
        (Guest(), "I'd like to book a table", "2 high chairs", "And which day?"),
        (turk(), "masa ayırtmak istiyorum", "3 sandalye", "Peki hangi gün?"),
    ],
)
def test_a_thing_that_is_counted_is_no_misread_day_but_a_part_of_the_matter(
    visitor: Guest, opening: str, detail: str, question: str
) -> None:
    visitor.say(opening)
    told = visitor.say(detail).text
    assert told == f"{'Tamam' if visitor.speaks == 'tr' else 'All right'}. {question}"
    visitor.say("cumartesi 19:00" if visitor.speaks == "tr" else "Saturday 7pm")
    assert detail in visitor.say("Tolga Erdem 0532 123 45 67" if visitor.speaks == "tr" else "Tom Hill 07700 900123").text


def test_what_is_leaned_to_beside_a_doubt_is_kept() -> None:
    visitor = Guest()
    visitor.say("I'd like to book a table, Tom Hill 07700 900123")
    visitor.say("not sure, terrace side probably?")
    assert "terrace side" in visitor.say("Saturday 7pm").text


def test_a_yes_is_no_hour() -> None:
    visitor = Guest()
    visitor.say("I'd like to book a table for Saturday")
    assert visitor.say("yep").text.startswith("I can't see from here which times are free")


@pytest.mark.parametrize("name", ["Nermin Coşkun", "Zeyno Demir"])
def test_a_full_name_is_taken_at_another_question_though_its_first_word_is_not_listed(name: str) -> None:
    visitor = turk()
    visitor.say("cumartesi masa ayırtmak istiyorum")
    visitor.say(name)
    assert visitor.capture("20:00", "0532 123 45 67", "evet").visitor_name == name


def test_a_question_with_another_day_moves_no_day_that_is_told() -> None:
    visitor = turk()
    visitor.say("pazar masa ayırtmak istiyorum, Tolga Erdem 0532 123 45 67")
    visitor.say("cumartesiye misafir var mama sandalyesi yetişir mi")
    assert visitor.capture("19:00", "evet").date == SUNDAY


def test_a_corrected_hour_is_no_miss_of_the_name() -> None:
    visitor = turk()
    visitor.say("cumartesi 20:00 masa ayırtmak istiyorum")
    visitor.say("ya da 8 buçuk")
    assert "Adınızı alabilir miyim?" in visitor.say("9 olsun o zaman").text
    kept = visitor.capture("Meltem Sarı", "0532 123 45 67", "evet")
    assert (kept.visitor_name, kept.time) == ("Meltem Sarı", time(21))


def test_an_incomplete_number_is_asked_for_again_also_beside_the_summary() -> None:
    visitor = turk()
    visitor.say("cumartesi 20:00 masa ayırtmak istiyorum, Meltem Sarı, meltem@example.com")
    assert "numarayı okuyamadım" in visitor.say("0507 111 90 9").text
    assert visitor.capture("0507 111 90 90", "evet").visitor_phone == "+905071119090"


def test_an_incomplete_number_is_asked_for_again_whatever_was_told_before_it() -> None:
    visitor = call(Guest())
    visitor.say("Tom Hill")
    visitor.say("can someone text me")
    assert "couldn't read the number" in visitor.say("07700 900 8").text
    assert "can someone text me" in visitor.capture("07700 900 813", "yes").message


@pytest.mark.parametrize("detail", ["etiket numarası yok bende", "5. kat asansör yok ona göre gelin", "fiş numarası 12345"])
def test_other_numbers_and_details_are_no_contact_data(detail: str) -> None:
    visitor = call(turk())
    visitor.say("Fatma Öztürk")
    assert visitor.say(detail).text.startswith("Tamam. Telefon numaranızı ya da e-postanızı da")
    assert detail in visitor.capture("0532 123 45 67", "evet").message


def test_a_detail_beside_the_summary_is_no_parting() -> None:
    visitor = Guest()
    visitor.say("Can I come on Sunday at 1pm? Sofia Martins +351 912 345 678")
    assert "full leg, first time" in visitor.say("full leg, first time").text


def test_the_day_of_a_complaint_is_not_the_day_of_a_later_request() -> None:
    visitor = Guest()
    visitor.say("picked my order up on friday and it was STILL cold. paid 75 quid")
    assert visitor.say("I'd like to book a table").text.endswith("Which day would suit you?")


@pytest.mark.parametrize(
    ("visitor", "lines", "later"),
    [
        (Guest(), ("table for 2 on sunday 7pm", "Tom Hill 07700 900123"), "make it two weeks later, same time"),
        (turk(), ("pazar 19:00 2 kişilik masa ayırın", "Tolga Erdem 0532 123 45 67"), "iki hafta sonraya alalım aynı saat"),
    ],
)
def test_a_day_is_moved_from_the_one_that_was_told(visitor: Guest, lines: tuple[str, ...], later: str) -> None:
    for line in lines:
        visitor.say(line)
    kept = visitor.capture(later, "yes" if visitor.speaks == "en" else "evet")
    assert (kept.date, kept.time) == (SUNDAY + timedelta(weeks=2), time(19))


def test_a_day_of_the_month_that_was_named_before() -> None:
    visitor = Guest(hours=None)
    visitor.say("I'd like to book a table in January")
    visitor.say("the 8th")
    assert visitor.capture("7pm", "Tom Hill 07700 900123", "yes").date == date(2027, 1, 8)


@pytest.mark.parametrize(
    ("visitor", "opening", "denial"),
    [
        (Guest(), "table for 2 on sunday 7pm, Tom Hill 07700 900123", "I never said a time"),
        (Guest(), "table for 2 on sunday 7pm, Tom Hill 07700 900123", "i never said 7"),
        (turk(), "pazar 19:00 masa ayırın, Tolga Erdem 0532 123 45 67", "ben saat söylemedim ki"),
    ],
)
def test_an_hour_that_was_never_told_is_taken_out(visitor: Guest, opening: str, denial: str) -> None:
    visitor.say(opening)
    told = visitor.say(denial).text
    assert "19:00" not in told.replace(opening, "")
    assert visitor.capture("yes" if visitor.speaks == "en" else "evet").time is None


def test_an_hour_that_does_not_matter_is_not_asked_for_again() -> None:
    visitor = Guest()
    visitor.say("I'd like to book a table for sunday")
    assert "our team will agree on the time" in visitor.say("any time is fine").text


def test_a_complaint_is_taken_down_when_it_goes_on() -> None:
    visitor = Guest()
    visitor.say("the soup was cold and the waiter was rude")
    told = [visitor.say(line).text for line in ("so what are you going to do about it", "this is a disgrace, i want my money back")]
    assert len(set(told)) == len(told)
    assert told[-1].endswith("May I have your name?")
    assert "money back" in visitor.capture("Tom Hill 07700 900123", "yes").message


@pytest.mark.parametrize(("hand_off", "named"), [(True, True), (False, False)])
def test_a_question_for_a_bot_is_answered_truthfully(hand_off: bool, named: bool) -> None:
    turn = Guest().turn("am I talking to a real person or a bot")
    told = reply(replace(turn, bot=turn.bot._replace(hand_off=hand_off))).text
    assert "I'm not a person" in told
    assert ("agent" in told) == named
