"""Requests and appointments on pages: names of bots, possible assignees, and the forms that change a record."""

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from chatsvc.dashboard import localization
from chatsvc.dashboard.page import Page
from chatsvc.domain import refusals
from chatsvc.domain.captures import InboxItem
from chatsvc.domain.models import APPOINTMENT_STATUSES, REQUEST_STATUSES, WAITING, Bot, Conversation
from chatsvc.domain.paging import ResultPage
from chatsvc.services.conversations.conversation_view import ShownConversation, ShownMessage
from chatsvc.services.conversations.conversations import MOST_WAITING
from chatsvc.web.forms import NO_FIELDS, Fields

FIELDS = ("status", "note", "assignee", "date", "time", "text", "tell")
TONES = {"new": "info", "pending": "info", "in_progress": "warn", "confirmed": "good", "done": "good", "delivered": "good", "failed": "bad"}


async def waiting(page: Page) -> ResultPage[Conversation]:
    """Return the conversations of the page's account that wait for a person."""
    conversations: ResultPage[Conversation] = await page.perform("conversation.list", handling=WAITING, limit=MOST_WAITING)
    return conversations


async def bots_of(page: Page) -> Mapping[str, Bot]:
    bots: Sequence[Bot] = (await page.perform("bot.list", account=page.account_id, limit=1000)).items
    return {bot.id: bot for bot in bots}


async def people(page: Page) -> list[tuple[str, str]]:
    """Return the operators who can be assigned to a record, as pairs of e-mail address and name. The signed-in operator comes first."""
    me, assignees = page.operator.email, await page.perform("inbox.assignees", account=page.account_id)
    others = [(operator.email, operator.name or operator.email) for operator in assignees if operator.email != me]
    return [(me, page.text("records.me")), *others]


async def change(page: Page, fields: Fields) -> None:
    """Change the request or appointment that a form names. Raise Refused if the change is refused."""
    # An empty note adds none; the command line removes them.
    given = {name: fields.text(name) for name in FIELDS if name in fields and (name != "note" or fields.text(name))}
    if fields.text("kind") != "appointment":
        # A request has no day and no time, and nobody is told of it.
        of_request = {name: given[name] for name in ("status", "note", "assignee") if name in given}
        await page.perform("request.set", request=fields.text("id"), **of_request)
        return
    # The form has all values: only a new status, day or time is a decision.
    old = (await page.perform("inbox.find", record=fields.text("id"))).appointment
    if fields.text("seen") not in ("", f"{old.date} {old.time}"):
        raise refusals.appointment_changed()
    same = {name for name, value in (("status", old.status), ("date", old.date), ("time", old.time)) if given.get(name) == value}
    changes = {name: value for name, value in given.items() if name not in same and (name != "text" or value)}
    if changes:
        await page.perform("appointment.set", appointment=fields.text("id"), **changes)


async def values(page: Page, typed: Fields = NO_FIELDS, items: Sequence[InboxItem] = ()) -> dict[str, Any]:
    """Return the values that the templates of records need. `items` are the records shown, `typed` the fields of a refused form."""
    may_edit, bots = page.account_id is not None and page.may("request.set"), await bots_of(page)
    return {
        "bots": bots,
        "bot_names": [(bot.id, bot.name) for bot in bots.values()],
        "people": await people(page) if may_edit else [],
        "may_edit": may_edit,
        "request_statuses": [(status, page.text(f"records.status_{status}")) for status in REQUEST_STATUSES],
        "appointment_statuses": [(status, page.text(f"records.status_{status}")) for status in APPOINTMENT_STATUSES],
        "tones": TONES,
        "local_day": lambda day: localization.day(date.fromisoformat(day), page.language),
        "drafts": await page.perform("inbox.drafts", items=items) if may_edit and items else {},
        "typed": {name: typed.text(name) for name in ("id", *FIELDS)} if "id" in typed else {},
    }


async def reply_of(page: Page, bot: Bot, *roles: str) -> tuple[Sequence[ShownMessage], int | None]:
    """Return the messages around the URL's message, and its index, or None if its role is not in `roles`. Raise Refused if not found."""
    conversation, message = page.query.get("conversation", ""), page.query["message"]
    shown: ShownConversation = await page.perform("conversation.view", conversation=conversation, around=message)
    if shown.view.conversation.chatbot_id != bot.id:
        raise refusals.conversation_not_found(conversation=conversation)
    ids = [entry.message.id if entry.message.role in roles else None for entry in shown.messages]
    return shown.messages, ids.index(message) if message in ids else None
