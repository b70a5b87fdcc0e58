"""Plans (help/interface.md 3.2), lowest first, and tiers with the cost of their replies, in integer micro-dollars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from chatsvc.domain.models import Usage


class Plan(NamedTuple):
    """A plan: `messages` is the number allowed in a month, `bots` the highest number of bots."""

    name: str
    version: int
    messages: int
    bots: int
    webhooks: bool = False
    rest_api: bool = False


def lowest_with(plans: Mapping[str, Plan], feature: str) -> str | None:
    """Return the name of the lowest plan that has `feature` ("rest_api" or "webhooks"), or None if no plan has it."""
    return next((plan.name for plan in plans.values() if getattr(plan, feature)), None)


def with_webhooks(plans: Mapping[str, Plan]) -> frozenset[str]:
    """Return the names of the plans that have webhooks (help/webhooks.md 1)."""
    return frozenset(plan.name for plan in plans.values() if plan.webhooks)


class Tier(NamedTuple):
    """A tier that bots name as their `model` (help/interface.md 5.1). Prices are micro-dollars per million tokens."""

    name: str
    engine: str
    model: str = ""
    input_price: int = 0
    output_price: int = 0
    cache_write_price: int = 0
    cache_read_price: int = 0


def cost_micro_usd(tier: Tier, usage: Usage) -> int:
    """Compute the cost of `usage` on `tier` in micro-dollars, rounded half up."""
    price = (
        usage.input_tokens * tier.input_price
        + usage.output_tokens * tier.output_price
        + usage.cache_write_tokens * tier.cache_write_price
        + usage.cache_read_tokens * tier.cache_read_price
    )
    return (price + 500_000) // 1_000_000


class Usd(float):
    """An amount in dollars for JSON, made of whole micro-dollars. `text` shows all six fractional digits (help/interface.md 5.6)."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, micro_usd: int) -> Self:
        amount = super().__new__(cls, micro_usd / 1_000_000)
        amount.text = f"{micro_usd // 1_000_000}.{micro_usd % 1_000_000:06d}"
        return amount
