"""Quotes of a visitor: what they typed is kept as they typed it, and nothing else."""

import pytest

from chatsvc.engines.anthropic import quotes
from tests.speed import within

SPOKEN = [
    "Picked my bike up thursday after a full service and the gears STILL slip. Not happy at all, I want my money back!",
    "get the manager to ring me tomorow between 10 and 11",
    "Gareth Pugh, 07700 900256",
    "Randevumu İPTAL edin, salı günü gelemiyorum",
]


@pytest.mark.parametrize(
    ("given", "accepted", "dropped"),
    [
        (["I want my money back"], ["I want my money back!"], 0),
        (["the gears still slip", "ring me tomorow between 10 and 11."], ["the gears STILL slip.", "ring me tomorow between 10 and 11"], 0),
        (["i want my money back. get the manager to ring me"], ["I want my money back!", "get the manager to ring me"], 0),
        (["gears STILL slip ... between 10 and 11"], ["gears STILL slip.", "between 10 and 11"], 0),
        (["not happy at all get the manager to ring me"], ["Not happy at all", "get the manager to ring me"], 0),
        (["between 10 and 11", "the gears still slip"], ["the gears STILL slip.", "between 10 and 11"], 0),
        (["randevumu iptal edin"], ["Randevumu İPTAL edin"], 0),
        (["money back", "I want my money back"], ["I want my money back!"], 0),
        (["He demands a full refund and a call from the owner"], [], 1),
        (["I want my money back", "and a new bicycle for free"], ["I want my money back!"], 1),
        (["", "  ", "..."], [], 1),
    ],
)
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
