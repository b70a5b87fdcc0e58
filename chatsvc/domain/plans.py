"""Plans (help/interface.md 3.2). The configuration lists them, lowest first."""

from collections.abc import Mapping
from typing import NamedTuple


class Plan(NamedTuple):
    """One row of the table of plans; `messages` a month, `bots` at most."""

    name: str
    version: int
    messages: int
    bots: int
    webhooks: bool = False
    rest_api: bool = False


def lowest_with(plans: Mapping[str, Plan], feature: str) -> str | None:
    """The name of the lowest plan that has `feature` ("rest_api" or "webhooks"). None where no plan has it."""
    return next((plan.name for plan in plans.values() if getattr(plan, feature)), None)


def with_webhooks(plans: Mapping[str, Plan]) -> frozenset[str]:
    """The names of the plans that have webhooks (help/webhooks.md 1)."""
    return frozenset(plan.name for plan in plans.values() if plan.webhooks)
