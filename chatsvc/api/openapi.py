"""OpenAPI 3.1 document of the interface, generated from the tables that the interface itself uses."""

from chatsvc.api import BASE_PATH, bodies
from chatsvc.domain import language
from chatsvc.domain.errors import PROBLEMS, Problem
from chatsvc.domain.limiter import WINDOW_S
from chatsvc.domain.models import CHANNELS, SUBSCRIPTION_STATUSES
from chatsvc.domain.paging import DEFAULT_LIMIT, MAX_DEPTH, MAX_LIMIT
from chatsvc.services.accounts import analytics
from chatsvc.services.conversations import conversations

Schema = dict[str, object]

TEXT: Schema = {"type": "string"}
MAYBE: Schema = {"type": ["string", "null"]}
COUNT: Schema = {"type": "integer", "minimum": 0}
_DATE = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"
_PRINTABLE = "^[^\\u0000]*$"
# Kinds of fields.
_KINDS: dict[str, Schema] = {
    "text": TEXT,
    "text?": MAYBE,
    "count": COUNT,
    "count?": {"type": ["integer", "null"]},
    "flag": {"type": "boolean"},
    "id": {"type": "string", "format": "uuid"},
    "channel": {"enum": list(CHANNELS)},
    "second": {"type": "string", "pattern": _DATE + "Z$", "examples": ["2026-11-20T15:14:28Z"]},
    "instant": {"type": "string", "pattern": _DATE + r"\.\d{3}Z$", "examples": ["2026-11-20T15:14:28.123Z"]},
    "unmarked": {
        "type": "string",
        "pattern": _DATE + r"\.\d{3}$",
        "description": "UTC, without a designator.",
        "examples": ["2026-11-20T15:14:28.123"],
    },
}


def _object(fields: str, **kinds: Schema) -> Schema:
    """Make the schema of an object. Its fields are `name:kind`, or `name` where the kind has the same name; `kinds` are more of them."""
    pairs = [field.partition(":") for field in fields.split()]
    found = {name: {**_KINDS, **kinds}[kind or name] for name, _, kind in pairs}
    return {"type": "object", "required": list(found), "properties": found, "additionalProperties": False}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _list_of(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


_CONVERSATION = (
    "id chatbot_id:id channel user_id:text session_id:text visitor_name:text? visitor_email:text? last_message_at:unmarked"
    " created_at:unmarked updated_at:unmarked"
)
_ACCOUNT = _object(
    "plan:text? plan_version:count? subscription_status messages_used:count messages_limit:count plan_message_limit:count?"
    " plan_bot_limit:count? message_credits:count",
    subscription_status={"enum": list(SUBSCRIPTION_STATUSES)},
)
_USAGE = _object(
    "window_days from:instant to:instant covers_from:instant truncated:flag row_cap total_messages:count total_tokens:count total_cost_usd"
    " by_day",
    window_days={"type": "integer", "minimum": 1, "maximum": analytics.MAX_DAYS},
    row_cap={"const": analytics.ROW_CAP},
    total_cost_usd={"type": "number", "minimum": 0},
    by_day=_list_of(_object("day messages:count", day={"type": "string", "format": "date"})),
)
_BOT_USAGE = _object("id name:text active:flag messages_used_total:count messages_in_window:count")
SCHEMAS: dict[str, Schema] = {
    "Chatbot": _object(
        "id name:text description:text? model active:flag messages_used:count created_at:second updated_at:second",
        model={**TEXT, "description": "The name of a model tier."},
    ),
    "Exchange": _object(
        "chatbot_id:id user_id:text session_id channel message:text reply created_at:instant",
        session_id={**TEXT, "description": "The channel and the user id, joined by a colon."},
        channel={"const": "api"},
        reply={**TEXT, "minLength": 1},
    ),
    "Message": _object("id role content:text created_at:instant", role={"enum": ["user", "assistant", "operator"]}),
    "Conversation": _object(_CONVERSATION),
    "Thread": _object(
        f"{_CONVERSATION} message_count messages messages_truncated:flag",
        message_count={**COUNT, "description": "All messages of the conversation."},
        messages={**_list_of(_ref("Message")), "maxItems": conversations.MAX_MESSAGES, "description": "The newest, oldest first."},
    ),
    "Pagination": _object(
        "limit returned:count total:count has_more:flag next_cursor:text?", limit={"type": "integer", "minimum": 1, "maximum": MAX_LIMIT}
    ),
    "Analytics": _object("account chatbots usage", account=_ACCOUNT, chatbots=_list_of(_BOT_USAGE), usage=_USAGE),
}
SEND_MESSAGE: Schema = {
    "type": "object",
    "required": ["chatbot_id", "message"],
    "additionalProperties": False,
    "properties": {
        "chatbot_id": {"type": "string", "minLength": 1, "pattern": _PRINTABLE},
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
# The types of what single errors add to the envelope (SPEC.md section 7).
_EXTRA: dict[str, Schema] = {
    "max_chars": {"const": bodies.MAX_MESSAGE},
    "required_plan": MAYBE,
    "feature": {"const": "rest_api"},
    "plan": MAYBE,
    "limit": COUNT,
    "window_seconds": {"const": WINDOW_S},
    "max_offset": {"const": MAX_DEPTH},
    "chatbot_id": TEXT,
    "allow": _list_of(TEXT),
    "method": TEXT,
    "path": TEXT,
    "supported_endpoints": _list_of(TEXT),
    "reason": TEXT,
}
_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}


def _parameter(name: str, description: str, schema: Schema | None = None) -> Schema:
    return {"name": name, "in": "query", "description": description, "schema": schema or {}}


def _integer(name: str, default: int, most: int) -> Schema:
    """A count in the query. It is clamped, or ignored where it is no number: nothing is an error."""
    return _parameter(name, f"1 to {most}, clamped; what is no integer counts as {default}.", {"default": default, "examples": [default]})


_PAGE = (_integer("limit", DEFAULT_LIMIT, MAX_LIMIT), _parameter("cursor", "The `next_cursor` of the page before, as it was received."))
_EVERYWHERE = (
    *("invalid_json", "missing_api_key", "invalid_api_key", "account_not_found", "plan_required", "plan_upgrade_required"),
    *("rate_limit_exceeded", "unknown_endpoint", "method_not_allowed", "internal_error", "auth_backend_unavailable"),
    *("rate_limit_unavailable", "service_unavailable"),
)
_CURSOR = ("invalid_cursor", "cursor_out_of_range")
_IN_BODY = ("missing_chatbot_id", "missing_message", "message_too_long")
_ANSWERING = ("chatbot_inactive", "message_quota_exceeded", "assistant_unavailable", "assistant_empty_reply")


def document(base_url: str) -> Schema:
    """The OpenAPI 3.1 document of SPEC.md section 4; `base_url` ends with the version segment."""
    paths: dict[str, Schema] = {}
    for place, operation in _operations().items():
        method, path = place.split()
        paths.setdefault(path, {"parameters": [_ID]} if "{id}" in path else {})[method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "chatsvc",
            "version": BASE_PATH.rpartition("v")[2],
            "summary": "Chatbots, conversations, messages with the bot's reply, and usage, from server to server.",
        },
        "servers": [{"url": base_url}],
        "security": [{"api_key": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"api_key": {"type": "http", "scheme": "bearer", "description": "An API key of the account."}},
            "schemas": {**SCHEMAS, **{code: _problem(problem) for code, problem in PROBLEMS.items()}},
        },
    }


def _operations() -> dict[str, Schema]:
    """Describe the operations by method and path, in the order of routes.py."""
    only = (
        _parameter("chatbot_id", "Only those of this bot.", TEXT),
        _parameter("channel", f"Only those of this channel: {', '.join(CHANNELS)}.", TEXT),
    )
    messages = _integer("message_limit", conversations.DEFAULT_MESSAGES, conversations.MAX_MESSAGES)
    of_list = "The conversations of the account's bots, the one with the newest message first"
    days = _integer("days", analytics.DEFAULT_DAYS, analytics.MAX_DAYS)
    return {
        "GET /chatbots": _reads("list_chatbots", "The account's chatbots, newest first", _page("Chatbot"), _PAGE, _CURSOR),
        "GET /chatbots/{id}": _reads("get_chatbot", "One chatbot", _data("Chatbot"), (), ("chatbot_not_found",)),
        "POST /messages": _send_message(),
        "GET /conversations": _reads(
            "list_conversations", of_list, _page("Conversation"), (*_PAGE, *only), (*_CURSOR, "chatbot_not_found")
        ),
        "GET /conversations/{id}": _reads(
            "get_conversation", "One conversation with its newest messages", _data("Thread"), (messages,), ("conversation_not_found",)
        ),
        "GET /analytics": _reads("get_analytics", "The account's usage over the last days, with its cost", _data("Analytics"), (days,), ()),
    }


def _send_message() -> Schema:
    key: Schema = {
        "name": "Idempotency-Key",
        "in": "header",
        "description": "The same key with the same body within 24 hours gives the first answer again, charged once.",
        "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
    }
    problems = (*_IN_BODY, "chatbot_not_found", *_ANSWERING)
    operation = _reads("send_message", "Send a message to a bot and get its reply", _data("Exchange"), (key,), problems)
    return {**operation, "requestBody": {"required": True, "content": {"application/json": {"schema": SEND_MESSAGE}}}}


def _reads(name: str, summary: str, answer: Schema, parameters: tuple[Schema, ...], problems: tuple[str, ...]) -> Schema:
    responses: dict[str, Schema] = {"200": _response("Done.", answer)}
    codes: dict[int, list[str]] = {}
    for code in (*_EVERYWHERE, *problems):
        codes.setdefault(PROBLEMS[code].status, []).append(code)
    for status, those in sorted(codes.items()):
        one_of = [_ref(code) for code in those]
        responses[str(status)] = _response(", ".join(those), one_of[0] if len(one_of) == 1 else {"oneOf": one_of})
    return {"operationId": name, "summary": summary, "parameters": list(parameters), "responses": responses}


def _response(description: str, schema: Schema) -> Schema:
    headers: Schema = {
        name: {"required": True, "description": text, "schema": kind}
        for name, text, kind in (
            ("X-Request-Id", "Names the request in the service's log.", TEXT),
            ("X-RateLimit-Limit", "Requests a minute.", {"type": "integer"}),
            ("X-RateLimit-Remaining", "Requests left in this minute.", {"type": "integer"}),
            ("X-RateLimit-Reset", "The minute's end, in Unix seconds.", {"type": "integer"}),
        )
    }
    return {"description": description, "headers": headers, "content": {"application/json": {"schema": schema}}}


def _data(name: str) -> Schema:
    return _object("success data", success={"const": True}, data=_ref(name))


def _page(name: str) -> Schema:
    data: Schema = {**_list_of(_ref(name)), "maxItems": MAX_LIMIT}
    return _object("success data pagination", success={"const": True}, data=data, pagination=_ref("Pagination"))


def _problem(problem: Problem) -> Schema:
    """The flat envelope of SPEC.md section 7, with what this code adds."""
    schema = _object(
        " ".join(("success", "error", "message", "message_en", *problem.extra)),
        **_EXTRA,
        success={"const": False},
        error={"const": problem.code},
        message={**TEXT, "description": "In Turkish."},
        message_en={**TEXT, "description": "In English."},
    )
    return {**schema, "description": problem.text("en")}
