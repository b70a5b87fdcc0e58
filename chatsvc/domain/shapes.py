"""JSON objects of help/interface.md 5. The interface, webhooks and the command line share them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from chatsvc.domain import times

if TYPE_CHECKING:
    # Not at run time: light commands do without these modules.
    from chatsvc.domain.analytics import UsageSummary
    from chatsvc.domain.captures import Appointment, Request
    from chatsvc.domain.mails import MailState
    from chatsvc.domain.models import Bot, Conversation, Exchange, Message, Note

Json = dict[str, object]
_ASKED = ("message", "visitor_name", "visitor_email", "visitor_phone")


def parsed(body: bytes) -> dict[str, Any] | None:
    """Parse a JSON text, and return its object, or None if it is not an object."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def as_object(value: object) -> Mapping[str, Any]:
    """Return a value of untrusted JSON if it is an object. Otherwise return an empty object."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """Return a value of untrusted JSON if it is a list. Otherwise return an empty list."""
    return value if isinstance(value, list) else []


def fields(record: object, *names: str, instant: Callable[[int], str] = times.without_fraction) -> Json:
    """Return fields of a record by name. Fields that end in `_at` are formatted by `instant`; None stays None."""
    written: Json = {}
    for name in names:
        value = getattr(record, name)
        written[name] = instant(value) if value is not None and name.endswith("_at") else value
    return written


def chatbot(bot: Bot) -> Json:
    """Return the JSON object of a chatbot (help/interface.md 5.1)."""
    return fields(bot, "id", "name", "description", "model", "active", "messages_used", "created_at", "updated_at")


def exchange(x: Exchange) -> Json:
    """Return the JSON object of a message exchange (help/interface.md 5.3)."""
    return {
        "chatbot_id": x.chatbot_id,
        "user_id": x.user_id,
        "session_id": f"{x.channel}:{x.user_id}",
        "channel": x.channel,
        "message": x.message,
        "reply": x.reply,
        "created_at": times.with_millis(x.created_at),
    }


def conversation(thread: Conversation) -> Json:
    """Return the JSON object of a conversation of a list (help/interface.md 5.4)."""
    about = fields(thread, "visitor_name", "visitor_email", "last_message_at", "created_at", "updated_at", instant=times.without_zone)
    return {**fields(thread, "id", "chatbot_id", "channel", "user_id"), "session_id": f"{thread.channel}:{thread.user_id}", **about}


def message(m: Message) -> Json:
    """Return the JSON object of a message of a conversation."""
    return {"id": m.id, "role": m.role, "content": m.content, "created_at": times.with_millis(m.created_at)}


def message_for_operator(m: Message, mail: MailState | None = None) -> Json:
    """Return the JSON object of a message as the team sees it.

    `evidence` is the origin of the reply: `{entries: [{id, score}], decision, confidence}`, or null. `author` is the person who wrote
    it; `delivery` and `error` are the state of its delivery to the channel; `mail` is the state of the mail that sent it to a visitor who
    had left, `mail_error` the reason of its failure; `feedback` is the visitor's thumb.
    """
    team = fields(m, "author", "delivery", "error", "feedback")
    team |= {"mail": mail.state if mail else None, "mail_error": mail.error if mail else None}
    return {**message(m), "evidence": None if m.evidence is None else json.loads(m.evidence), **team}


def note(n: Note) -> Json:
    """Return the JSON object of a private note of the team."""
    return fields(n, "id", "author", "text", "created_at", instant=times.with_millis)


def conversation_detail(thread: Conversation, messages: list[Message]) -> Json:
    """Return the JSON object of a conversation with its newest messages (help/interface.md 5.4)."""
    return {
        **conversation(thread),
        "message_count": thread.message_count,
        "messages": [message(m) for m in messages],
        "messages_truncated": len(messages) < thread.message_count,
    }


def request(r: Request) -> Json:
    """Return the JSON object of a request (help/webhooks.md 3)."""
    return fields(r, "id", "request_type", "status", *_ASKED, "source_page_host", "created_at", instant=times.with_millis)


def appointment(a: Appointment) -> Json:
    """Return the JSON object of an appointment (help/webhooks.md 4)."""
    return {
        "id": a.id,
        "request_id": a.request.id,
        "status": a.status,
        **fields(a.request, *_ASKED),
        "appointment_date": a.date,
        "appointment_time": a.time,
        "appointment_at": times.with_millis(a.begins_at),
        "source_page_host": a.request.source_page_host,
        "created_at": times.with_millis(a.created_at),
    }


def analytics(summary: UsageSummary) -> Json:
    """Return the JSON object of the usage of an account (help/interface.md 5.6)."""
    from chatsvc.domain.plans import Usd

    account, plan = summary.account, summary.plan
    return {
        "account": {
            "plan": account.plan,
            "plan_version": plan.version if plan else None,
            "subscription_status": account.subscription_status,
            "messages_used": summary.messages_used,
            "messages_limit": account.messages_limit,
            "plan_message_limit": plan.messages if plan else None,
            "plan_bot_limit": plan.bots if plan else None,
            "message_credits": account.message_credits,
        },
        "chatbots": [
            {**fields(bot, "id", "name", "active"), "messages_used_total": bot.messages_used, "messages_in_window": messages}
            for bot, messages in summary.bots
        ],
        "usage": {
            "window_days": summary.window_days,
            "from": times.with_millis(summary.start),
            "to": times.with_millis(summary.end),
            "covers_from": times.with_millis(summary.covers_from),
            "truncated": summary.truncated,
            "row_cap": summary.row_cap,
            "total_messages": summary.total.messages,
            "total_tokens": summary.total.tokens,
            "total_cost_usd": Usd(summary.total.cost_micro_usd),
            "by_day": [{"day": times.day(day), "messages": usage.messages} for day, usage in summary.by_day],
        },
    }
