"""The six operations (SPEC.md section 4): from a request that has passed the gates to the body of its 200."""

from __future__ import annotations

from chatsvc.api import bodies, render
from chatsvc.api.gates import Call
from chatsvc.domain import shapes
from chatsvc.usecases import analytics, chatbots, conversations, messages
from chatsvc.usecases.paging import DEFAULT_LIMIT, MAX_LIMIT


async def list_chatbots(call: Call, _: str) -> bytes:
    """GET /chatbots (SPEC.md 4.1)."""
    query = call.request.query
    limit = bodies.integer(query.get("limit"), DEFAULT_LIMIT, MAX_LIMIT)
    cursor = query.get("cursor")
    rendered = call.held.pages
    body = rendered.get((limit, cursor))
    if body is None:
        page = chatbots.page(call.services, call.held, limit, cursor)
        body = render.success([shapes.chatbot(bot) for bot in page.items], pagination=page.pagination())
        if cursor is None:
            rendered[limit, cursor] = body
    return body


async def get_chatbot(call: Call, chatbot_id: str) -> bytes:
    """GET /chatbots/{id} (SPEC.md 4.2)."""
    return render.success(shapes.chatbot(chatbots.find(call.held, chatbot_id)))


async def send_message(call: Call, _: str) -> bytes:
    """POST /messages (SPEC.md 4.3)."""
    message = bodies.parse_message(await bodies.read_body(call.request))
    key = bodies.idempotency_key(call.request)
    return render.success(shapes.exchange(await messages.send(call.services, call.held, message, idempotency_key=key)))


async def list_conversations(call: Call, _: str) -> bytes:
    """GET /conversations (SPEC.md 4.4)."""
    query = call.request.query
    limit = bodies.integer(query.get("limit"), DEFAULT_LIMIT, MAX_LIMIT)
    cursor, chatbot_id, channel = walk = query.get("cursor"), query.get("chatbot_id"), query.get("channel")
    rendered, first = call.held.pages, walk == (None, None, None)
    body = rendered.get(("conversations", limit)) if first else None
    if body is None:
        page = await conversations.page(call.services, call.held, limit, cursor, chatbot_id=chatbot_id, channel=channel)
        body = render.success([shapes.conversation(item) for item in page.items], pagination=page.pagination())
        if first:
            rendered["conversations", limit] = body
    return body


async def get_conversation(call: Call, conversation_id: str) -> bytes:
    """GET /conversations/{id} (SPEC.md 4.5)."""
    limit = bodies.integer(call.request.query.get("message_limit"), conversations.DEFAULT_MESSAGES, conversations.MAX_MESSAGES)
    thread = await conversations.find(call.services, call.held, conversation_id, limit)
    return render.success(shapes.conversation_detail(thread.conversation, thread.messages))


async def get_analytics(call: Call, _: str) -> bytes:
    """GET /analytics (SPEC.md 4.6)."""
    days = bodies.integer(call.request.query.get("days"), analytics.DEFAULT_DAYS, analytics.MAX_DAYS)
    return render.success(await analytics.summary(call.services, call.held, days))
