"""Counts of messages that an account's bots have sent by WhatsApp this month, with limits."""

from typing import NamedTuple

from chatsvc.domain import times
from chatsvc.domain.actors import Caller
from chatsvc.domain.channels import WHATSAPP
from chatsvc.services.accounts import accounts
from chatsvc.services.services import Services
from chatsvc.store import channels, whatsapp

FREE = 1000  # replies of a month before they are said to cost


class WhatsAppUsage(NamedTuple):
    """Messages sent by a bot in a UTC month. `beyond` of them are said to cost; `limit` is None where there is none."""

    bot_id: str
    month: str
    sent: int
    beyond: int
    limit: int | None


async def show(services: Services, caller: Caller, *, account: str | None = None) -> list[WhatsAppUsage]:
    """List the bots of an account that have WhatsApp, or have used it this month."""
    state = await accounts.resolve(services, caller, account)
    month = times.month(services.clock())
    sent = await whatsapp.sends(services.db, list(state.bots), month)
    limits = await channels.settings_of(services.db, state.account.id, WHATSAPP)
    made = []
    for bot_id, count in sent.items():
        limit = limits.get(bot_id, {}).get("monthly_limit")
        if count or bot_id in limits:
            made.append(WhatsAppUsage(bot_id, month, count, max(0, count - FREE), limit if isinstance(limit, int) else None))
    return made
