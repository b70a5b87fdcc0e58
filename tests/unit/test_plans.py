"""Plans: which is the lowest that has a feature."""

from __future__ import annotations

from chatsvc.domain.plans import Plan, lowest_with

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
