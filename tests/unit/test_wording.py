"""Sentences of the domain in both languages: faults of files, settings and opening hours, weak spots of a knowledge."""

from __future__ import annotations

import string
from typing import Any

import pytest

from chatsvc.domain import bot_file_faults, knowledge_findings, opening_hours
from chatsvc.domain.wording import Sentence, worded

TABLES = {
    "bot file": bot_file_faults.SENTENCES,
    "opening hours": opening_hours.SENTENCES,
    "weak spots": knowledge_findings.SENTENCES,
}


def names(template: str) -> set[str]:
    """The facts that a template names."""
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize(("table", "code"), [(table, code) for table, codes in TABLES.items() for code in codes])
def test_a_sentence_names_the_same_facts_in_both_languages(table: str, code: str) -> None:
    english, turkish = TABLES[table][code]
    assert names(english) == names(turkish)


@pytest.mark.parametrize(
    ("code", "facts", "english", "turkish"),
    [
        (
            "setting_invalid",
            {"setting": "opening_hours", "refusal": "opening_hours_invalid", "facts": {"fault": "overlap", "facts": {"day": "mon"}}},
            "opening_hours cannot be this (the hours of mon overlap)",
            "opening_hours böyle olamaz (pazartesi gününün saatleri çakışıyor)",
        ),
        (
            "setting_invalid",
            {"setting": "timezone", "refusal": "timezone_unknown", "facts": {"timezone": "Mars"}},
            "timezone cannot be this (timezone: Mars)",
            "timezone böyle olamaz (timezone: Mars)",
        ),
        (
            "part_unknown",
            {"part": "size", "whole": "a field", "known": ["name", "kind"]},
            "'size' is no part of a field; there are name, kind",
            "“size” alan içinde yer almaz; olabilecekler: name, kind",
        ),
        ("file_too_long", {"most": 200_000}, "has more than 200,000 characters", "200.000 karakterden uzun"),
    ],
)
def test_a_fault_of_a_bots_file_is_worded_with_its_facts(code: str, facts: dict[str, Any], english: str, turkish: str) -> None:
    assert bot_file_faults.sentence(code, facts) == english
    assert bot_file_faults.sentence(code, facts, "tr") == turkish


def test_an_unknown_code_is_its_own_sentence() -> None:
    assert worded({"a": Sentence(en="b", tr="c")}, "newer", {"x": 1}, "tr") == "newer {'x': 1}"
    assert worded({}, "newer", {}, "en") == "newer"
