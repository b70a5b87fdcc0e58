"""JSON of accounts, bots, keys and operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatsvc.domain import profiles, shapes, times
from chatsvc.domain.shapes import Json

if TYPE_CHECKING:
    from chatsvc.domain.models import AccountUsage, ApiKey, Bot, FirstRecords, ListedKey, NewKey
    from chatsvc.domain.operators import NewOperator, Operator, OperatorSession


def _instant(value: int | None) -> str | None:
    return None if value is None else times.without_fraction(value)


def account(result: AccountUsage) -> Json:
    """Write an account with the messages of this month."""
    a, used = result
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


def bot(result: Bot) -> Json:
    """Write a chatbot with its settings."""
    settings: tuple[str, ...] = (
        "account_id",
        "instructions",
        "timezone",
        "country",
        "language",
        "opening_hours",
        "ask_back",
        "greeting",
        "fallback",
    )
    settings += ("hand_off", "hand_off_wait", "hand_off_return")
    return {**shapes.chatbot(result), **{name: getattr(result, name) for name in settings}}


def bot_with_profile(result: Bot) -> Json:
    """Write a chatbot with its settings and the owner's words, as its file has them."""
    return {**bot(result), **profiles.values_of(profiles.load(result.profile))}


def _key(key: ApiKey, status: str) -> Json:
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


def key(result: ListedKey) -> Json:
    """Write a key as it may be shown after its creation."""
    return _key(*result)


def new_key(result: NewKey) -> Json:
    """Write a key at its creation, with its secret."""
    return {"id": result.key.id, "key": result.secret, **_key(result.key, result.status)}


def first_records(result: FirstRecords) -> Json:
    """Write the first account, bot and key."""
    return {
        "account": account(result.account) if result.account else None,
        "bot": bot(result.bot) if result.bot else None,
        "key": new_key(result.key) if result.key else None,
        "operator": new_operator(result.operator) if result.operator else None,
    }


def operator(result: Operator) -> Json:
    """Write an operator."""
    return {
        "id": result.id,
        "email": result.email,
        "name": result.name,
        "language": result.language,
        "timezone": result.timezone,
        "admin": result.admin,
        "roles": [{"account": account_id, "role": role.name.lower()} for account_id, role in result.roles.items()],
        "notices": list(result.notices),
        "set_up": result.is_set_up,
        "second_factor": result.second_factor,
        "created_at": times.without_fraction(result.created_at),
        "updated_at": times.without_fraction(result.updated_at),
    }


def new_operator(result: NewOperator) -> Json:
    """Write an operator with a new set-up link."""
    return {**operator(result.operator), "link": result.link, "expires_at": _instant(result.expires_at)}


def operator_session(result: OperatorSession) -> Json:
    """Write a session of an operator."""
    return {
        "id": result.id,
        "browser": result.browser,
        "address": result.address,
        "verified": result.verified,
        "created_at": times.without_fraction(result.created_at),
        "last_seen_at": times.without_fraction(result.last_seen_at),
    }


def deleted(result: Any) -> Json:
    """Write the id of a deleted account or bot."""
    return {"id": result.id, "deleted": True}
