"""Conversations: a filtered list, and beside it one conversation with its messages, notes, visitor and actions. Also saved replies."""

import json
import logging
from datetime import datetime, time, timedelta
from heapq import merge
from math import inf
from operator import itemgetter
from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard import localization, records, responses
from chatsvc.dashboard.page import Page, form, status_of, view
from chatsvc.dashboard.responses import with_query
from chatsvc.domain import shapes
from chatsvc.domain.models import BACK, BOT, CHANNELS, WAITING, Entry, Note
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.refusals import Refused
from chatsvc.services.conversations import conversation_team
from chatsvc.services.conversations.conversation_view import ShownConversation, ShownMessage
from chatsvc.services.conversations.conversations import MOST_WAITING, ConversationRow
from chatsvc.store.database import StoreUnavailable
from chatsvc.web.forms import NO_FIELDS, Fields

_FILTERS = ("q", "bot", "channel", "status", "label", "after")
_SNOOZES = ("hours", "tomorrow", "monday")
_MOST_CHOSEN = 100  # conversations changed at once
log = logging.getLogger(__name__)


def _filters(page: Page) -> dict[str, str]:
    return {name: page.query[name] for name in (*_FILTERS, "captured", "sort") if page.query.get(name)}


async def _listed(page: Page, values: dict[str, Any], *, is_beside: bool) -> dict[str, Any]:
    """Return `values` and the filtered list. Beside an open conversation (`is_beside`), refused filters give an empty list, no message."""
    chosen: dict[str, Any] = {name: page.query.get(name) or None for name in _FILTERS}
    captured, sort = bool(page.query.get("captured")), page.query.get("sort", "")
    asked = {**chosen, "captured": captured, "oldest_first": sort == "oldest", "limit": 40}
    try:
        rows: ResultPage[ConversationRow] = await (page.perform if is_beside else page.listed)("conversation.rows", **asked)
    except Refused:
        if not is_beside:
            raise
        rows = ResultPage([], None)
    labels = await page.perform("conversation.labels", account=page.account_id) if page.account_id else []
    is_grouped = not (chosen["status"] or chosen["q"] or captured or chosen["label"])
    waiting = [row for row in rows.items if is_grouped and row.conversation.handling == WAITING]
    back = [row for row in rows.items if is_grouped and row.details.aside == BACK and row not in waiting]
    return {
        **values,
        "chosen": chosen,
        "captured": captured,
        "sort": sort,
        "filters": _filters(page),
        "is_filtered": captured or any(value for name, value in chosen.items() if name != "after"),
        "labels": labels,
        "label_choices": [(label, label) for label in sorted({*labels, *filter(None, [chosen["label"]])})],
        "channels": [(channel, page.text(f"records.channel_{channel}")) for channel in CHANNELS],
        "waiting": waiting,
        "is_cut": len(waiting) == MOST_WAITING,
        "back": back,
        "conversations": [row for row in rows.items if row not in waiting and row not in back],
        "next": rows.next,
    }


@view("conversations.html")
async def show_all(page: Page, _: Fields) -> dict[str, Any]:
    return await _listed(page, await records.values(page), is_beside=False)


@form(show_all)
async def change_many(page: Page, fields: Fields) -> Response:
    """Resolve, assign or label the chosen conversations. If some are refused, change the others and show the last refusal."""
    acts: dict[str, tuple[str, dict[str, str]]] = {
        "assign": ("conversation.assign", {"email": fields.text("email")}),
        "label": ("conversation.label", {"add": fields.text("label")}),
    }
    operation, values = acts.get(fields.text("act"), ("conversation.settle", {}))
    if not page.may(operation):
        return page.fail(403)
    refused = None
    for conversation in fields.all("conversation")[:_MOST_CHOSEN]:
        try:
            await page.perform(operation, conversation=conversation, **values)
        except Refused as refusal:
            if status_of(refusal) not in (422, 429):
                raise
            refused = refusal
    if refused is not None:
        raise refused
    return page.redirect(
        with_query("/conversations", {**_filters(page), "after": None}), done="saved" if fields.all("conversation") else None
    )


async def show(page: Page) -> Response:
    """Show the newest messages of a conversation, or the messages around or before a given one. After a search, go to the message found."""
    if page.query.get("q") and not (page.query.get("message") or page.query.get("before")):
        hit = await page.perform("conversation.find", conversation=page.params["conversation"], q=page.query["q"])
        if hit is not None:
            path = with_query(f"/conversations/{page.params['conversation']}", {"message": hit, **_filters(page)})
            return page.redirect(f"{path}#{hit}")
    return await opened(page)


def _timeline(shown: ShownConversation, zone: str) -> list[dict[str, Any]]:
    """Return the messages and the notes of a conversation, sorted by time, each with its local day."""
    times = [entry.message.created_at for entry in shown.messages]
    first, last = times[0] if shown.view.older else 0, times[-1] if shown.view.newer else inf
    messages: list[tuple[int, ShownMessage | None, Note | None]] = [(entry.message.created_at, entry, None) for entry in shown.messages]
    notes = [(note.created_at, None, note) for note in shown.view.team.notes if first <= note.created_at <= last]
    return [
        {"day": localization.moment(created_at, zone).date(), "created_at": created_at, "message": message, "note": note}
        # Messages stay in their order, also where a clock was set back meanwhile.
        for created_at, message, note in merge(messages, notes, key=itemgetter(0))
    ]


async def _reply_values(page: Page, shown: ShownConversation, reply: Fields) -> dict[str, Any]:
    """Return the values of the form for a reply. A chosen knowledge entry or saved reply is appended to the typed text."""
    question, text, chosen = reply.text("find"), reply.raw("text"), reply.text("insert")
    bot, answers = shown.view.conversation.chatbot_id, list[Entry]()
    if question:
        (searched,) = await page.perform("knowledge.search", bot=bot, questions=[question[:500]])
        answers = [hit.entry for hit in searched.result.hits[:5]]
    saved = await page.perform("saved_reply.list", account=page.account_id) if page.may("conversation.reply") else []
    saved = [reply._replace(text=conversation_team.filled(reply.text, shown.view.conversation.visitor_name)) for reply in saved]
    inserted = [entry.answer for entry in answers if entry.id == chosen]
    inserted += [known.text for known in saved if chosen == "saved" and known.name == reply.text("saved")]
    text = "\n\n".join([text.rstrip(), *inserted]).lstrip("\n") if inserted else text
    return {"answers": answers, "find": question, "text": text, "saved": saved, "yes": "yes" in reply}


# The channel may be removed while a reply is written: the conversation itself exists, so the text is kept.
@view("conversation.html", codes=("channel_not_found",))
async def opened(page: Page, typed: Fields) -> dict[str, Any]:
    shown: ShownConversation = await page.perform(
        "conversation.view",
        conversation=page.params["conversation"],
        around=page.query.get("message") or None,
        before=page.query.get("before") or None,
    )
    last = shown.messages[-1].message.number if shown.messages else 0
    if last > shown.view.seen:
        try:
            await page.perform("conversation.see", conversation=shown.view.conversation.id, message=last)
        except StoreUnavailable as fault:  # the page is shown all the same
            log.warning("what an operator has seen is not stored: %s", fault)
    values = await _listed(page, await records.values(page, typed, shown.view.items), is_beside=True)
    bot = values["bots"].get(shown.view.conversation.chatbot_id)
    zone, now = page.operator.timezone or (bot.timezone if bot else page.timezone), page.services.clock()
    requests = [item.request for item in shown.view.items]
    own_phone = f"+{shown.address.value}" if shown.address and shown.address.kind == "phone" else None
    contact = {
        "names": [shown.view.conversation.visitor_name, *(request.visitor_name for request in requests)],
        "emails": [shown.view.conversation.visitor_email, *(request.visitor_email for request in requests)],
        "phones": [own_phone, shown.view.person.phone, *(request.visitor_phone for request in requests)],
    }
    is_note = page.path.endswith("/note")
    is_reply = not is_note and ("text" in typed or "find" in typed)
    return {
        **values,
        **await _reply_values(page, shown, typed if is_reply else NO_FIELDS),
        "note_text": typed.raw("text") if is_note else "",
        "snoozes": [(name, _until(page, name, "")) for name in _SNOOZES],
        "now": localization.moment(now, page.timezone).strftime("%Y-%m-%dT%H:%M"),
        "timeline": _timeline(shown, zone),
        # Each once.
        "contact": {kind: list(dict.fromkeys(filter(None, given))) for kind, given in contact.items()},
        "is_writable": shown.writable_until is None or now < shown.writable_until,
        "steady": shown.typing or shown.colleagues or shown.view.conversation.handling != BOT,
        "shown": shown,
        "conversation": shown.view.conversation,
        "bot": bot,
        "zone": zone,
    }


@form(opened)
async def change(page: Page, fields: Fields) -> Response:
    await records.change(page, fields)
    return page.redirect(with_query(f"/conversations/{page.params['conversation']}", {**_filters(page), "q": None}), done="saved")


async def export(page: Page) -> Response:
    exported = await page.perform("conversation.export", conversation=page.params["conversation"])
    (part,) = exported.parts
    key, phone = part.conversation.id, exported.phones.get(part.conversation.id)
    detail = shapes.conversation_detail(part.conversation, part.messages) | ({} if phone is None else {"visitor_phone": phone})
    detail["notes"] = [shapes.note(note) for note in exported.notes.get(key, [])]
    body = json.dumps(detail, ensure_ascii=False, indent=2).encode()
    return page.download(body, "application/json; charset=utf-8", f"conversation-{key}.json")


async def show_typing(page: Page) -> Response:
    await page.perform("conversation.type", conversation=page.params["conversation"])
    return responses.respond(204, b"")


async def find(page: Page) -> Response:
    """Search the knowledge for a reply, or append a found entry to the reply."""
    return await opened(page, await page.form()) if page.may("conversation.reply") else page.fail(403)


async def act(page: Page) -> Response:
    """Perform the action that the path names, and redirect. If it is refused, show the conversation again with the typed values."""
    fields, name = await page.form(), page.path.rpartition("/")[2]
    # With the filters of the list; without the search, which leads to a message.
    here = with_query(f"/conversations/{page.params['conversation']}", {**_filters(page), "q": None})
    writing, listed, yes = f"{here}#write", with_query("/conversations", _filters(page)), "yes" in fields
    acts: dict[str, tuple[str, str | None, dict[str, Any]]] = {
        "take": (writing, None, {"yes": yes}),
        "reply": (writing, None, {"text": fields.raw("text"), "yes": yes}),
        "note": (here, None, {"text": fields.raw("text")}),
        "assign": (here, "saved", {"email": fields.text("email")}),
        "release": (here, "released", {"yes": yes}),
        "settle": (listed, "resolved", {}),
        "reopen": (here, "reopened", {}),
        "label": (here, None, {"add": fields.text("add"), "remove": fields.text("remove")}),
        "snooze": (listed, "snoozed", {"until": _until(page, fields.text("until"), fields.text("time"))}),
    }
    path, done, values = acts[name]
    try:
        await page.perform(f"conversation.{name}", conversation=page.params["conversation"], **values)
    except Refused as refusal:
        return await opened.refuse(page, refusal, fields)
    return page.redirect(path, done=done)


def _until(page: Page, name: str, typed: str) -> int:
    """Return the time until which a form snoozes a conversation, in Unix milliseconds. Return 0 if the typed time cannot be read."""
    now = localization.moment(page.services.clock(), page.timezone)
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


@form(opened)
async def erase(page: Page, fields: Fields) -> Response:
    page.require_confirmation("conversation.erase", fields)
    await page.perform("conversation.erase", user_id=fields.raw("user_id"), bot=fields.text("bot"))
    return page.redirect("/conversations", done="removed")


@view("replies.html")
async def show_replies(page: Page, typed: Fields) -> dict[str, Any]:
    saved = await page.perform("saved_reply.list", account=page.account_id)
    return {"saved": saved, "name": typed.text("name") if "text" in typed else "", "text": typed.raw("text")}


@form(show_replies)
async def save_reply(page: Page, fields: Fields) -> Response:
    await page.perform("saved_reply.set", account=page.account_id, name=fields.text("name"), text=fields.raw("text"))
    return page.redirect("/replies", done="saved")


@form(show_replies)
async def remove_reply(page: Page, fields: Fields) -> Response:
    await page.perform("saved_reply.remove", account=page.account_id, name=fields.text("name"))
    return page.redirect("/replies", done="removed")
