"""One conversation beside the list: messages with their origin, private notes, hand-off, the visitor, export and erasure."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from chatsvc import translations
from chatsvc.dashboard import formats, records, responses
from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.local_paths import with_query
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.pages import conversations
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain import shapes
from chatsvc.domain.hand_off import BOT
from chatsvc.domain.models import Entry, Note
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HTML, HttpResponse
from chatsvc.store.database import StoreUnavailable
from chatsvc.usecases import saved_replies
from chatsvc.usecases.conversation_view import ShownConversation, ShownMessage

log = logging.getLogger(__name__)

_PATH = "/conversations/{conversation}"
_MOST_QUESTION = 500
_ANSWERS = 5
_ERROR = "conversation.error_"


async def show(page: Page) -> HttpResponse:
    """Show the newest messages, or those around or before one. A search leads to the message found."""
    if page.query.get("q") and not (page.query.get("message") or page.query.get("before")):
        hit = await page.perform("conversation.find", conversation=page.params["conversation"], q=page.query["q"])
        if hit is not None:
            path = with_query(f"/conversations/{page.params['conversation']}", {"message": hit, **conversations.kept(page)})
            return page.redirect(f"{path}#{hit}")
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
    phone, notes = exported.phones.get(part.conversation.id), exported.notes.get(part.conversation.id, [])
    written = shapes.conversation_detail(part.conversation, part.messages) | ({} if phone is None else {"visitor_phone": phone})
    written["notes"] = [shapes.note(one) for one in notes]
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
    return await _act(page, "conversation.take", {"yes": fields.checked("yes")}, to="#write")


async def reply(page: Page) -> HttpResponse:
    """Write to the visitor, which takes the conversation."""
    fields = await page.form()
    written = {"text": fields.raw("text"), "yes": fields.checked("yes")}
    return await _act(page, "conversation.reply", written, to="#write", reply=fields)


async def note(page: Page) -> HttpResponse:
    """Write a private note."""
    text = (await page.form()).raw("text")
    return await _act(page, "conversation.note", {"text": text}, note=text)


async def assign(page: Page) -> HttpResponse:
    """Assign the conversation to an operator, or to nobody."""
    fields = await page.form()
    return await _act(page, "conversation.assign", {"email": fields.text("email")}, done="saved")


async def show_typing(page: Page) -> HttpResponse:
    """Show the visitor that an operator is typing."""
    await page.perform("conversation.type", conversation=page.params["conversation"])
    return responses.respond(204, b"", HTML)


async def release(page: Page) -> HttpResponse:
    """Give the conversation back to the bot; that of another operator only with `yes`."""
    fields = await page.form()
    return await _act(page, "conversation.release", {"yes": fields.checked("yes")}, done="released")


async def _act(
    page: Page, operation: str, arguments: Mapping[str, object], *, to: str = "", done: str | None = None, **typed: Any
) -> HttpResponse:
    """Perform an operation on the conversation and lead to its part `to`. A refusal is shown there, with what was typed."""
    try:
        await page.perform(operation, conversation=page.params["conversation"], **arguments)
    except Refused as fault:
        return await _show(page, fault, **typed)
    return page.redirect(f"{_here(page)}{to}", done=done)


def _here(page: Page) -> str:
    """Return the address of the conversation with the filters of the list. Without the search, which leads to a message."""
    return with_query(f"/conversations/{page.params['conversation']}", {**conversations.kept(page), "q": None})


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
    return frozenset(key.removeprefix(_ERROR) for key in translations.texts() if key.startswith(_ERROR))


class TimelineEntry(NamedTuple):
    """A message or a note of the thread. `day` (a date) and its name stand before the first entry of each day, else they are empty."""

    message: ShownMessage | None
    note: Note | None
    day: str
    day_name: str


def _timeline(page: Page, found: ShownConversation, zone: str) -> list[TimelineEntry]:
    """Put the notes between the messages by time. Beside a part of the messages stand the notes of its time."""
    times = [one.message.created_at for one in found.messages]
    first = times[0] if found.older else 0
    notes = [one for one in found.team.notes if one.created_at >= first and not (found.newer and one.created_at > times[-1])]
    entries: list[tuple[int, ShownMessage | None, Note | None]] = []
    for one in found.messages:
        while notes and notes[0].created_at < one.message.created_at:
            entries.append((notes[0].created_at, None, notes.pop(0)))
        entries.append((one.message.created_at, one, None))
    entries += [(one.created_at, None, one) for one in notes]
    timeline, before = [], ""
    for at, message, note in entries:
        day = f"{formats.moment(at, zone):%Y-%m-%d}"
        timeline.append(TimelineEntry(message, note, *((day, page.day_name(at, zone)) if day != before else ("", ""))))
        before = day
    return timeline


def _contact(found: ShownConversation) -> dict[str, list[str]]:
    """Collect names and addresses of the visitor, each once."""
    one, requests = found.conversation, [item.request for item in found.items]
    phones = [f"+{found.address.value}"] if found.address and found.address.kind == "phone" else []
    given = {
        "names": [one.visitor_name, *(request.visitor_name for request in requests)],
        "emails": [one.visitor_email, *(request.visitor_email for request in requests)],
        "phones": [*phones, *(request.visitor_phone for request in requests)],
    }
    return {kind: list(dict.fromkeys(value for value in values if value)) for kind, values in given.items()}


async def _see(page: Page, found: ShownConversation) -> None:
    """Store that the operator has seen the messages. The page is shown also where the store takes no writes."""
    last = found.messages[-1].message.number if found.messages else 0
    if last <= found.seen:
        return
    try:
        await page.perform("conversation.see", conversation=found.conversation.id, message=last)
    except StoreUnavailable as fault:
        log.warning("what an operator has seen is not stored: %s", fault)


async def _reply_values(page: Page, found: ShownConversation, reply: Fields | None) -> dict[str, Any]:
    """Return the values of the form for a reply. An entry or a saved reply that was chosen is appended to the text."""
    question, text = (reply.text("find"), reply.raw("text")) if reply else ("", "")
    answers = await _answers(page, found.conversation.chatbot_id, question)
    saved = await page.perform("saved_reply.list", account=page.account_id) if page.may("conversation.reply") else []
    saved = [one._replace(text=saved_replies.filled(one.text, found.conversation.visitor_name)) for one in saved]
    chosen = reply.text("insert") if reply else ""
    inserted = [entry.answer for entry in answers if entry.id == chosen]
    inserted += [one.text for one in saved if reply and chosen == "saved" and one.name == reply.text("saved")]
    text = "\n\n".join([text.rstrip(), *inserted]).lstrip("\n") if inserted else text
    return {"answers": answers, "find": question, "text": text, "saved": saved, "yes": bool(reply and reply.checked("yes"))}


async def _show(
    page: Page, fault: Refused | None = None, typed: Fields | None = None, reply: Fields | None = None, note: str = ""
) -> HttpResponse:
    found: ShownConversation = await page.perform(
        "conversation.view",
        conversation=page.params["conversation"],
        around=page.query.get("message") or None,
        before=page.query.get("before") or None,
    )
    await _see(page, found)
    values = await records.values(page, typed) | await conversations.beside(page)
    bot = values["bots"].get(found.conversation.chatbot_id)
    zone = page.operator.timezone or (bot.timezone if bot else page.timezone)
    values |= await _reply_values(page, found, reply)
    values |= {
        "note_text": note,
        "timeline": _timeline(page, found, zone),
        "contact": _contact(found),
        "is_writable": found.writable_until is None or page.services.clock() < found.writable_until,
        "explained": _explained(),
        "steady": found.typing or found.conversation.handling != BOT,
    }
    values |= {"found": found, "conversation": found.conversation, "bot": bot, "zone": zone}
    if fault is not None and fault.code == "channel_not_found":
        # The channel was removed while the reply was written: the conversation itself exists, so the text is kept.
        return page.render("conversation.html", status=422, fault=page.refusal(fault), **values)
    return page.refused("conversation.html", fault, **values) if fault else page.render("conversation.html", **values)


ROUTES = (
    Route("GET", _PATH, show, Access.READER),
    Route("POST", _PATH, change, Access.EDITOR),
    Route("POST", f"{_PATH}/take", take, Access.EDITOR),
    Route("POST", f"{_PATH}/reply", reply, Access.EDITOR),
    Route("POST", f"{_PATH}/note", note, Access.EDITOR),
    Route("POST", f"{_PATH}/assign", assign, Access.EDITOR),
    Route("POST", f"{_PATH}/find", find, Access.EDITOR),
    Route("POST", f"{_PATH}/typing", show_typing, Access.EDITOR),
    Route("POST", f"{_PATH}/release", release, Access.EDITOR),
    Route("POST", f"{_PATH}/export", export, Access.OWNER),
    Route("POST", f"{_PATH}/erase", erase, Access.OWNER),
)
