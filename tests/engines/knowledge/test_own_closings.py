"""Ends of requests in words of the owner or in familiar address. Nothing of them is in the next request."""

from __future__ import annotations

import pytest

from chatsvc.domain.captures import CapturedRecord
from chatsvc.domain.profiles import Form, FormField, Profile
from tests.engines.knowledge.test_turns import Visitor
from tests.fakes import START

OWN = Profile(
    texts={
        "done": {"tr": "Kaydettik, haberleşiriz.", "en": "All set!"},
        "done.appointment": {"tr": "Tamamdır.", "en": "See you!"},
        "cancelled": {"tr": "Peki.", "en": "Gone."},
        "ask.name": {"en": "Who is it?", "tr": "Kiminle görüşüyorum?"},
    },
)
FAMILIAR = Profile(form_of_address="familiar")
WISHES = {
    "tr": ("Yarın 14:00'te diş temizliği için randevu almak istiyorum", "Ayşe Yılmaz 0532 123 45 67", "evet", "fiyat teklifi istiyorum"),
    "en": ("I want to book a haircut for Monday at 2 pm", "Anna Miller 07700 900123", "yes", "I'd like a quote please"),
}


def visitor(profile: Profile, tongue: str) -> Visitor:
    return Visitor(speaks=tongue, hours=None, country="TR" if tongue == "tr" else "GB", profile=profile)


@pytest.mark.parametrize("tongue", ["tr", "en"])
@pytest.mark.parametrize("profile", [OWN, FAMILIAR, Profile()])
def test_nothing_of_a_request_that_is_noted_is_in_the_next(profile: Profile, tongue: str) -> None:
    said = visitor(profile, tongue)
    wish, contact, yes, other = WISHES[tongue]
    said.say(wish)
    said.say(contact)
    noted = said.say(yes).captured
    assert noted is not None
    assert wish in noted.message
    said.captured.append(
        CapturedRecord(
            "appointment",
            "a",
            "appointment",
            "pending",
            noted.message,
            START,
            noted.date,
            noted.time,
            noted.visitor_name,
            None,
            noted.visitor_phone,
        )
    )
    asked = said.say(other).text
    matter = "on adet oyma kapı" if tongue == "tr" else "ten carved doors"
    summary = said.say(matter).text
    assert matter in summary
    assert wish not in asked + summary
    second = said.say(yes).captured
    assert second is not None
    assert second.message == matter


@pytest.mark.parametrize("tongue", ["tr", "en"])
@pytest.mark.parametrize("profile", [OWN, FAMILIAR])
def test_a_request_that_was_dropped_is_not_in_the_next(profile: Profile, tongue: str) -> None:
    said = visitor(profile, tongue)
    wish, contact, yes, other = WISHES[tongue]
    said.say(wish)
    said.say("vazgeçtim" if tongue == "tr" else "forget it")
    said.say(other)
    matter = "on adet oyma kapı" if tongue == "tr" else "ten carved doors"
    said.say(matter)
    said.say(contact)
    second = said.say(yes).captured
    assert second is not None
    assert second.message == matter


def test_own_questions_of_a_form_have_answers_that_are_no_part_of_the_talk() -> None:
    form = Form(fields=(FormField("plate", ask={"en": "Which number plate?", "tr": ""}),))
    said = visitor(OWN._replace(forms={"appointment": form}), "en")
    said.say("I want to book a service for Monday at 2 pm")
    said.say("AB12 CDE")
    noted = said.say("Anna Miller 07700 900123")
    assert "AB12 CDE" in noted.text
    captured = said.say("yes").captured
    assert captured is not None
    assert captured.message == "I want to book a service for Monday at 2 pm"
    assert captured.details == (("plate", "AB12 CDE"),)
