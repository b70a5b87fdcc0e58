"""The cache of conversation histories: consistent with the store, and bounded."""

from __future__ import annotations

from chatsvc.domain.captures import CapturedRecord
from chatsvc.domain.models import HistoryMessage
from chatsvc.store.conversations import NO_HISTORY, ConversationHistory
from chatsvc.usecases import history_cache
from chatsvc.usecases.history_cache import HistoryCache, extended

HERE = ("bot", "api", "visitor")
TODAY, TOMORROW = 1000, 2000
HELLO = ConversationHistory([HistoryMessage("user", "hello"), HistoryMessage("assistant", "hi")], "note", 1)


def elsewhere(number: int) -> tuple[str, str, str]:
    return ("bot", "api", f"visitor {number}")


def test_a_past_is_there_for_one_answer_until_it_is_put_back() -> None:
    cache = HistoryCache()
    assert cache.pop(HERE, TODAY) is None
    cache.put(HERE, HELLO, TODAY, cache.generation)
    assert cache.pop(elsewhere(1), TODAY) is None
    assert cache.pop(HERE, TODAY) == HELLO
    assert cache.pop(HERE, TODAY) is None


def test_what_was_captured_yesterday_does_not_count_today() -> None:
    cache = HistoryCache()
    cache.put(HERE, HELLO, TODAY, cache.generation)
    assert cache.pop(HERE, TOMORROW) is None


def test_nothing_outlives_a_deletion_nor_comes_back_after_it() -> None:
    cache = HistoryCache()
    cache.put(HERE, HELLO, TODAY, cache.generation)
    before = cache.generation
    cache.clear()
    assert cache.pop(HERE, TODAY) is None
    cache.put(HERE, HELLO, TODAY, before)
    assert cache.pop(HERE, TODAY) is None
    cache.put(HERE, HELLO, TODAY, cache.generation)
    assert cache.pop(HERE, TODAY) == HELLO


def test_those_answered_longest_ago_go_first() -> None:
    cache = HistoryCache()
    for number in range(history_cache.MOST_CONVERSATIONS):
        cache.put(elsewhere(number), NO_HISTORY, TODAY, 0)
    again = cache.pop(elsewhere(0), TODAY)
    assert again is not None
    cache.put(elsewhere(0), again, TODAY, 0)
    cache.put(elsewhere(-1), NO_HISTORY, TODAY, 0)
    assert [cache.pop(elsewhere(number), TODAY) is not None for number in (-1, 0, 1, 2)] == [True, True, False, True]


def test_the_characters_of_all_are_bounded_too_and_given_back() -> None:
    cache = HistoryCache()
    long = ConversationHistory([HistoryMessage("user", "x" * (history_cache.MOST_CHARACTERS // 4))], None, 0)
    for _ in range(3):  # taken and put again, which must not add up
        for number in range(4):
            cache.pop(elsewhere(number), TODAY)
            cache.put(elsewhere(number), long, TODAY, 0)
    cache.put(elsewhere(4), HELLO, TODAY, 0)
    assert [cache.pop(elsewhere(number), TODAY) is not None for number in range(5)] == [False, True, True, True, True]
    cache.put(elsewhere(9), ConversationHistory([HistoryMessage("user", "x" * (history_cache.MOST_CHARACTERS + 1))], None, 0), TODAY, 0)
    assert cache.pop(elsewhere(9), TODAY) is None


def test_a_past_grows_by_an_exchange_and_loses_its_oldest() -> None:
    record = CapturedRecord("request", "r1", "contact", "new", "when?", 5)
    assert extended(HELLO, "when?", "now", None, captured=record, most=3) == ConversationHistory(
        [HistoryMessage("assistant", "hi"), HistoryMessage("user", "when?"), HistoryMessage("assistant", "now")], None, 2, (record,)
    )
    assert extended(NO_HISTORY, "when?", "now", "note", captured=None, most=3) == ConversationHistory(
        [HistoryMessage("user", "when?"), HistoryMessage("assistant", "now")], "note", 0
    )
    assert NO_HISTORY.messages == []
