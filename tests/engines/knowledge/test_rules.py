"""The policy's table: each rule decides some message, and it is the one that its name says."""

from __future__ import annotations

import pytest

from chatsvc.engines.knowledge.policy.context import Context, context_of
from chatsvc.engines.knowledge.policy.rules import RULES
from tests.engines.knowledge.test_form_turns import BOOKED, Guest

ASKED = ("I'd like to book a table",)
NAMED = (*ASKED, "saturday at 8pm", "Tom Hill")
SUMMED_UP = (*NAMED, "07700 900123")
SENT = ("please call me back about a birthday party, Tom Hill 07700 900123", "yes")
TWO = (*BOOKED, "book another table for sunday 7pm please", "yes")

DECIDED = {
    "no words at all": ((), "👋"),
    "a language that nobody here speaks": ((), "Guten Tag, haben Sie am Samstag einen Tisch für vier Personen?"),
    "the form is given up": (ASKED, "forget it"),
    "the form is canceled": (SUMMED_UP, "please cancel my booking"),
    "a question instead of the form": (ASKED, "no booking, just tell me if you take cards"),
    "a no to the form": (ASKED, "no thanks"),
    "one question after another in place of a form": ((*ASKED, "is there parking?", "do you have high chairs?"), "do you take cards?"),
    "a yes to the summary": (SUMMED_UP, "yes that's right"),
    "goodbye before the end": (ASKED, "bye"),
    "a complaint instead of the form": (ASKED, "I don't want to book again, I want my money back"),
    "values, and questions beside them": (ASKED, "saturday at 8pm, do you take cards?"),
    "an insult beside a form": (ASKED, "you stupid bot"),
    "what the question is for": (NAMED, "why do you need my number?"),
    "something noted is wrong": (SUMMED_UP, "no, the name is wrong"),
    "what the visitor will not or cannot tell": (NAMED, "I'd rather not say"),
    "the request is taken for sent": (NAMED, "did you get my booking?"),
    "another wish": (ASKED, "let me speak to a person"),
    "no answer to the question": (ASKED, "hello"),
    "not understood": (ASKED, "xx xx"),
    "a form that was given up": ((*ASKED, "forget it"), "ok let's do it then"),
    "what an offer asks for": (("I have a complaint, the soup was cold",), "why do you need my number?"),
    "an offer to take a note": (("I have a complaint, the soup was cold",), "Tom Hill 07700 900123"),
    "another day for the opening hours": (("are you open on saturday?",), "and monday?"),
    "a change taken back": ((*BOOKED, "please cancel my booking"), "no wait, keep it"),
    "an appointment to cancel": (BOOKED, "please cancel my booking"),
    "a change that was asked about": ((*BOOKED, "can I cancel my table?"), "yes"),
    "corrected contact data": (BOOKED, "my number was wrong, it's 07700 900777"),
    "an appointment to move": (BOOKED, "I need to move my booking"),
    "another time right after the request": (BOOKED, "9pm"),
    "what became of the request": (BOOKED, "did you get my booking?"),
    "a person": ((), "can I talk to a real person"),
    "a message for the team": ((), "please tell the chef that we are late"),
    "a complaint": ((), "I have a complaint, the soup was cold"),
    "a wish to book": ((), "I'd like to book a table"),
    "a day that suits": ((), "saturday 8pm then"),
    "whether there is a free hour or room": ((), "do you have a table free on saturday?"),
    "contact data": ((), "07700 900123"),
    "a record that is not known here": ((), "I want to cancel my booking"),
    "a day alone": ((), "tuesday?"),
    "small talk alone": ((), "thank you"),
    "insults": ((), "you are useless, idiot"),
    "nonsense alone": ((), "asdf qwer zxcv"),
    "when and by whom a request is answered": (SENT, "when?"),
    "questions": ((), "can I pay by card?"),
    "an introduction": ((), "my name is Tom Hill"),
    "something to add to the request": (BOOKED, "his name is Rex by the way, he is a poodle"),
    "a situation": ((), "my dad uses a wheelchair and can't do stairs"),
}
SELDOM = frozenset(
    {
        "a choice of the form as it was offered",  # test_contexts.py
        "one of the things offered",
        "a name after a matter",
        "agreement to what was told",
        "what to do, beside an offer",
        "a question about what the bot does itself",
        "insults beside what has no answer",
        "small talk",
        "nonsense",
    }
)


def _context(before: tuple[str, ...], message: str) -> Context:
    guest = Guest()
    for line in before:
        (
            guest.capture
            if line in ("yep", "yes", "please cancel my booking") and guest.dialogue and '"confirm"' in guest.dialogue
            else guest.say
        )(line)
    return context_of(guest.turn(message))


def _rule(c: Context) -> str:
    return next(rule.name for rule in RULES if rule.when(c) and rule.do(c) is not None)


@pytest.mark.parametrize("name", DECIDED)
def test_the_rule_of_that_name_decides(name: str) -> None:
    before, message = DECIDED[name]
    c = _context(before, message)
    if name == "a language that nobody here speaks":  # it raises the refusal that names the languages
        assert next(rule.name for rule in RULES if rule.when(c)) == name
    else:
        assert _rule(c) == name


def test_every_rule_is_held_here_or_elsewhere() -> None:
    assert {rule.name for rule in RULES} == DECIDED.keys() | SELDOM
