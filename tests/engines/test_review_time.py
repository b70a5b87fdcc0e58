"""Time of a reply's review. It runs on the event loop, so a hostile model must not be able to hold it up."""

from datetime import UTC, datetime

import pytest

from chatsvc.engines.anthropic import grounding, review
from tests.speed import within

LETTERS = 20_000
LONGEST_S = 0.4
REPEATED = (
    "a", "ınız", "sipariş", "randevunuz ", "a ", "1", "1 ", "100 tl ", "%10 ", "500 tl 20 ", "a.", "a@", "a-", ".", " ", "\n", "1.",
    "12:00 ", "iptal ettim", "your order ", "i have ", "Ab Cd ", "http://", "1/", "1-", "+1 ", "(", "3 may ",
)  # fmt: skip


@pytest.mark.parametrize("repeated", REPEATED)
def test_a_long_reply_is_reviewed_at_once(repeated: str) -> None:
    reply = (repeated * LETTERS)[:LETTERS] + " iptal et"
    prices = ["20 tl 30 tl %5 %7 "] * 50
    sources = grounding.Sources((), prices, (reply,), datetime(2026, 11, 24, 9, tzinfo=UTC))
    assert within(LONGEST_S, lambda: (review.untrue_claim(reply, (), (), noted=False), sources.unknown(reply)))


def test_an_overlong_word_is_compared_by_its_beginning() -> None:
    address = "https://example.com/" + "x" * 300
    sources = grounding.Sources((grounding.Known(f"See {address}"),), (), (), datetime(2026, 11, 24, 9, tzinfo=UTC))
    assert sources.unknown(f"Look at {address} please") == []
    assert sources.unknown(f"Look at {address.replace('example', 'elsewhere')} please") != []


def test_arithmetic_is_tried_on_a_bounded_number_of_amounts() -> None:
    amounts = [f"{7 * n} TL" for n in range(101, 101 + grounding.MAX_COMPUTED + 1)]
    sources = grounding.Sources(
        (), ("One costs 7 TL.",), ("I need " + ", ".join(str(n) for n in range(101, 122)),), datetime(2026, 11, 24, 9, tzinfo=UTC)
    )
    unknown = sources.unknown("; ".join(amounts))
    assert len(unknown) == grounding.MAX_NAMED
    assert amounts[0].split()[0] not in unknown
