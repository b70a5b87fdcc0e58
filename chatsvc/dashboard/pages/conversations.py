"""Conversations: the list with search and filters, and beside it one with its messages, notes, hand-off, visitor, export and erasure."""

import json
import logging
from collections.abc import Callable
from datetime import datetime, time, timedelta
from functools import cache
from typing import Any, NamedTuple

from aiohttp.web import Response

from chatsvc import translations
from chatsvc.dashboard import formats, records, responses
from chatsvc.dashboard.fields import NO_FIELDS, Fields
from chatsvc.dashboard.local_paths import with_query
from chatsvc.dashboard.page import Page, is_about_form
from chatsvc.dashboard.views import Action, View
from chatsvc.domain import shapes
from chatsvc.domain.hand_off import BACK, BOT, WAITING
from chatsvc.domain.models import CHANNELS, Entry, Note
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.refusals import Refused
from chatsvc.services.conversations import conversation_team
from chatsvc.services.conversations.conversation_view import ShownConversation, ShownMessage
from chatsvc.services.conversations.conversations import MOST_WAITING, ConversationRow
from chatsvc.store.database import StoreUnavailable

_FILTERS = ("q", "bot", "channel", "status", "label", "after")
_SNOOZES = ("hours", "tomorrow", "monday")
log = logging.getLogger(__name__)

_ERROR = "conversation.error_"
_MOST_CHOSEN = 100  # conversations changed at once


def _kept(page: Page) -> dict[str, str]:
    """Return the filters of the list that the page's address has."""
    return {name: page.query[name] for name in (*_FILTERS, "captured", "sort") if page.query.get(name)}


async def _filters(page: Page) -> dict[str, Any]:
    chosen = {name: page.query.get(name) or None for name in _FILTERS}
    captured = bool(page.query.get("captured"))
    bots = await records.bots_of(page)
    labels = await page.perform("conversation.labels", account=page.account_id) if page.account_id else []
    return {
        "chosen": chosen,
        "captured": captured,
        "label_choices": [(one, one) for one in sorted({*labels, *filter(None, [chosen["label"]])})],
        "sort": page.query.get("sort", ""),
        "labels": labels,
        "people": await records.people(page) if page.account_id and page.may("conversation.assign") else [],
        "kept": _kept(page),
        "is_filtered": captured or any(value for name, value in chosen.items() if name != "after"),
        "bots": bots,
        "bot_names": [(bot.id, bot.name) for bot in bots.values()],
        "channels": [(one, page.text(f"records.channel_{one}")) for one in CHANNELS],
    }


def _chosen(page: Page) -> dict[str, Any]:
    chosen: dict[str, Any] = {name: page.query.get(name) or None for name in _FILTERS}
    return {**chosen, "captured": bool(page.query.get("captured")), "oldest_first": page.query.get("sort") == "oldest", "limit": 40}


def _rows(page: Page, found: ResultPage[ConversationRow]) -> dict[str, Any]:
    chosen = _chosen(page)
    is_grouped = not (chosen["status"] or chosen["q"] or chosen["captured"] or chosen["label"])
    waiting = [one for one in found.items if is_grouped and one.conversation.handling == WAITING]
    back = [one for one in found.items if is_grouped and one.details.aside == BACK and one not in waiting]
    others = [one for one in found.items if one not in waiting and one not in back]
    return {"waiting": waiting, "back": back, "is_cut": len(waiting) == MOST_WAITING, "conversations": others, "next": found.next}


async def _beside(page: Page) -> dict[str, Any]:
    """Return what the list beside an open conversation needs. Filters that are refused show no rows."""
    try:
        found = await page.perform("conversation.rows", **_chosen(page))
    except Refused:
        found = ResultPage[ConversationRow]([], None)
    return {**await _filters(page), **_rows(page, found)}


async def _list(page: Page, _: Fields) -> dict[str, Any]:
    return {**await _filters(page), **_rows(page, await page.listed("conversation.rows", **_chosen(page)))}


show_all = View("conversations.html", _list)


async def change_many(page: Page) -> Response:
    """Resolve, assign or label the chosen conversations. Those that are refused stay chosen, below the reason."""
    fields = await page.form()
    acts: dict[str, tuple[str, dict[str, str]]] = {
        "assign": ("conversation.assign", {"email": fields.text("email")}),
        "label": ("conversation.label", {"add": fields.text("label")}),
    }
    operation, values = acts.get(fields.text("act"), ("conversation.settle", {}))
    if not page.may(operation):
        return page.fail(403)
    refusal = None
    for conversation in fields.all("conversation")[:_MOST_CHOSEN]:
        try:
            await page.perform(operation, conversation=conversation, **values)
        except Refused as fault:
            if not is_about_form(fault):
                raise
            refusal = fault
    if refusal is not None:
        return await show_all.refuse(page, refusal, fields)
    return page.redirect(with_query("/conversations", {**_kept(page), "after": None}), done="saved" if fields.all("conversation") else None)


async def show(page: Page) -> Response:
    """Show the newest messages, or those around or before one. A search leads to the message found."""
    if page.query.get("q") and not (page.query.get("message") or page.query.get("before")):
        hit = await page.perform("conversation.find", conversation=page.params["conversation"], q=page.query["q"])
        if hit is not None:
            path = with_query(f"/conversations/{page.params['conversation']}", {"message": hit, **_kept(page)})
            return page.redirect(f"{path}#{hit}")
    return await view(page)


async def change(page: Page) -> Response:
    fields = await page.form()
    try:
        await records.change(page, fields)
    except Refused as fault:
        return await view.refuse(page, fault, fields)
    return page.redirect(_here(page), done="saved")


async def export(page: Page) -> Response:
    conversation = page.params["conversation"]
    exported = await page.perform("conversation.export", conversation=conversation)
    (part,) = exported.parts
    phone, notes = exported.phones.get(part.conversation.id), exported.notes.get(part.conversation.id, [])
    written = shapes.conversation_detail(part.conversation, part.messages) | ({} if phone is None else {"visitor_phone": phone})
    written["notes"] = [shapes.note(one) for one in notes]
    body = json.dumps(written, ensure_ascii=False, indent=2).encode()
    return page.download(body, "application/json; charset=utf-8", f"conversation-{part.conversation.id}.json")


async def show_typing(page: Page) -> Response:
    await page.perform("conversation.type", conversation=page.params["conversation"])
    return responses.respond(204, b"", responses.HTML)


def _here(page: Page) -> str:
    """Return the address of the conversation with the filters of the list. Without the search, which leads to a message."""
    return with_query(f"/conversations/{page.params['conversation']}", {**_kept(page), "q": None})


def _writing(page: Page) -> str:
    return f"{_here(page)}#write"


def _list_of(page: Page) -> str:
    """Return the address of the list with its filters, where the next conversation is chosen."""
    return with_query("/conversations", _kept(page))


async def find(page: Page) -> Response:
    """Search the knowledge for a reply, or append an entry to it."""
    if not page.may("conversation.reply"):
        return page.fail(403)
    return await view.show(page, await page.form())


async def _answers(page: Page, bot: str, question: str) -> list[Entry]:
    """Search the bot's knowledge for an answer to insert."""
    if not question.strip():
        return []
    (found,) = await page.perform("knowledge.search", bot=bot, questions=[question.strip()[:500]])
    return [hit.entry for hit in found.result.hits[:5]]


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
        "phones": [*phones, found.person.phone, *(request.visitor_phone for request in requests)],
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


async def _reply_values(page: Page, found: ShownConversation, reply: Fields) -> dict[str, Any]:
    """Return the values of the form for a reply. An entry or a saved reply that was chosen is appended to the text."""
    question, text, chosen = reply.text("find"), reply.raw("text"), reply.text("insert")
    answers = await _answers(page, found.conversation.chatbot_id, question)
    saved = await page.perform("saved_reply.list", account=page.account_id) if page.may("conversation.reply") else []
    saved = [one._replace(text=conversation_team.filled(one.text, found.conversation.visitor_name)) for one in saved]
    inserted = [entry.answer for entry in answers if entry.id == chosen]
    inserted += [one.text for one in saved if chosen == "saved" and one.name == reply.text("saved")]
    text = "\n\n".join([text.rstrip(), *inserted]).lstrip("\n") if inserted else text
    return {"answers": answers, "find": question, "text": text, "saved": saved, "yes": reply.checked("yes")}


async def _values(page: Page, typed: Fields) -> dict[str, Any]:
    found: ShownConversation = await page.perform(
        "conversation.view",
        conversation=page.params["conversation"],
        around=page.query.get("message") or None,
        before=page.query.get("before") or None,
    )
    await _see(page, found)
    values = await records.values(page, typed, found.items) | await _beside(page)
    bot = values["bots"].get(found.conversation.chatbot_id)
    zone = page.operator.timezone or (bot.timezone if bot else page.timezone)
    is_note = page.path.endswith("/note")
    is_reply = not is_note and ("text" in typed or "find" in typed)
    return {
        **values,
        **await _reply_values(page, found, typed if is_reply else NO_FIELDS),
        "note_text": typed.raw("text") if is_note else "",
        "snoozes": [(name, _until(page, name, "")) for name in _SNOOZES],
        "now": formats.moment(page.services.clock(), page.timezone).strftime("%Y-%m-%dT%H:%M"),
        "timeline": _timeline(page, found, zone),
        "contact": _contact(found),
        "is_writable": found.writable_until is None or page.services.clock() < found.writable_until,
        "explained": _explained(),
        "steady": found.typing or found.colleagues or found.conversation.handling != BOT,
        "found": found,
        "conversation": found.conversation,
        "bot": bot,
        "zone": zone,
    }


# The channel may be removed while a reply is written: the conversation itself exists, so the text is kept.
view = View("conversation.html", _values, kept=("channel_not_found",))


async def _act(page: Page, operation: str, to: Callable[[Page], str], done: str | None = None, **values: Any) -> Response:
    """Perform an operation on the conversation of the path, then lead there; a refusal is shown above what was typed."""
    try:
        await page.perform(operation, conversation=page.params["conversation"], **values)
    except Refused as fault:
        return await view.refuse(page, fault, await page.form())
    return page.redirect(to(page), done=done)


async def take(page: Page) -> Response:
    return await _act(page, "conversation.take", _writing, yes=(await page.form()).checked("yes"))


async def reply(page: Page) -> Response:
    fields = await page.form()
    return await _act(page, "conversation.reply", _writing, text=fields.raw("text"), yes=fields.checked("yes"))


async def note(page: Page) -> Response:
    return await _act(page, "conversation.note", _here, text=(await page.form()).raw("text"))


async def assign(page: Page) -> Response:
    return await _act(page, "conversation.assign", _here, "saved", email=(await page.form()).text("email"))


async def release(page: Page) -> Response:
    return await _act(page, "conversation.release", _here, "released", yes=(await page.form()).checked("yes"))


async def settle(page: Page) -> Response:
    return await _act(page, "conversation.settle", _list_of, "resolved")


async def reopen(page: Page) -> Response:
    return await _act(page, "conversation.reopen", _here, "reopened")


async def snooze(page: Page) -> Response:
    """Set the conversation aside for a while: until a time that is named or typed, in the operator's zone."""
    fields = await page.form()
    until = _until(page, fields.text("until"), fields.text("time"))
    return await _act(page, "conversation.snooze", _list_of, "snoozed", until=until)


def _until(page: Page, name: str, typed: str) -> int:
    """Return the time that a form names, 0 for one that cannot be read."""
    now = formats.moment(page.services.clock(), page.timezone)
    if name == "hours":
        wanted = now + timedelta(hours=3)
    elif name in _SNOOZES:
        days = 1 if name == "tomorrow" else 7 - now.weekday()
        wanted = datetime.combine(now.date() + timedelta(days=days), time(9), now.tzinfo)
    else:
        try:
            wanted = datetime.fromisoformat(typed).replace(tzinfo=now.tzinfo)
        except ValueError:
            return 0
    return int(wanted.timestamp() * 1000)


async def label(page: Page) -> Response:
    fields = await page.form()
    return await _act(page, "conversation.label", _here, add=fields.text("add"), remove=fields.text("remove"))


erase = Action("conversation.erase", view, "user_id:raw bot", to="/conversations", done="removed", confirm=True)
