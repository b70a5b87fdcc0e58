"""Ends of requests in words of the owner or in familiar address. Nothing of them is in the next request."""

from __future__ import annotations

import pytest

from chatsvc.domain.models import Bot, HistoryMessage
from chatsvc.domain.profiles import Form, FormField, Profile
from chatsvc.engines import Turn
from chatsvc.engines.knowledge.dialogue import matter, texts
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from tests.fakes import START

OWN = Profile(
    texts={"done": {"tr": "Kaydettik, haberleşiriz.", "en": "All set!"}, "cancelled": {"en": "Gone."}, "ask.name": {"en": "Who is it?"}},
    forms={"appointment": Form(fields=(FormField("plate", ask={"en": "Which number plate?", "tr": ""}),))},
)
FAMILIAR = Profile(address="familiar")


def turn(profile: Profile, tongue: str, *history: str) -> Turn:
    bot = Bot("b", "a", "Bot", None, "offline", True, 0, 0, 0, language=tongue)._replace(profile=profile.dump())
    told = [HistoryMessage("assistant" if place % 2 else "user", text) for place, text in enumerate(history)]
    return Turn(bot, "api", "?", told, None, KnowledgeIndex([], tongue), "", 30.0, START)


@pytest.mark.parametrize(
    ("profile", "tongue", "wish", "key"),
    [
        (OWN, "tr", "Yarın diş temizliği için randevu almak istiyorum", "done"),
        (OWN, "en", "I want to book a haircut for tomorrow", "done"),
        (OWN, "en", "I want to book a haircut for tomorrow", "done.appointment"),
        (FAMILIAR, "tr", "Yarın diş temizliği için randevu almak istiyorum", "done"),
        (FAMILIAR, "tr", "Yarın diş temizliği için randevu almak istiyorum", "done.appointment"),
    ],
)
def test_what_was_said_before_a_request_ended_is_not_in_the_next(profile: Profile, tongue: str, wish: str, key: str) -> None:
    noted = texts.Say(profile, tongue)(key)
    assert matter.earlier(turn(profile, tongue, wish, "...")) == [wish]
    assert matter.earlier(turn(profile, tongue, wish, noted)) == []


def test_a_request_that_was_dropped_in_own_words_does_not_count() -> None:
    wish = "I want to book a haircut for tomorrow"
    assert matter.earlier(turn(OWN, "en", wish, "Gone.")) == [wish]
    assert matter.earlier(turn(OWN, "en", wish, "Gone."), dropped=False) == []


@pytest.mark.parametrize("asked", ["Who is it?", "Thank you. Which number plate?", "May I have your name?"])
def test_own_questions_of_a_form_and_their_answers_are_no_part_of_the_talk(asked: str) -> None:
    kept = matter.without_forms(
        turn(OWN, "en", "Do you have parking?", "Yes.", "I want a haircut", asked, "Anna Miller", "All set!")
    ).history
    assert [past.content for past in kept] == ["Do you have parking?", "Yes.", "I want a haircut"]
