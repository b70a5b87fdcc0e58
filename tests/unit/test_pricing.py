"""The cost of a reply in whole micro-dollars."""

from __future__ import annotations

import json
from decimal import ROUND_HALF_UP, Decimal

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatsvc.domain.models import Usage
from chatsvc.domain.pricing import Tier, Usd, cost_micro_usd

prices = st.integers(0, 100_000_000)
tokens = st.integers(0, 10_000_000)
HAIKU = Tier("fast", "anthropic", "claude-haiku-5-5", 100_000, 500_000, 125_000, 10_000)


@given(st.lists(prices, min_size=4, max_size=4), st.lists(tokens, min_size=4, max_size=4))
def test_the_cost_is_exact_and_rounded_half_up(price: list[int], count: list[int]) -> None:
    exact = sum((Decimal(p) * n for p, n in zip(price, count, strict=True)), Decimal(0)) / 1_000_000
    tier = Tier("t", "anthropic", "m", *price)
    assert cost_micro_usd(tier, Usage(*count)) == int(exact.quantize(Decimal(1), ROUND_HALF_UP))


def test_each_kind_of_token_has_its_own_price() -> None:
    million = 1_000_000
    assert cost_micro_usd(HAIKU, Usage(input_tokens=million)) == 100_000
    assert cost_micro_usd(HAIKU, Usage(output_tokens=million)) == 500_000
    assert cost_micro_usd(HAIKU, Usage(cache_write_tokens=million)) == 125_000
    assert cost_micro_usd(HAIKU, Usage(cache_read_tokens=million)) == 10_000


def test_the_knowledge_engine_has_no_model_and_costs_nothing() -> None:
    offline = Tier("offline", "knowledge")
    assert offline.model == ""
    assert cost_micro_usd(offline, Usage(10**6, 10**6, 10**6, 10**6)) == 0


@pytest.mark.parametrize(("count", "cost"), [(0, 0), (499_999, 0), (500_000, 1), (1_499_999, 1), (1_500_000, 2)])
def test_half_a_micro_dollar_goes_up(count: int, cost: int) -> None:
    assert cost_micro_usd(Tier("t", "anthropic", "m", input_price=1), Usage(input_tokens=count)) == cost


def test_all_tokens_count_in_the_total() -> None:
    assert Usage(1, 20, 300, 4000).total == 4321


@given(st.integers(0, 10**13))
def test_dollars_show_six_digits_and_their_text_is_exact(micro: int) -> None:
    usd = Usd(micro)
    assert Decimal(usd.text) == Decimal(micro) / 1_000_000
    assert len(usd.text.partition(".")[2]) == 6
    assert json.loads(usd.text) == float(usd)


def test_dollars_are_a_number_in_json() -> None:
    assert Usd(0).text == "0.000000"
    assert Usd(1).text == "0.000001"
    assert Usd(1_000_000).text == "1.000000"
    assert Usd(12_345_678).text == "12.345678"
    assert orjson.Fragment(Usd(15).text)
    assert json.loads(json.dumps(Usd(15))) == 0.000015
