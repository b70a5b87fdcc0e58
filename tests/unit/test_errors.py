"""The table of errors (help/interface.md 6): what each carries, and that nothing can be raised that is not in it.

Also sentences of the domain in both languages: faults of files and settings.
"""

from typing import Any

import pytest

from chatsvc.domain import errors, profiles
from chatsvc.domain.errors import PROBLEMS, Because, Problem
from chatsvc.translations import worded
from tests.tables import json_rows, rows

# help/interface.md 6, copied by hand: code, status and the extra fields.
TABLE = {code: (int(status), tuple(extra.split())) for code, status, extra in rows("unit/errors")}


def test_the_table_holds_every_code_of_the_specification_and_no_other() -> None:
    assert {code: (problem.status, tuple(sorted(problem.extra))) for code, problem in PROBLEMS.items()} == TABLE


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=list(PROBLEMS))
def test_an_error_is_the_flat_envelope_with_both_languages_and_exactly_its_fields(problem: Problem) -> None:
    assert getattr(errors, problem.code) is problem
    extra: dict[str, Any] = {name: f"the {name}" for name in problem.extra}
    raised = problem(**extra)
    assert raised.as_json() == {
        "success": False,
        "error": problem.code,
        "message": problem.text("tr"),
        "message_en": problem.text("en"),
        **extra,
    }
    assert problem.text("tr") != problem.text("en")
    assert problem.text("tr").endswith(".")
    assert problem.text("en").endswith(".")
    for given in ({**extra, "detail": "one too many"}, *({name: 1 for name in extra if name != missing} for missing in extra)):
        with pytest.raises(TypeError, match=problem.code):
            problem(**given)


def test_a_sentence_that_says_what_was_wrong_is_added_in_both_languages() -> None:
    body = errors.invalid_json(Because(tr="Şu alan.", en="That field.")).as_json()
    assert body["message"] == f"{errors.invalid_json.text('tr')} Şu alan."
    assert body["message_en"] == f"{errors.invalid_json.text('en')} That field."


@pytest.mark.parametrize(("code", "facts", "english", "turkish"), json_rows("unit/wording"))
def test_a_fault_of_a_bots_file_is_worded_with_its_facts(code: str, facts: dict[str, Any], english: str, turkish: str) -> None:
    assert profiles.fault_sentence(code, facts) == english
    assert profiles.fault_sentence(code, facts, "tr") == turkish


def test_an_unknown_code_is_its_own_sentence() -> None:
    assert worded("file_faults", "newer", {"x": 1}, "tr") == "newer {'x': 1}"
    assert worded("no_section", "newer", {}, "en") == "newer"
