"""One conversation: messages with their origin, hand-off, requests, export and erasure."""

from __future__ import annotations

import json
from functools import cache

from chatsvc.dashboard import catalogue, records, responses
from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain import shapes
from chatsvc.domain.hand_off import BOT
from chatsvc.domain.models import Entry
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HTML, HttpResponse
from chatsvc.usecases.conversation_view import ShownConversation

_PATH = "/conversations/{conversation}"
_MOST_QUESTION = 500
_ANSWERS = 5
_ERROR = "conversation.error_"


async def show(page: Page) -> HttpResponse:
    """Show the newest messages, or those around or before one. A search leads to the message found."""
    if page.query.get("q"):
        hit = await page.perform("conversation.find", conversation=page.params["conversation"], q=page.query["q"])
        if hit is not None:
            return page.redirect(f"{_here(page)}?message={hit}#{hit}")
    return await _show(page)


async def change(page: Page) -> HttpResponse:
    """Change a request or an appointment of the conversation."""
    fields = await page.form()
    try:
        await records.change(page, fields)
    except Refused as fault:
        return await _show(page, fault, fields)
    return page.redirect(_here(page), done="saved")


async def export(page: Page) -> HttpResponse:
    """Send the whole conversation as a JSON file."""
    conversation = page.params["conversation"]
    exported = await page.perform("conversation.export", conversation=conversation)
    (part,) = exported.parts
    phone = exported.phones.get(part.conversation.id)
    written = shapes.conversation_detail(part.conversation, part.messages) | ({} if phone is None else {"visitor_phone": phone})
    body = json.dumps(written, ensure_ascii=False, indent=2).encode()
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


async def take(page: Page) -> HttpResponse:
    """Take the conversation over; that of another operator only with `yes`."""
    fields = await page.form()
    try:
        await page.perform("conversation.take", conversation=page.params["conversation"], yes=fields.checked("yes"))
    except Refused as fault:
        return await _show(page, fault)
    return page.redirect(f"{_here(page)}#reply")


async def reply(page: Page) -> HttpResponse:
    """Write to the visitor, which takes the conversation."""
    fields = await page.form()
    try:
        await page.perform(
            "conversation.reply", conversation=page.params["conversation"], text=fields.raw("text"), yes=fields.checked("yes")
        )
    except Refused as fault:
        return await _show(page, fault, reply=fields)
    return page.redirect(f"{_here(page)}#reply", done="sent")


async def show_typing(page: Page) -> HttpResponse:
    """Show the visitor that an operator is typing."""
    await page.perform("conversation.type", conversation=page.params["conversation"])
    return responses.respond(204, b"", HTML)


async def release(page: Page) -> HttpResponse:
    """Give the conversation back to the bot; that of another operator only with `yes`."""
    fields = await page.form()
    try:
        await page.perform("conversation.release", conversation=page.params["conversation"], yes=fields.checked("yes"))
    except Refused as fault:
        return await _show(page, fault)
    return page.redirect(_here(page), done="released")


def _here(page: Page) -> str:
    return f"/conversations/{page.params['conversation']}"


async def find(page: Page) -> HttpResponse:
    """Search the knowledge for a reply, or append an entry to it."""
    if not page.may("conversation.reply"):
        return page.fail(403)
    return await _show(page, reply=await page.form())


async def _answers(page: Page, bot: str, question: str) -> list[Entry]:
    """Search the bot's knowledge for an answer to insert."""
    if not question.strip():
        return []
    (found,) = await page.perform("knowledge.search", bot=bot, questions=[question.strip()[:_MOST_QUESTION]])
    return [hit.entry for hit in found.result.hits[:_ANSWERS]]


@cache
def _explained() -> frozenset[str]:
    """Return the errors of deliveries that have a sentence."""
    return frozenset(key.removeprefix(_ERROR) for key in catalogue.texts() if key.startswith(_ERROR))


async def _show(page: Page, fault: Refused | None = None, typed: Fields | None = None, reply: Fields | None = None) -> HttpResponse:
    found: ShownConversation = await page.perform(
        "conversation.view",
        conversation=page.params["conversation"],
        around=page.query.get("message") or None,
        before=page.query.get("before") or None,
    )
    values = await records.values(page, typed)
    bot = values["bots"].get(found.conversation.chatbot_id)
    question, text = (reply.text("find"), reply.raw("text")) if reply else ("", "")
    answers = await _answers(page, found.conversation.chatbot_id, question)
    inserted = [entry.answer for entry in answers if reply and entry.id == reply.text("insert")]
    text = "\n\n".join([text.rstrip(), *inserted]).lstrip("\n") if inserted else text
    values |= {
        "answers": answers,
        "find": question,
        "text": text,
        "yes": bool(reply and reply.checked("yes")),
        "is_writable": found.writable_until is None or page.services.clock() < found.writable_until,
        "explained": _explained(),
        "steady": found.typing or found.conversation.handling != BOT,
    }
    values |= {"found": found, "conversation": found.conversation, "bot": bot, "zone": bot.timezone if bot else page.timezone}
    if fault is not None and fault.code == "channel_not_found":
        # The channel was removed while the reply was written: the conversation itself exists, so the text is kept.
        return page.render("conversation.html", status=422, fault=page.refusal(fault), **values)
    return page.refused("conversation.html", fault, **values) if fault else page.render("conversation.html", **values)


ROUTES = (
    Route("GET", _PATH, show, Access.READER),
    Route("POST", _PATH, change, Access.EDITOR),
    Route("POST", f"{_PATH}/take", take, Access.EDITOR),
    Route("POST", f"{_PATH}/reply", reply, Access.EDITOR),
    Route("POST", f"{_PATH}/find", find, Access.EDITOR),
    Route("POST", f"{_PATH}/typing", show_typing, Access.EDITOR),
    Route("POST", f"{_PATH}/release", release, Access.EDITOR),
    Route("POST", f"{_PATH}/export", export, Access.OWNER),
    Route("POST", f"{_PATH}/erase", erase, Access.OWNER),
)
