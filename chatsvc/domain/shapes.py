"""The nouns in the words of SPEC.md section 2: plain data, ready for JSON, the same for every front end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chatsvc.domain import times

if TYPE_CHECKING:
    # For types alone: a command that makes a key has no use for the rules of captures.
    from chatsvc.domain.captures import Appointment, Request
    from chatsvc.domain.models import Account, ApiKey, Bot, Conversation, Entry, Exchange, Message
    from chatsvc.domain.webhooks import Attempt

Json = dict[str, object]


def chatbot(bot: Bot) -> Json:
    """SPEC.md 2.2."""
    return {
        "id": bot.id,
        "name": bot.name,
        "description": bot.description,
        "model": bot.model,
        "active": bot.active,
        "messages_used": bot.messages_used,
        "created_at": times.without_fraction(bot.created_at),
        "updated_at": times.without_fraction(bot.updated_at),
    }


def chatbot_settings(bot: Bot) -> Json:
    """A chatbot with its settings, for the administrator alone."""
    settings = ("account_id", "instructions", "timezone", "country", "language", "opening_hours", "ask_back", "greeting")
    return {**chatbot(bot), **{name: getattr(bot, name) for name in settings}}


def exchange(x: Exchange) -> Json:
    """SPEC.md 2.3."""
    return {
        "chatbot_id": x.chatbot_id,
        "user_id": x.user_id,
        "session_id": f"{x.channel}:{x.user_id}",
        "channel": x.channel,
        "message": x.message,
        "reply": x.reply,
        "created_at": times.with_millis(x.created_at),
    }


def conversation(c: Conversation) -> Json:
    """A list item of SPEC.md 2.4."""
    last_message_at = times.without_zone(c.last_message_at)
    return {
        "id": c.id,
        "chatbot_id": c.chatbot_id,
        "channel": c.channel,
        "user_id": c.user_id,
        "session_id": f"{c.channel}:{c.user_id}",
        "visitor_name": c.visitor_name,
        "visitor_email": c.visitor_email,
        "last_message_at": last_message_at,
        "created_at": times.without_zone(c.created_at),
        # The same instant, unless something beside a message has changed it.
        "updated_at": last_message_at if c.updated_at == c.last_message_at else times.without_zone(c.updated_at),
    }


def message(m: Message) -> Json:
    """One message of a conversation (DECISIONS.md section 1)."""
    return {"id": m.id, "role": m.role, "content": m.content, "created_at": times.with_millis(m.created_at)}


def conversation_detail(c: Conversation, messages: list[Message]) -> Json:
    """A conversation with its newest messages (SPEC.md 2.4)."""
    return {
        **conversation(c),
        "message_count": c.message_count,
        "messages": [message(m) for m in messages],
        "messages_truncated": len(messages) < c.message_count,
    }


def account(a: Account, used: int) -> Json:
    """An account for the administrator; `used` are the messages of this month."""
    return {
        "id": a.id,
        "name": a.name,
        "plan": a.plan,
        "subscription_status": a.subscription_status,
        "messages_used": used,
        "messages_limit": a.messages_limit,
        "message_credits": a.message_credits,
        "created_at": times.without_fraction(a.created_at),
        "updated_at": times.without_fraction(a.updated_at),
    }


def _instant(value: int | None) -> str | None:
    return None if value is None else times.without_fraction(value)


def api_key(key: ApiKey, now: int) -> Json:
    """A key as it may be shown after its creation."""
    status = "revoked" if key.revoked_at is not None else "expired" if key.expires_at is not None and key.expires_at <= now else "active"
    return {
        "id": key.id,
        "account_id": key.account_id,
        "name": key.label,
        "prefix": key.prefix,
        "status": status,
        "created_at": times.without_fraction(key.created_at),
        "expires_at": _instant(key.expires_at),
        "revoked_at": _instant(key.revoked_at),
        "last_used_at": _instant(key.last_used_at),
    }


def request(r: Request) -> Json:
    """SPEC.md 2.6."""
    return {
        "id": r.id,
        "request_type": r.request_type,
        "status": r.status,
        "message": r.message,
        "visitor_name": r.visitor_name,
        "visitor_email": r.visitor_email,
        "visitor_phone": r.visitor_phone,
        "source_page_host": r.source_page_host,
        "created_at": times.with_millis(r.created_at),
    }


def appointment(a: Appointment) -> Json:
    """SPEC.md 2.7."""
    return {
        "id": a.id,
        "request_id": a.request.id,
        "status": a.status,
        "message": a.request.message,
        "visitor_name": a.request.visitor_name,
        "visitor_email": a.request.visitor_email,
        "visitor_phone": a.request.visitor_phone,
        "appointment_date": a.date,
        "appointment_time": a.time,
        "appointment_at": times.with_millis(a.at),
        "source_page_host": a.request.source_page_host,
        "created_at": times.with_millis(a.created_at),
    }


def attempt(a: Attempt) -> Json:
    """An attempt to deliver an event (DECISIONS.md section 4)."""
    return {**a._asdict(), "at": times.with_millis(a.at)}


def entry(e: Entry) -> Json:
    """One entry of a bot's knowledge (DECISIONS.md section 4)."""
    return {**e._asdict(), "alt": list(e.alt)}
