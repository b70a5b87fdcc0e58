"""Plans: which is the lowest that has a feature, and the cost of a reply in whole micro-dollars."""

import json
from decimal import ROUND_HALF_UP, Decimal

import orjson
from hypothesis import example, given
from hypothesis import strategies as st

from chatsvc.domain.models import Usage
from chatsvc.domain.plans import Plan, Tier, Usd, cost_micro_usd, lowest_with

PLANS = {
    plan.name: plan
    for plan in (
        Plan("free", 1, 100, 1),
        Plan("business", 1, 10_000, 10, webhooks=True),
        Plan("enterprise", 1, 100_000, 100, webhooks=True, rest_api=True),
        Plan("galactic", 1, 1_000_000, 1000, webhooks=True, rest_api=True),
    )
}


def test_the_lowest_plan_is_the_first_in_the_table_that_has_the_feature() -> None:
    assert lowest_with(PLANS, "rest_api") == "enterprise"
    assert lowest_with(PLANS, "webhooks") == "business"
    assert lowest_with(dict(reversed(PLANS.items())), "rest_api") == "galactic"
    assert lowest_with({"free": PLANS["free"]}, "rest_api") is None


prices = st.integers(0, 100_000_000)
tokens = st.integers(0, 10_000_000)


@example([1, 0, 0, 0], [499_999, 0, 0, 0])
@example([1, 0, 0, 0], [500_000, 0, 0, 0])
@given(st.lists(prices, min_size=4, max_size=4), st.lists(tokens, min_size=4, max_size=4))
def test_the_cost_is_exact_and_rounded_half_up_and_dollars_show_six_digits(price: list[int], count: list[int]) -> None:
    exact = sum((Decimal(p) * n for p, n in zip(price, count, strict=True)), Decimal(0)) / 1_000_000
    tier = Tier("t", "anthropic", "m", *price)
    assert cost_micro_usd(tier, Usage(*count)) == int(exact.quantize(Decimal(1), ROUND_HALF_UP))
    usd = Usd(cost_micro_usd(tier, Usage(*count)))
    assert Decimal(usd.text) == exact.quantize(Decimal(1), ROUND_HALF_UP) / 1_000_000
    assert len(usd.text.partition(".")[2]) == 6
    assert json.loads(usd.text) == json.loads(json.dumps(usd)) == float(usd)
    assert orjson.Fragment(usd.text)
