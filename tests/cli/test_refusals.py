"""Sentences of refusals: every code has one, which names its facts."""

import string
from typing import Any

import pytest

from chatsvc import translations
from chatsvc.cli.refusals import SENTENCES, sentence
from chatsvc.domain import refusals
from chatsvc.domain.refusals import CODES, Refused
from tests.tables import json_rows


def test_every_code_has_its_sentence_and_no_other_has() -> None:
    written = {code for code, entry in translations.section("refusals").items() if "cli" in entry}
    assert written | SENTENCES.keys() == CODES.keys()
    assert not written & SENTENCES.keys()


@pytest.mark.parametrize("code", sorted(CODES))
def test_a_sentence_uses_facts_that_its_code_has(code: str) -> None:
    if code not in SENTENCES:
        template = translations.template("cli", f"refusals.{code}")
        assert {name for _, name, _, _ in string.Formatter().parse(template) if name} <= set(CODES[code].facts)


@pytest.mark.parametrize(("code", "facts", "expected"), json_rows("cli/refusals"))
def test_a_refusal_is_worded_with_its_facts(code: str, facts: dict[str, Any], expected: str) -> None:
    assert sentence(CODES[code](**facts)) == expected


def test_an_unknown_refusal_is_shown_as_it_is() -> None:
    assert sentence(Refused("of_a_newer_service", bot="b")) == "the service refuses: of_a_newer_service {'bot': 'b'}"


def test_a_code_takes_exactly_its_facts() -> None:
    with pytest.raises(TypeError, match="bot_not_found carries"):
        refusals.bot_not_found(account="a")
    with pytest.raises(TypeError):
        refusals.visitor_busy(bot="b")
