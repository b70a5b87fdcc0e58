"""Messages that call for a person or complain, for the hand-off in channels."""

from __future__ import annotations

import pytest

from chatsvc.engines.knowledge import questions
from tests.answers import judging

# Wishes for a person and complaints among the questions of the businesses.
GENUINE = (
    "bir temsilciye",
    "I'm going round in circles",
    "geçen haftaki boyadan",
    "parasını yatıralı",
    "been waiting for over a week",
    "şirketin sahibiyle",
    "can I speak to the owner",
    "destek hattında",
    "you charged me twice",
    "martta giderdiğiniz",
    "alternator from april",
    "one leg of the chair",
    "geçen hafta iade ettiğim",
    "adana söyledim",
    "iki kere çekmişsiniz",
    "paid a week ago",
    "how can I contact a human",
    "everything the courier brought",
    "the salad was missing",
    "cancelled two weeks ago",
    "Kuryenin getirdiği",
)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "can I speak to a real person"),
        ("en", "agent please"),
        ("en", "is there anybody i can talk to"),
        ("en", "this is the worst service ever"),
        ("en", "your driver was rude and late"),
        ("en", "nobody has called me back for a week"),
        ("tr", "gerçek biriyle konuşabilir miyim"),
        ("tr", "temsilci"),
        ("tr", "yetkili biri yok mu orada"),
        ("tr", "şikayetim var"),
        ("tr", "bir haftadır kimse dönmedi"),
        ("tr", "rezalet bir hizmet"),
        ("tr", "this is the worst service ever"),  # in another language than the bot's
    ],
)
def test_a_wish_for_a_person_or_a_complaint_calls_for_one(language: str, text: str) -> None:
    assert questions.calls_a_person(text, language)


@pytest.mark.parametrize("text", ["", "👍", "hello", "merhaba", "teşekkürler", "how much is it", "yarın 3'e randevu", "John Smith"])
def test_small_talk_questions_and_wishes_call_for_nobody(text: str) -> None:
    assert not questions.calls_a_person(text, "tr")


def test_of_questions_hardly_any_is_taken_for_a_complaint() -> None:
    asked = [(name, language, one.text) for name, language in judging.businesses() for one in judging.business(name, language)[1]]
    falsely = [text for _, language, text in asked if questions.calls_a_person(text, language) and not text.startswith(GENUINE)]
    assert len(falsely) <= 0.01 * len(asked)
