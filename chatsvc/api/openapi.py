"""OpenAPI 3.1 document of the interface, generated from the tables that the interface itself uses."""

from chatsvc.api import BASE_PATH, bodies
from chatsvc.domain import language
from chatsvc.domain.captures import APPOINTMENT_STATUSES, REQUEST_STATUSES, REQUEST_TYPES
from chatsvc.domain.errors import PROBLEMS, QUOTA_REASONS, REPLY_FAILURES, RETRYABLE_REASONS, Problem
from chatsvc.domain.limiter import WINDOW_S
from chatsvc.domain.models import CHANNELS, SUBSCRIPTION_STATUSES
from chatsvc.domain.paging import DEFAULT_LIMIT, MAX_DEPTH, MAX_LIMIT
from chatsvc.domain.webhooks import SUBSCRIBED, TEST
from chatsvc.services.accounts import analytics
from chatsvc.services.conversations import conversations

Schema = dict[str, object]

TEXT: Schema = {"type": "string"}
MAYBE: Schema = {"type": ["string", "null"]}
COUNT: Schema = {"type": "integer", "minimum": 0}
_PRINTABLE = "^[^\\u0000]*$"


def _open(*values: str, description: str = "") -> Schema:
    """Make the schema of a word of a few, to which later versions may add."""
    text = f"{description} One of {', '.join(f'`{value}`' for value in values)}; more may come."
    return {"type": "string", "description": text.strip(), "examples": list(values), "x-extensible-enum": list(values)}


# Kinds of fields.
_KINDS: dict[str, Schema] = {
    "text": TEXT,
    "text?": MAYBE,
    "count": COUNT,
    "count?": {"type": ["integer", "null"]},
    "flag": {"type": "boolean"},
    "id": {"type": "string", "format": "uuid"},
    "channel": _open(*CHANNELS),
    "second": {"type": "string", "format": "date-time", "examples": ["2026-11-20T15:14:28Z"]},
    "instant": {"type": "string", "format": "date-time", "examples": ["2026-11-20T15:14:28.123Z"]},
    "unmarked": {
        "type": "string",
        "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}$",
        "description": "UTC, without a designator.",
        "examples": ["2026-11-20T15:14:28.123"],
    },
}


def _object(about: str, fields: str, **kinds: Schema) -> Schema:
    """Make the schema of an object. Its fields are `name:kind`, or `name` where the kind has the same name; `kinds` are more of them."""
    pairs = [field.partition(":") for field in fields.split()]
    properties = {name: {**_KINDS, **kinds}[kind or name] for name, _, kind in pairs}
    return {"type": "object", "description": about, "required": list(properties), "properties": properties}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _list_of(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def _data(data: Schema) -> Schema:
    return _object("A successful answer.", "success:flag data", data=data)


def _page(name: str) -> Schema:
    data: Schema = {**_list_of(_ref(name)), "maxItems": MAX_LIMIT}
    return _object("One page of a list.", "success:flag data pagination", data=data, pagination=_ref("Pagination"))


def _delivery(data: Schema) -> Schema:
    return _object(
        "The body of a webhook's request.",
        "event delivery_id:id created_at:instant bot_id:id data",
        event=_open(*SUBSCRIBED, TEST),
        data=data,
    )


_VISITOR = "message:text visitor_name:text? visitor_email:text? visitor_phone:text?"
SCHEMAS: dict[str, Schema] = {
    "Chatbot": _object(
        "A chatbot of the account.",
        "id name:text description:text? model active messages_used:count created_at:second updated_at:second",
        model={**TEXT, "description": "The name of a model tier."},
        active={"type": "boolean", "description": "False: it accepts no messages."},
    ),
    "Exchange": _object(
        "A message and its reply.",
        "chatbot_id:id user_id:text session_id channel message:text reply created_at:instant",
        session_id={**TEXT, "description": "The channel and the user id, joined by a colon."},
        reply={**TEXT, "minLength": 1},
    ),
    "Message": _object(
        "A message of a conversation.",
        "id role content:text created_at:instant",
        role=_open("user", "assistant", "operator", description="The visitor, the bot, or a person of the team."),
    ),
    "Conversation": _object(
        "A conversation of one visitor with one bot on one channel.",
        "id chatbot_id:id channel user_id session_id:text visitor_name:text? visitor_email:text? last_message_at:unmarked"
        " created_at:unmarked updated_at:unmarked",
        user_id={**TEXT, "description": "The visitor; on the channel `api`, what was sent as `user_id`."},
    ),
    "ConversationDetail": {
        "description": "A conversation with its newest messages.",
        "allOf": [
            _ref("Conversation"),
            _object(
                "What a single conversation adds.",
                "message_count messages messages_truncated:flag",
                message_count={**COUNT, "description": "All messages of the conversation."},
                messages={
                    **_list_of(_ref("Message")),
                    "maxItems": conversations.MAX_MESSAGES,
                    "description": "The newest, oldest first.",
                },
            ),
        ],
    },
    "Pagination": _object(
        "Where a page stands in its list.",
        "limit returned:count total:count has_more:flag next_cursor",
        limit={"type": "integer", "minimum": 1, "maximum": MAX_LIMIT},
        next_cursor={**MAYBE, "description": "The `cursor` of the next page; null on the last one."},
    ),
    "Account": _object(
        "Plan and allowance of the account.",
        "plan:text? plan_version:count? subscription_status messages_used:count messages_limit plan_message_limit plan_bot_limit:count?"
        " message_credits:count",
        subscription_status=_open(*SUBSCRIPTION_STATUSES),
        messages_limit={**COUNT, "description": "What the account may send in a month."},
        plan_message_limit={"type": ["integer", "null"], "description": "What the plan sells; it may differ from `messages_limit`."},
    ),
    "ChatbotUsage": _object("Usage of one bot.", "id name:text active:flag messages_used_total:count messages_in_window:count"),
    "DayUsage": _object("Usage of one day.", "day messages:count", day={"type": "string", "format": "date"}),
    "Usage": _object(
        "Usage of the window.",
        "window_days from:instant to:instant covers_from truncated row_cap:count total_messages:count total_tokens:count total_cost_usd"
        " by_day",
        window_days={"type": "integer", "minimum": 1, "maximum": analytics.MAX_DAYS},
        covers_from={**_KINDS["instant"], "description": "The first moment that the totals cover."},
        truncated={"type": "boolean", "description": "True if the window has more records than `row_cap`."},
        total_cost_usd={"type": "number", "minimum": 0},
        by_day=_list_of(_ref("DayUsage")),
    ),
    "Analytics": _object(
        "Usage of the account.",
        "account chatbots usage",
        account=_ref("Account"),
        chatbots=_list_of(_ref("ChatbotUsage")),
        usage=_ref("Usage"),
    ),
    "ChatbotList": _page("Chatbot"),
    "ChatbotAnswer": _data(_ref("Chatbot")),
    "ExchangeAnswer": _data(_ref("Exchange")),
    "ConversationList": _page("Conversation"),
    "ConversationAnswer": _data(_ref("ConversationDetail")),
    "AnalyticsAnswer": _data(_ref("Analytics")),
    "Request": _object(
        "A captured request.",
        f"id request_type status {_VISITOR} source_page_host:text created_at:instant",
        request_type=_open(*REQUEST_TYPES),
        status=_open(*REQUEST_STATUSES),
    ),
    "Appointment": _object(
        "A captured appointment.",
        f"id request_id:id status {_VISITOR} appointment_date appointment_time appointment_at:instant source_page_host:text"
        " created_at:instant",
        status=_open(*APPOINTMENT_STATUSES),
        appointment_date={"type": "string", "format": "date", "description": "In the bot's time zone."},
        appointment_time={"type": "string", "pattern": r"^\d\d:\d\d$", "description": "In the bot's time zone."},
    ),
    "TestRequest": {
        "description": "A request that was made up for a test.",
        "allOf": [_ref("Request"), _object("The mark of a test.", "is_test:flag")],
    },
    "RequestCreated": _delivery(_ref("Request")),
    "AppointmentCreated": _delivery(_ref("Appointment")),
    "WebhookTest": _delivery(_ref("TestRequest")),
}
SEND_MESSAGE: Schema = {
    "type": "object",
    "description": "A message to a bot. Another field is `invalid_json`.",
    "required": ["chatbot_id", "message"],
    "additionalProperties": False,
    "properties": {
        "chatbot_id": {"type": "string", "minLength": 1, "pattern": _PRINTABLE, "description": "The id of the bot."},
        "message": {
            "type": "string",
            "maxLength": bodies.MAX_MESSAGE,
            "pattern": "^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$",
            "description": "Not only white space; characters are Unicode code points.",
        },
        "user_id": {
            "type": ["string", "null"],
            "maxLength": bodies.MAX_USER_ID,
            "pattern": _PRINTABLE,
            "description": "Who writes. Left out or empty, a random one is made, which continues the conversation when it is sent again.",
        },
        "language": {
            "type": ["string", "null"],
            "pattern": f"^({language.PATTERN})?$",
            "description": "A BCP 47 tag; overrides the detection of the language.",
            "examples": ["tr", "en-GB"],
        },
    },
    "examples": [{"chatbot_id": "<chatbot_id>", "message": "Are you open on Saturdays?", "user_id": "visitor-42"}],
}
# The types of what single errors add to the envelope.
_EXTRA: dict[str, Schema] = {
    "max_chars": {**COUNT, "examples": [bodies.MAX_MESSAGE]},
    "required_plan": MAYBE,
    "feature": {**TEXT, "examples": ["rest_api"]},
    "plan": MAYBE,
    "limit": COUNT,
    "window_seconds": {**COUNT, "examples": [WINDOW_S]},
    "max_offset": {**COUNT, "examples": [MAX_DEPTH]},
    "chatbot_id": TEXT,
    "allow": _list_of(TEXT),
    "method": TEXT,
    "path": TEXT,
    "supported_endpoints": _list_of(TEXT),
}
_REASONS = {402: QUOTA_REASONS, 502: REPLY_FAILURES}
ERROR = _object(
    "An error. `message` is for people, in Turkish; `message_en` in English. Some codes add fields.",
    "success:flag error message:text message_en:text",
    error=_open(*PROBLEMS, description="The code."),
)


def _title(code: str) -> str:
    return "".join(word.capitalize() for word in code.split("_")) + "Error"


def _problem(problem: Problem) -> Schema:
    """Describe an error that adds fields to the envelope."""
    reason = _open(*_REASONS.get(problem.status, ()), description="The exact cause.")
    extra = _object("What this code adds.", " ".join(problem.extra), **_EXTRA, reason=reason)
    return {"description": f"`{problem.code}`: {problem.text('en')}", "allOf": [_ref("Error"), extra]}


_GATES = (
    *("missing_api_key", "invalid_api_key", "account_not_found", "plan_required", "plan_upgrade_required", "rate_limit_exceeded"),
    *("internal_error", "auth_backend_unavailable", "rate_limit_unavailable", "service_unavailable"),
)
_CURSOR = ("invalid_cursor", "cursor_out_of_range")
_SENDING = (
    *("invalid_json", "missing_chatbot_id", "missing_message", "message_too_long", "chatbot_not_found", "chatbot_inactive"),
    *("message_quota_exceeded", "assistant_unavailable", "assistant_empty_reply"),
)
NEVER_OF_AN_OPERATION = ("unknown_endpoint", "method_not_allowed")


def _parameter(name: str, description: str, schema: Schema = TEXT) -> Schema:
    return {"name": name, "in": "query", "description": description, "schema": schema}


def _integer(name: str, default: int, most: int) -> Schema:
    """Describe a count in the query. It is clamped, or ignored where it is no number: nothing is an error."""
    text = f"1 to {most}. Out of range it is clamped; what is no integer counts as {default}."
    return _parameter(name, text, {"type": "integer", "minimum": 1, "maximum": most, "default": default})


def _id(of: str) -> Schema:
    return {"name": "id", "in": "path", "required": True, "description": f"The id of the {of}.", "schema": TEXT}


def _headers(*more: tuple[str, str, Schema]) -> Schema:
    number: Schema = {"type": "integer"}
    return {
        name: {"required": True, "description": text, "schema": kind}
        for name, text, kind in (
            ("X-Request-Id", "Names the request in the service's log.", TEXT),
            ("X-RateLimit-Limit", "Requests a minute.", number),
            ("X-RateLimit-Remaining", "Requests left in this minute.", number),
            ("X-RateLimit-Reset", "The minute's end, in Unix seconds.", number),
            *more,
        )
    }


_HEADERS_OF = {
    401: ("WWW-Authenticate", "The scheme to authenticate with: Bearer.", TEXT),
    429: ("Retry-After", "Seconds to wait.", {"type": "integer"}),
}


def _response(description: str, schema: Schema, headers: Schema) -> Schema:
    return {"description": description, "headers": headers, "content": {"application/json": {"schema": schema}}}


def _operation(name: str, tag: str, summary: str, answer: str, parameters: tuple[Schema, ...], problems: tuple[str, ...]) -> Schema:
    responses: dict[str, Schema] = {"200": _response("Done.", _ref(answer), _headers())}
    codes: dict[int, list[str]] = {}
    for code in (*_GATES, *problems):
        codes.setdefault(PROBLEMS[code].status, []).append(code)
    for status, those in sorted(codes.items()):
        description = "\n".join(f"- `{code}`: {PROBLEMS[code].text('en')}" for code in those)
        names = dict.fromkeys(_title(code) if PROBLEMS[code].extra else "Error" for code in those)
        schemas = [_ref(name) for name in sorted(names, key="Error".__eq__)]
        more = (_HEADERS_OF[status],) if status in _HEADERS_OF else ()
        responses[str(status)] = {
            **_response(description, schemas[0] if len(schemas) == 1 else {"anyOf": schemas}, _headers(*more)),
            "x-error-codes": those,
        }
    return {
        "operationId": name,
        "tags": [tag],
        "summary": summary,
        "description": f"{summary}. Section 5 of the manual's page on the interface describes it whole.",
        "parameters": list(parameters),
        "responses": responses,
    }


def _operations() -> dict[str, Schema]:
    """Describe the operations by method and path, in the order of their routes."""
    page = (_integer("limit", DEFAULT_LIMIT, MAX_LIMIT), _parameter("cursor", "The `next_cursor` of the page before, as it was received."))
    only = (
        _parameter("chatbot_id", "Only those of this bot."),
        _parameter("channel", f"Only those of this channel: {', '.join(CHANNELS)}."),
    )
    key: Schema = {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "The same key with the same body within 24 hours gives the first answer again, charged once.",
        "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
    }
    thread = (_id("conversation"), _integer("message_limit", conversations.DEFAULT_MESSAGES, conversations.MAX_MESSAGES))
    days = (_integer("days", analytics.DEFAULT_DAYS, analytics.MAX_DAYS),)
    newest = "List the account's conversations, the one with the newest message first"
    bot, listing = ("chatbot_not_found",), (*_CURSOR, "chatbot_not_found")
    whole = "Get one conversation with its newest messages"
    body = {"required": True, "content": {"application/json": {"schema": _ref("SendMessage")}}}
    sending = _operation("send_message", "messages", "Send a message to a bot and get its reply", "ExchangeAnswer", (key,), _SENDING)
    return {
        "GET /chatbots": _operation("list_chatbots", "chatbots", "List the account's chatbots, newest first", "ChatbotList", page, _CURSOR),
        "GET /chatbots/{id}": _operation("get_chatbot", "chatbots", "Get one chatbot", "ChatbotAnswer", (_id("bot"),), bot),
        "POST /messages": {**sending, "requestBody": body},
        "GET /conversations": _operation("list_conversations", "conversations", newest, "ConversationList", (*page, *only), listing),
        "GET /conversations/{id}": _operation(
            "get_conversation", "conversations", whole, "ConversationAnswer", thread, ("conversation_not_found",)
        ),
        "GET /analytics": _operation(
            "get_analytics", "analytics", "Get the account's usage over the last days", "AnalyticsAnswer", days, ()
        ),
    }


def _webhook(event: str, schema: str) -> Schema:
    """Describe the request that a bot's webhook gets."""
    headers = (
        ("X-Service-Event", "The event."),
        ("X-Service-Delivery", "The id of this attempt, as `delivery_id`."),
        ("X-Service-Signature", "`sha256=` and the HMAC-SHA256 of the body in hex, under the webhook's signing key."),
    )
    return {
        "post": {
            "operationId": "on_" + event.replace(".", "_"),
            "tags": ["webhooks"],
            "summary": f"The event {event}",
            "description": "Sent to the address of a bot's webhook. Verify the signature, answer 2xx within 10 seconds, and recognise"
            " duplicates by `data.id`.",
            "security": [],
            "parameters": [{"name": name, "in": "header", "required": True, "description": text, "schema": TEXT} for name, text in headers],
            "requestBody": {"required": True, "content": {"application/json": {"schema": _ref(schema)}}},
            "responses": {"2XX": {"description": "Received."}, "default": {"description": "A failure; nothing is sent again by itself."}},
        }
    }


_ABOUT = """Chatbots, conversations, messages with the bot's reply, and usage, from server to server.

Within version 2 fields, codes and values may be added, and nothing is removed. Unknown paths are 404 `unknown_endpoint`, other methods 405
`method_not_allowed`; a request whose head cannot be read is 400 `invalid_json`. Repeat what `x-retryable` names, a POST under the same
Idempotency-Key."""


def document(base_url: str) -> Schema:
    """Return the OpenAPI document; `base_url` ends with the version segment."""
    paths: dict[str, Schema] = {}
    for route, operation in _operations().items():
        method, path = route.split()
        paths.setdefault(path, {})[method.lower()] = operation
    schemas = {_title(code): _problem(problem) for code, problem in PROBLEMS.items() if problem.extra}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "chatsvc",
            "version": BASE_PATH.rpartition("v")[2],
            "summary": "The interface of a chatbot messaging service.",
            "description": _ABOUT,
        },
        "servers": [{"url": base_url}],
        "security": [{"api_key": []}],
        "tags": [
            {"name": "chatbots", "description": "The account's bots."},
            {"name": "messages", "description": "Messages to a bot."},
            {"name": "conversations", "description": "Conversations of all channels."},
            {"name": "analytics", "description": "Usage, tokens and cost."},
            {"name": "webhooks", "description": "What the service sends to your server."},
        ],
        "paths": paths,
        "webhooks": {
            "request.created": _webhook("request.created", "RequestCreated"),
            "appointment.created": _webhook("appointment.created", "AppointmentCreated"),
            TEST: _webhook(TEST, "WebhookTest"),
        },
        "components": {
            "securitySchemes": {"api_key": {"type": "http", "scheme": "bearer", "description": "An API key of the account."}},
            "schemas": {**SCHEMAS, "SendMessage": SEND_MESSAGE, "Error": ERROR, **schemas},
        },
        "x-retryable": {
            "error": [code for code, problem in PROBLEMS.items() if problem.retryable],
            "reason": list(RETRYABLE_REASONS),
        },
    }
