"""Owner's words in the dialogue. What fills them in, whatever they hold."""

from __future__ import annotations

import pytest

from chatsvc.domain.profiles import Profile
from chatsvc.engines.knowledge.say import Say


def say(text: str) -> str:
    return Say(Profile(texts={"smalltalk.greeting": {"en": text}}), "en")("smalltalk.greeting", name="Mia")


def test_values_stand_for_their_names_in_braces() -> None:
    assert say("I am {name}, {name}!") == "I am Mia, Mia!"


@pytest.mark.parametrize("text", ["{name:>900000000}", "{name.__class__}", "{name[0]}", "{name!r}", "{0}", "{}", "{", "a}", "{other}"])
def test_anything_else_in_braces_stays_as_it_is_written(text: str) -> None:
    assert say(text) == text
