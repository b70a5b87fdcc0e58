"""One conversation: messages with their origin, requests, the visitor's other conversations, export and erasure."""

from __future__ import annotations

import json

from chatsvc.dashboard import records, responses
from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain import shapes
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse
from chatsvc.usecases.conversation_view import ShownConversation

_PATH = "/conversations/{conversation}"


async def show(page: Page) -> HttpResponse:
    """Show the conversation's newest messages, or those around or before one."""
    return await _show(page)


async def change(page: Page) -> HttpResponse:
    """Change a request or an appointment of the conversation."""
    fields = await page.form()
    try:
        await records.change(page, fields)
    except Refused as fault:
        return await _show(page, fault, fields)
    return page.redirect(page.request.path, done="saved")


async def export(page: Page) -> HttpResponse:
    """Send the whole conversation as a JSON file."""
    conversation = page.params["conversation"]
    (part,) = (await page.perform("conversation.export", conversation=conversation)).parts
    body = json.dumps(shapes.conversation_detail(part.conversation, part.messages), ensure_ascii=False, indent=2).encode()
    name = f'attachment; filename="conversation-{part.conversation.id}.json"'
    return responses.respond(200, body, "application/json; charset=utf-8", [("Content-Disposition", name)])


async def erase(page: Page) -> HttpResponse:
    """Erase all that is stored of the visitor with this bot."""
    fields = await page.form()
    user_id, bot = fields.raw("user_id"), fields.text("bot")
    try:
        if page.may("conversation.erase"):
            fields.require_confirmation()
        await page.perform("conversation.erase", user_id=user_id, bot=bot)
    except Refused as fault:
        return await _show(page, fault)
    return page.redirect("/conversations", done="removed")


async def _show(page: Page, fault: Refused | None = None, typed: Fields | None = None) -> HttpResponse:
    found: ShownConversation = await page.perform(
        "conversation.view",
        conversation=page.params["conversation"],
        around=page.query.get("message") or None,
        before=page.query.get("before") or None,
    )
    values = await records.values(page, typed)
    bot = values["bots"].get(found.conversation.chatbot_id)
    values |= {"found": found, "conversation": found.conversation, "bot": bot, "zone": bot.timezone if bot else page.timezone}
    return page.refused("conversation.html", fault, **values) if fault else page.render("conversation.html", **values)


ROUTES = (
    Route("GET", _PATH, show, Access.READER),
    Route("POST", _PATH, change, Access.EDITOR),
    Route("POST", f"{_PATH}/export", export, Access.OWNER),
    Route("POST", f"{_PATH}/erase", erase, Access.OWNER),
)
