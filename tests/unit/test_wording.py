"""Sentences of the domain in both languages: faults of files, settings and opening hours, weak spots of a knowledge."""

from typing import Any

import pytest

from chatsvc.domain import profiles
from chatsvc.translations import worded
from tests.tables import json_rows


@pytest.mark.parametrize(("code", "facts", "english", "turkish"), json_rows("unit/wording"))
def test_a_fault_of_a_bots_file_is_worded_with_its_facts(code: str, facts: dict[str, Any], english: str, turkish: str) -> None:
    assert profiles.fault_sentence(code, facts) == english
    assert profiles.fault_sentence(code, facts, "tr") == turkish


def test_an_unknown_code_is_its_own_sentence() -> None:
    assert worded("file_faults", "newer", {"x": 1}, "tr") == "newer {'x': 1}"
    assert worded("no_section", "newer", {}, "en") == "newer"
