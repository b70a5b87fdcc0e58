"""Quotes of a visitor: what they typed is kept as they typed it, and nothing else."""

import json

import pytest

from chatsvc.engines.anthropic import quotes
from tests.speed import within
from tests.tables import rows

SPOKEN = [
    "Picked my bike up thursday after a full service and the gears STILL slip. Not happy at all, I want my money back!",
    "get the manager to ring me tomorow between 10 and 11",
    "Gareth Pugh, 07700 900256",
    "Randevumu İPTAL edin, salı günü gelemiyorum",
]


@pytest.mark.parametrize(("given", "accepted", "dropped"), [tuple(map(json.loads, row)) for row in rows("engines/quotes")])
def test_a_quote_is_what_was_typed(given: list[str], accepted: list[str], dropped: int) -> None:
    result = quotes.check(given, SPOKEN)
    assert (list(result.verbatim), len(result.dropped)) == (accepted, dropped)


def test_where_nothing_was_quoted_all_that_stands_in_no_record_is_kept() -> None:
    assert quotes.without(["hi there", "ok", "I want a lesson", "Tom"], ["I want a lesson"]) == ("hi there",)
    assert quotes.without(["ok"], []) == ("ok",)


@pytest.mark.parametrize("word", ["a ", "ab cd ", "x. "])
def test_long_quotes_are_looked_up_in_bounded_time(word: str) -> None:
    spoken = [(word * 4_000)[:4_000]] * 20
    assert within(1.0, lambda: quotes.check([word * 900 + "no " + word * 900], spoken))
