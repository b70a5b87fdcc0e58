"""Requests and appointments on pages. The bots' names, the people in charge, and the forms that change a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from chatsvc.dashboard.fields import NO_FIELDS, Fields
from chatsvc.dashboard.page import Page
from chatsvc.domain.captures import APPOINTMENT_STATUSES, REQUEST_STATUSES
from chatsvc.domain.hand_off import WAITING
from chatsvc.domain.models import CHANNELS, Bot, Conversation
from chatsvc.usecases.conversation_list import MOST_WAITING

MOST_BOTS = 1000
KEPT = ("status", "note", "assignee")
TONES = {
    "new": "info",
    "pending": "info",
    "in_progress": "warn",
    "confirmed": "good",
    "done": "good",
    "delivered": "good",
    "failed": "bad",
}


class WaitingVisitors(NamedTuple):
    """Conversations that wait for a person. `is_cut`: there are more than MOST_WAITING."""

    conversations: Sequence[Conversation]
    is_cut: bool


async def waiting(page: Page) -> WaitingVisitors:
    """Return the conversations of the page's account that wait for a person."""
    found = await page.perform("conversation.list", handling=WAITING, limit=MOST_WAITING)
    return WaitingVisitors(found.items, found.next is not None)


async def bots_of(page: Page) -> Mapping[str, Bot]:
    """Return the bots of the page's account by id."""
    found: Sequence[Bot] = (await page.perform("bot.list", account=page.account_id, limit=MOST_BOTS)).items
    return {bot.id: bot for bot in found}


def channels(page: Page) -> list[tuple[str, str]]:
    """Return the channels with their names, for a filter."""
    return [(channel, page.text(f"records.channel_{channel}")) for channel in CHANNELS]


async def people(page: Page) -> list[tuple[str, str]]:
    """Return the operators who may be put in charge. E-mail addresses with names, the signed-in operator first."""
    found = await page.perform("inbox.assignees", account=page.account_id)
    shown = {one.email: one.name or one.email for one in found}
    me = page.operator.email
    return [(me, page.text("records.me")), *((email, name) for email, name in shown.items() if email != me)]


async def change(page: Page, fields: Fields) -> None:
    """Change the request or appointment that a form names; raises Refused."""
    kind = "appointment" if fields.text("kind") == "appointment" else "request"
    given = {name: fields.text(name) for name in KEPT if name in fields}
    await page.perform(f"{kind}.set", **{kind: fields.text("id")}, **given)


async def values(page: Page, typed: Fields = NO_FIELDS) -> dict[str, Any]:
    """Return what the templates of records need; `typed` are the fields of a refused form."""
    may_edit, bots = page.may("request.set"), await bots_of(page)
    return {
        "bots": bots,
        "bot_names": [(bot.id, bot.name) for bot in bots.values()],
        "people": await people(page) if may_edit else [],
        "may_edit": may_edit,
        "request_statuses": [(one, page.text(f"records.status_{one}")) for one in REQUEST_STATUSES],
        "appointment_statuses": [(one, page.text(f"records.status_{one}")) for one in APPOINTMENT_STATUSES],
        "tones": TONES,
        "typed": {name: typed.text(name) for name in ("id", *KEPT)} if "id" in typed else {},
    }
