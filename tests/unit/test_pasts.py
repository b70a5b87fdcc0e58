"""Pasts that are kept: only what is true, and never much."""

from __future__ import annotations

from chatsvc.domain.models import Said
from chatsvc.store.conversations import NO_PAST, Past
from chatsvc.usecases import pasts
from chatsvc.usecases.pasts import Pasts, grown

HERE = ("bot", "api", "visitor")
TODAY, TOMORROW = 1000, 2000
HELLO = Past([Said("user", "hello"), Said("assistant", "hi")], "note", 1)


def elsewhere(number: int) -> tuple[str, str, str]:
    return ("bot", "api", f"visitor {number}")


def test_a_past_is_there_for_one_answer_until_it_is_put_back() -> None:
    kept = Pasts()
    assert kept.take(HERE, TODAY) is None
    kept.put(HERE, HELLO, TODAY, kept.changes)
    assert kept.take(elsewhere(1), TODAY) is None
    assert kept.take(HERE, TODAY) == HELLO
    assert kept.take(HERE, TODAY) is None


def test_what_was_captured_yesterday_does_not_count_today() -> None:
    kept = Pasts()
    kept.put(HERE, HELLO, TODAY, kept.changes)
    assert kept.take(HERE, TOMORROW) is None


def test_nothing_outlives_a_deletion_nor_comes_back_after_it() -> None:
    kept = Pasts()
    kept.put(HERE, HELLO, TODAY, kept.changes)
    before = kept.changes
    kept.forget()
    assert kept.take(HERE, TODAY) is None
    kept.put(HERE, HELLO, TODAY, before)
    assert kept.take(HERE, TODAY) is None
    kept.put(HERE, HELLO, TODAY, kept.changes)
    assert kept.take(HERE, TODAY) == HELLO


def test_those_answered_longest_ago_go_first() -> None:
    kept = Pasts()
    for number in range(pasts.MOST_CONVERSATIONS):
        kept.put(elsewhere(number), NO_PAST, TODAY, 0)
    again = kept.take(elsewhere(0), TODAY)
    assert again is not None
    kept.put(elsewhere(0), again, TODAY, 0)
    kept.put(elsewhere(-1), NO_PAST, TODAY, 0)
    assert [kept.take(elsewhere(number), TODAY) is not None for number in (-1, 0, 1, 2)] == [True, True, False, True]


def test_the_characters_of_all_are_bounded_too_and_given_back() -> None:
    kept = Pasts()
    long = Past([Said("user", "x" * (pasts.MOST_CHARACTERS // 4))], None, 0)
    for _ in range(3):  # taken and put again, which must not add up
        for number in range(4):
            kept.take(elsewhere(number), TODAY)
            kept.put(elsewhere(number), long, TODAY, 0)
    kept.put(elsewhere(4), HELLO, TODAY, 0)
    assert [kept.take(elsewhere(number), TODAY) is not None for number in range(5)] == [False, True, True, True, True]
    kept.put(elsewhere(9), Past([Said("user", "x" * (pasts.MOST_CHARACTERS + 1))], None, 0), TODAY, 0)
    assert kept.take(elsewhere(9), TODAY) is None


def test_a_past_grows_by_an_exchange_and_loses_its_oldest() -> None:
    assert grown(HELLO, "when?", "now", None, captured=True, most=3) == Past(
        [Said("assistant", "hi"), Said("user", "when?"), Said("assistant", "now")], None, 2
    )
    assert grown(NO_PAST, "when?", "now", "note", captured=False, most=3) == Past(
        [Said("user", "when?"), Said("assistant", "now")], "note", 0
    )
    assert NO_PAST.history == []
