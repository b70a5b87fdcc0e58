"""Visitors who change their mind: what they take back, and what they put in its place."""

from __future__ import annotations

import pytest

from chatsvc.domain.models import HistoryMessage
from chatsvc.engines import EngineError
from tests.engines.knowledge.test_form_turns import BOOKED, Guest

CANCELED = (*BOOKED, "please cancel my booking")


@pytest.mark.parametrize(
    "message",
    [
        "no wait, keep it",
        "don't cancel after all",
        "oh sorry, dont cancel it, we are coming",
        "actually we will come after all",
        "please ignore the cancellation",
    ],
)
def test_a_cancellation_taken_back_is_captured_and_no_longer_told(message: str) -> None:
    guest = Guest()
    guest.capture(*BOOKED)
    guest.capture("please cancel my booking")
    kept = guest.capture(message)
    assert kept.change
    assert not kept.change.cancels
    assert ": keep as it is, 2026-11-" in guest.records[-1].message
    assert "cancel" not in guest.say("what did I book?").text


@pytest.mark.parametrize("message", ["don't cancel anything", "keep my booking please", "no no dont cancel it"])
def test_nothing_is_captured_where_nothing_was_to_change(message: str) -> None:
    guest = Guest()
    guest.capture(*BOOKED)
    reply = guest.say(message)
    assert reply.captured is None
    assert "stays as it is" in reply.text


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        (("we arrive on december 11th", "until the 14th"), ("Friday 11 December", "Monday 14 December", "Nights: 3")),
        (("december 11th please", "leaving on the 14th"), ("Friday 11 December", "Monday 14 December", "Nights: 3")),
        (("12 december, and we leave on the 15th",), ("Saturday 12 December", "Tuesday 15 December", "Nights: 3")),
        (("from friday to monday", "not friday, saturday"), ("Saturday 28 November", "Monday 30 November", "Nights: 2")),
        (("from 11 to 14 december", "actually make it until the 16th"), ("Friday 11 December", "Wednesday 16 December", "Nights: 5")),
    ],
)
def test_the_second_day_of_a_stay_is_its_end_and_no_hour_is_invented(told: tuple[str, ...], shown: tuple[str, ...]) -> None:
    guest = Guest(hours=None)
    guest.say("we would like to book a room for two")
    for line in (*told, "Ann Hill", "ann@hill.example", "I do not know yet"):
        guest.say(line)
        if "Here is what I have" in guest.history[-1].content:
            break
    assert all(line in guest.history[-1].content for line in shown), guest.history[-1].content
    assert "Time:" not in guest.history[-1].content


@pytest.mark.parametrize(
    ("before", "wish", "shown"),
    [
        (("do you have a room from 4 to 6 december for two of us?",), "Ann Hill, ann@hill.example", ("Nights: 2", "People: 2")),
        (("is there a tour on tuesday", "how much is it for 3 people"), "ok book it, ann@hill.example", ("Tuesday", "People: 3")),
        (("hi, i'm Ann Hill, we are 4", "do you take cards?"), "book us for tuesday 6pm, ann@hill.example", ("Ann Hill", "People: 4")),
    ],
)
def test_what_was_told_before_the_form_is_in_it(before: tuple[str, ...], wish: str, shown: tuple[str, ...]) -> None:
    guest = Guest(hours=None)
    for line in (*before, wish):
        try:
            guest.say(line)
        except EngineError:
            guest.history.append(HistoryMessage("user", line))
    for answer in ("at 5 pm", "Ann Hill", "at 5 pm"):
        if "Here is what I have" in guest.history[-1].content:
            break
        guest.say(answer)
    assert all(line in guest.history[-1].content for line in shown), guest.history[-1].content


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("actually 3 of us", "People: 3"),
        ("make it 9", "Time: 21:00"),
        ("the time is wrong, 9 please", "Time: 21:00"),
        ("not friday, saturday", "Saturday 28 November"),
        ("wrong number, it is 07700 900777", "07700 900777"),
        ("sorry my name is Nora Barker", "Nora Barker"),
        ("make it 10 inch", "Time: 20:00"),
        ("one of us is vegan", "People: 4"),
    ],
)
def test_a_correction_replaces_the_value_that_it_is_about(message: str, shown: str) -> None:
    guest = Guest(hours="tue-sun 12:00-22:30")
    guest.say("a table for 4 on friday at 8pm please, Nora Parker, 07700 900123")
    assert shown in guest.say(message).text


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("i do not want to book, do you take cards?", "All cards but Amex."),
        ("no booking please, can I pay by card", "All cards but Amex."),
        ("no thanks", "have not passed it on"),
        ("i don't need a booking", "have not passed it on"),
    ],
)
def test_a_form_is_left_by_who_wants_none_and_what_is_asked_instead_is_answered(message: str, answer: str) -> None:
    guest = Guest()
    guest.say("I'd like to book a table")
    said = guest.say(message)
    assert answer in said.text
    assert "Which day" not in said.text
    assert "Which day" not in guest.say("is there parking?").text


@pytest.mark.parametrize(
    ("before", "wish", "words"),
    [
        (("my suit is too wide after the wedding, can you take it in?",), "ok book me in for tuesday 6pm", "my suit is too wide"),
        (("need a table on tuesday",), "the big one by the window, about 7 pm", "by the window"),
    ],
)
def test_the_matter_is_the_wish_in_the_visitors_words(before: tuple[str, ...], wish: str, words: str) -> None:
    guest = Guest(hours=None)
    for line in before:
        try:
            guest.say(line)
        except EngineError:
            guest.history.append(HistoryMessage("user", line))
    guest.say(wish)
    assert words in guest.say("Ann Hill, ann@hill.example").text


@pytest.mark.parametrize(
    "message",
    ["can my sister come instead of me on saturday", "can my kids come along to that", "could my husband pick it up instead of me sunday"],
)
def test_a_question_around_a_booking_moves_nothing(message: str) -> None:
    guest = Guest()
    guest.capture(*BOOKED)
    try:
        reply = guest.say(message)
    except EngineError:
        return
    assert reply.captured is None
    assert "instead?" not in reply.text


def test_what_is_told_right_after_the_capture_is_added_to_the_record() -> None:
    guest = Guest()
    guest.capture(*BOOKED)
    added = guest.capture("her name is Daisy by the way, she is six")
    assert added.change
    assert added.change.corrects
    assert "Daisy" in added.message
    assert added.visitor_name == "nora parker"


@pytest.mark.parametrize("message", ["his name is Rex btw", "oh and a high chair please", "we'd like the one by the window actually"])
def test_what_is_told_at_the_summary_belongs_to_the_message(message: str) -> None:
    guest = Guest()
    for line in BOOKED[:-1]:
        guest.say(line)
    told = guest.say(message).text
    assert message in told
    assert "Is everything correct?" in told
    assert message in guest.capture("yes").message


def test_a_cancellation_names_its_booking_by_the_day() -> None:
    guest = Guest()
    guest.capture(*BOOKED)
    assert "(yes / no)" in guest.say("please cancel my booking for next friday").text


def test_a_length_of_time_told_for_another_matter_is_no_stay() -> None:
    guest = Guest(hours=None)
    guest.history.append(HistoryMessage("user", "how much is a room for 3 nights"))
    guest.say("I'd like an appointment for a massage on tuesday at 5pm")
    assert "Nights" not in guest.say("Ann Hill, ann@hill.example").text
