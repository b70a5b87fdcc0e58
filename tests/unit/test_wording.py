"""Sentences of the domain in both languages: faults of files, settings and opening hours, weak spots of a knowledge."""

from typing import Any

import pytest

from chatsvc.domain import profiles
from chatsvc.translations import worded


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
    assert profiles.fault_sentence(code, facts) == english
    assert profiles.fault_sentence(code, facts, "tr") == turkish


def test_an_unknown_code_is_its_own_sentence() -> None:
    assert worded("file_faults", "newer", {"x": 1}, "tr") == "newer {'x': 1}"
    assert worded("no_section", "newer", {}, "en") == "newer"
