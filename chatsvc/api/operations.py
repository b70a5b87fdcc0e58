"""The six operations (help/interface.md 5), from an admitted request to the body of its 200 response, and their routes."""

from collections.abc import Awaitable, Callable

from chatsvc.api import bodies, render
from chatsvc.api.gates import RequestContext
from chatsvc.domain import errors, shapes
from chatsvc.domain.paging import DEFAULT_LIMIT, MAX_LIMIT
from chatsvc.services.accounts import analytics, bots
from chatsvc.services.conversations import conversations
from chatsvc.services.messages import messages


async def list_chatbots(context: RequestContext) -> bytes:
    """GET /chatbots (help/interface.md 5.1)."""
    query = context.request.query
    limit = bodies.integer(query.get("limit"), DEFAULT_LIMIT, MAX_LIMIT)
    page = bots.page(context.services, await context.counted(), limit, query.get("cursor"))
    return render.success(list(map(shapes.chatbot, page.items)), pagination=page.pagination())


async def get_chatbot(context: RequestContext) -> bytes:
    """GET /chatbots/{id} (help/interface.md 5.2)."""
    return render.success(shapes.chatbot(bots.find(await context.counted(), context.request.match_info["id"])))


async def send_message(context: RequestContext) -> bytes:
    """POST /messages (help/interface.md 5.3)."""
    message = bodies.parse_message(context.body)
    key = bodies.idempotency_key(context.request)
    return render.success(shapes.exchange(await messages.send(context.services, context.state, message, idempotency_key=key)))


async def list_conversations(context: RequestContext) -> bytes:
    """GET /conversations (help/interface.md 5.4)."""
    query = context.request.query
    limit = bodies.integer(query.get("limit"), DEFAULT_LIMIT, MAX_LIMIT)
    page = await conversations.page(
        context.services,
        context.state,
        limit,
        query.get("cursor"),
        chatbot_id=query.get("chatbot_id"),
        channel=query.get("channel"),
    )
    return render.success(list(map(shapes.conversation, page.items)), pagination=page.pagination())


async def get_conversation(context: RequestContext) -> bytes:
    """GET /conversations/{id} (help/interface.md 5.5)."""
    limit = bodies.integer(context.request.query.get("message_limit"), conversations.DEFAULT_MESSAGES, conversations.MAX_MESSAGES)
    thread = await conversations.find(context.services, context.state, context.request.match_info["id"], limit)
    return render.success(shapes.conversation_detail(thread.conversation, thread.messages))


async def get_analytics(context: RequestContext) -> bytes:
    """GET /analytics (help/interface.md 5.6)."""
    days = bodies.integer(context.request.query.get("days"), analytics.DEFAULT_DAYS, analytics.MAX_DAYS)
    return render.success(shapes.analytics(await analytics.summary(context.services, await context.counted(), days)))


Operation = Callable[[RequestContext], Awaitable[bytes]]

ROUTES: tuple[tuple[str, str, Operation], ...] = (
    ("GET", "/chatbots", list_chatbots),
    ("GET", "/chatbots/{id}", get_chatbot),
    ("POST", "/messages", send_message),
    ("GET", "/conversations", list_conversations),
    ("GET", "/conversations/{id}", get_conversation),
    ("GET", "/analytics", get_analytics),
)
SUPPORTED_ENDPOINTS = [f"{method} {path}" for method, path, _ in ROUTES]


def unknown(method: str, path: str) -> errors.ProblemError:
    return errors.unknown_endpoint(method=method, path=path, supported_endpoints=SUPPORTED_ENDPOINTS)
