"""Calls of the widget's frame: send a message, read new messages, rate a reply.

A call identifies its visitor with `Authorization: Visitor TOKEN`. Before the frame has a token, a call sends `Authorization: First KEY`,
where KEY is the Idempotency-Key of the first message. The header `Chatsvc-Site` names the site.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from aiohttp.web import Request, Response

from chatsvc.domain import rich_text, times
from chatsvc.domain.channels import TooManyConversations
from chatsvc.domain.folding import is_storable
from chatsvc.domain.keys import SITE, VISITOR, user_id_of
from chatsvc.domain.models import Message
from chatsvc.domain.rich_text import Span, without_choices
from chatsvc.domain.shapes import parsed
from chatsvc.services.messages.web_visits import MOST_TEXT, Overloaded, WebVisits, Widget, WidgetNews
from chatsvc.web.client_address import share_of
from chatsvc.web.requests import INFO, BodyTooLarge, read_body

MOST_BODY = 32_768
BODY_S = 10.0
_KEY = re.compile(r"[A-Za-z0-9_-]{16,64}")
_MESSAGE = re.compile(r"([0-9a-f-]{36})?")  # the id of a message, or nothing


async def send(visits: WebVisits, widget: Widget, request: Request) -> Response:
    """Answer POST messages. Store the message, wait for the reply, and return all new messages."""
    site, body = _site(widget, request), await _body(request)
    key = request.headers.get("Idempotency-Key", "")
    if not _KEY.fullmatch(key):
        raise CallRefused(400, "key_invalid")
    text, after = body.get("text"), body.get("after")
    if not isinstance(text, str) or not text.strip() or not is_storable(text):
        raise CallRefused(400, "body_invalid")
    if not isinstance(after, str) or not _MESSAGE.fullmatch(after):
        raise CallRefused(400, "body_invalid")
    if len(text) > MOST_TEXT:
        raise CallRefused(413, "text_too_long")
    user_id = _user(widget, request) or user_id_of(widget.key, widget.bot.id, key)
    wait_s = await visits.take_slot(widget, share_of(request[INFO].client_address), sends=True)
    if wait_s is not None:
        raise CallRefused(429, "too_many_messages", wait_s)
    request[INFO].authenticated()
    try:
        if not await visits.send(widget, user_id, text.strip(), key, site):
            raise CallRefused(410, "erased")
    except TooManyConversations:
        today_ms = visits.services.clock() % times.DAY_MS
        raise CallRefused(429, "too_many_conversations", max(1, (times.DAY_MS - today_ms) // 1000)) from None
    except Overloaded:
        raise CallRefused(503, "service_unavailable", 2) from None
    return _answer(widget, user_id, await visits.read(widget, user_id, after))


async def read(visits: WebVisits, widget: Widget, request: Request) -> Response:
    """Answer GET messages with the messages after the message `after`. With `wait` the response is delayed until there is something new.

    With `before`, return only messages before that message, to read a long conversation page by page. `known` is the state that the frame
    shows, such as `operator-1` while an operator is typing.
    """
    _site(widget, request)
    user_id = _user(widget, request)
    if user_id is None:
        raise CallRefused(401, "visitor_unknown")
    query = request.query
    after, before = query.get("after", ""), query.get("before", "")
    if not _MESSAGE.fullmatch(after):
        raise CallRefused(400, "after_invalid")
    if not _MESSAGE.fullmatch(before):
        raise CallRefused(400, "before_invalid")
    types = "typing" in query
    if "wait" not in query:
        return _answer(widget, user_id, await visits.read(widget, user_id, after, before=before, types=types))
    address = share_of(request[INFO].client_address)
    # The key of a first message proves nothing: anybody can invent one. What is not held is counted like any other connection.
    if request.headers.get("Authorization", "").startswith("Visitor ") and visits.may_hold(widget, user_id, address):
        request[INFO].authenticated()
    known, wake_when_ended = query.get("known", ""), request[INFO].wake_when_ended
    return _answer(widget, user_id, await visits.wait(widget, user_id, address, after, known, wake_when_ended, types=types))


async def rate(visits: WebVisits, widget: Widget, request: Request) -> Response:
    """Answer POST feedback. Store the visitor's rating of a reply (thumb up or down), or remove it."""
    _site(widget, request)
    user_id, body = _user(widget, request), await _body(request)
    if user_id is None:
        raise CallRefused(401, "visitor_unknown")
    message, value = body.get("message"), body.get("value")
    if not isinstance(message, str) or not is_storable(message) or not (value is None or isinstance(value, str)):
        raise CallRefused(400, "body_invalid")
    if not await visits.rate(widget, user_id, message, value):
        raise CallRefused(404, "message_unknown")
    return respond({"value": value})


def _site(widget: Widget, request: Request) -> str:
    """Return the site on which the frame was opened. Raise CallRefused if the site may no longer use the widget."""
    site = widget.name_of(SITE, request.headers.get("Chatsvc-Site", ""))
    if site is None or not widget.admits(site):
        raise CallRefused(403, "site_refused")
    return site


def _user(widget: Widget, request: Request) -> str | None:
    """Return the visitor's user_id, or None if the call names no visitor. Raise CallRefused for a wrong token."""
    scheme, _, value = request.headers.get("Authorization", "").partition(" ")
    if scheme == "First" and _KEY.fullmatch(value):
        return user_id_of(widget.key, widget.bot.id, value)
    if scheme != "Visitor":
        return None
    user_id = widget.name_of(VISITOR, value)
    if user_id is None:
        raise CallRefused(401, "visitor_unknown")
    return user_id


async def _body(request: Request) -> dict[str, Any]:
    try:
        body = parsed(await read_body(request, MOST_BODY, BODY_S))
    except BodyTooLarge:
        raise CallRefused(413, "text_too_long") from None
    if body is None:
        raise CallRefused(400, "body_invalid")
    return body


def _answer(widget: Widget, user_id: str, news: WidgetNews | None) -> Response:
    if news is None:
        return respond({"token": None, "messages": [], "handling": "bot", "operator": None, "typing": False, "away": widget.is_away})
    return respond(
        {
            "token": widget.token(VISITOR, user_id),
            "messages": [_message(widget, message, news.pages.get(message.id)) for message in news.messages],
            "handling": news.handling,
            "operator": widget.shown_name(news.operator) if news.operator else news.operator,
            "typing": news.typing,
            "away": widget.is_away,
        }
    )


def _message(widget: Widget, message: Message, page: str | None) -> dict[str, object]:
    choices = json.loads(message.choices) if message.choices else None
    text = without_choices(message.content, choices) if choices else message.content
    spans = shown_spans(rich_text.links(text) if message.role == "user" else rich_text.spans(text))
    # Whether it answers a question, so that a visitor may rate it: forms and notices do not.
    decision = json.loads(message.evidence)["decision"] if message.evidence else "none"
    is_answer = message.feedback is not None or decision in ("answer", None)
    optional = {
        "spans": spans if spans and spans != [message.content] else None,
        "author": widget.shown_name(message.author) if message.author else None,
        "feedback": message.feedback,
        "answer": (message.role == "assistant" and is_answer) or None,
        "choices": choices,
        "source": page,
    }
    always = {"id": message.id, "role": message.role, "text": message.content, "created_at": times.with_millis(message.created_at)}
    return {**always, **{name: value for name, value in optional.items() if value is not None}}


def shown_spans(spans: list[Span]) -> list[object]:
    """Return spans of text as JSON values for the frame's script. A plain span is its text, another span a list `[text, tags, address]`."""
    tags = [(span, [tag for tag, is_so in (("b", span.bold), ("i", span.italic), ("code", span.code)) if is_so]) for span in spans]
    return [[span.text, names, span.link] if names or span.link else span.text for span, names in tags]


def respond(value: object, status: int = 200, more: Mapping[str, str] | None = None) -> Response:
    """Make a JSON response. The parameter `more` contains additional header fields."""
    headers = {"Content-Type": "application/json", "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", **(more or {})}
    return Response(status=status, body=json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(), headers=headers)


class CallRefused(Exception):
    """Error that answers a request with a status and a code. The unit of `retry_after` is seconds."""

    def __init__(self, status: int, code: str, retry_after: int | None = None) -> None:
        super().__init__(code)
        self.status, self.code, self.retry_after = status, code, retry_after
