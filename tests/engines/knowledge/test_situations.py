"""Messages that ask nothing in so many words: situations, introductions, a day proposed, and wishes put as questions."""

from __future__ import annotations

import pytest

from tests.engines.knowledge.test_interruptions import Caller, after

NOTE = {"tr": "not alayım mı?", "en": "Shall I take a note"}


@pytest.mark.parametrize(
    ("tongue", "message", "answer"),
    [
        ("tr", "arabam frene basınca ses yapıyor", "Fren kontrolü ücretsiz"),
        ("tr", "kartım çalındı dün parkta", "Bu konuda hazır bir bilgim yok."),
        ("en", "my card was stolen in town", "I have no ready answer to that."),
    ],
)
def test_a_situation_gets_the_nearest_entry_or_none_and_the_offer_to_pass_it_on(tongue: str, message: str, answer: str) -> None:
    told = Caller(tongue).say(message)
    assert answer in told.text
    assert NOTE[tongue] in told.text
    assert told.dialogue is not None


def test_the_offer_about_a_situation_is_taken_up_with_what_was_told() -> None:
    caller = after("tr", "kartım çalındı dün parkta", "evet", "Hasan Demirci", "0532 111 22 33")
    caught = caller.say("evet").captured
    assert caught is not None
    assert "kartım çalındı" in caught.message


def test_an_introduction_is_heard_and_the_name_is_known_afterwards() -> None:
    caller = Caller("tr")
    assert caller.say("merhaba ben Okan, arabamın plakası 34 ABC 12").text == "Buyurun, sizi dinliyorum."
    caller.say("yarın 10da randevu fren")
    assert "- Ad: Okan\n" in caller.say("0532 111 22 33").text


@pytest.mark.parametrize(("tongue", "message"), [("tr", "bugün olur mu"), ("en", "would today be ok"), ("en", "is tomorrow possible?")])
def test_a_day_proposed_is_taken_for_a_request(tongue: str, message: str) -> None:
    told = Caller(tongue).say(message).text
    assert told.startswith(("Hangi saatlerin boş olduğunu buradan göremiyorum", "I can't see from here which times are free"))
    assert told.endswith(("Sizin için saat kaç uygun?", "What time would suit you?"))


@pytest.mark.parametrize(
    ("tongue", "message", "answer"), [("en", "what do cheques cost", "Cards, cash"), ("en", "how much is an electric charging", "45 cents")]
)
def test_an_unsure_entry_that_states_the_fact_asked_for_is_a_hedged_answer(tongue: str, message: str, answer: str) -> None:
    assert answer in Caller(tongue).say(message).text


@pytest.mark.parametrize("message", ["we are moving house and everything is in boxes", "the motor is making a strange sound today"])
def test_a_longer_statement_is_passed_on_though_no_entry_knows_its_words(message: str) -> None:
    assert Caller("en").say(message).text.startswith("I have no ready answer to that.")


def test_what_to_do_about_a_situation_gets_the_offer_again() -> None:
    caller = after("tr", "kartım çalındı dün parkta")
    assert caller.say("ne yapayım").text == "Bu konuda bildiğim bu kadar. Ekibimizin size dönmesi için not alayım mı?"
    assert caller.say("evet").text.endswith("Adınızı alabilir miyim?")


def test_the_only_entry_near_is_told_and_not_asked_for() -> None:
    caller = Caller("tr")
    assert caller.say("fasıl olucak mı").choices == ()
    assert "fasıl var" in caller.history[-1].content


def test_a_visitor_called_ben_is_no_turkish_introduction() -> None:
    caller = after("en", "i want to book a room for friday", "6pm", "my name is Ben Shaw")
    assert "- Name: Ben Shaw\n" in caller.say("ben@shaw.example").text


def test_the_wish_to_come_and_look_opens_a_form() -> None:
    assert Caller("en").say("could we come and see the place").text.endswith("Which day would suit you?")


def test_a_cancellation_beside_the_offer_of_a_note_is_one_of_the_appointment() -> None:
    visitor = after("en", "i have an appointment tomorrow at 10 and cant make it", "just cancel it")
    assert (
        "- Message: i have an appointment tomorrow at 10 and cant make it / just cancel it\n" in visitor.say("Derek Pugh 07700 900142").text
    )
