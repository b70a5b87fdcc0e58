"""Sentences of refusals: every code has one, which names its facts."""

import string

import pytest

from chatsvc import translations
from chatsvc.cli.refusals import SENTENCES, sentence
from chatsvc.domain import refusals
from chatsvc.domain.refusals import CODES, Refused


def test_every_code_has_its_sentence_and_no_other_has() -> None:
    written = {code for code, entry in translations.section("refusals").items() if "cli" in entry}
    assert written | SENTENCES.keys() == CODES.keys()
    assert not written & SENTENCES.keys()


@pytest.mark.parametrize("code", sorted(CODES))
def test_a_sentence_uses_facts_that_its_code_has(code: str) -> None:
    if code not in SENTENCES:
        template = translations.template("cli", f"refusals.{code}")
        assert {name for _, name, _, _ in string.Formatter().parse(template) if name} <= set(CODES[code].facts)


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (refusals.bot_not_found(bot="b"), "there is no bot b"),
        (refusals.text_empty(field="bot.name"), "the bot's name must not be empty"),
        (refusals.text_too_long(field="greeting", most=5, length=6), "greeting may have 5 characters at most, this one has 6"),
        (
            refusals.several(
                faults=[
                    {"code": "text_empty", "facts": {"field": "bot.name"}},
                    {"code": "country_unknown", "facts": {"country": "XX"}},
                ]
            ),
            "the bot's name must not be empty; 'XX' is no country; one is written with two letters, like TR",
        ),
        (refusals.bots_exhausted(plan="starter", most=3), "no more bots: the plan starter has 3 bots, and the account has as many"),
        (refusals.plan_without_webhooks(plan=None, plans=["a", "b"]), "the account's plan none has no webhooks; a, b have"),
        (
            refusals.files_invalid(
                faults=[
                    {"file": "a.md", "unit": "line", "line": 1, "code": "answer_missing", "facts": {}},
                    {"file": "b.pdf", "unit": "page", "line": 2, "code": "question_twice", "facts": {"unit": "page", "first": 1}},
                ]
            ),
            "a.md, line 1: this question has no answer\nb.pdf, page 2: this question was asked on page 1 already; keep one of the two",
        ),
        (
            refusals.opening_hours_invalid(fault="overlap", facts={"day": "mon"}),
            "the opening hours cannot be read: the hours of mon overlap",
        ),
        (refusals.backup_faulty(faults=["one", "two"]), "the backup has faults: one; two"),
        (Refused("of_a_newer_service", bot="b"), "the service refuses: of_a_newer_service {'bot': 'b'}"),
    ],
)
def test_a_refusal_is_worded_with_its_facts(refusal: Refused, expected: str) -> None:
    assert sentence(refusal) == expected


def test_a_code_takes_exactly_its_facts() -> None:
    with pytest.raises(TypeError, match="bot_not_found carries"):
        refusals.bot_not_found(account="a")
    with pytest.raises(TypeError):
        refusals.visitor_busy(bot="b")
