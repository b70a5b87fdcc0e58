"""JSON of accounts, bots, keys and operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chatsvc.control.rendering.registry import renders
from chatsvc.domain import profiles, shapes
from chatsvc.domain.shapes import Json, fields

if TYPE_CHECKING:
    from chatsvc.domain.models import AccountUsage, ApiKey, Bot, FirstRecords, ListedKey, NewKey
    from chatsvc.domain.operators import NewOperator, Operator, OperatorSession


@renders("account.create", "account.list", "account.show", "account.set")
def account(result: AccountUsage) -> Json:
    a, used = result
    own = fields(a, "id", "name", "plan", "subscription_status")
    return {**own, "messages_used": used, **fields(a, "messages_limit", "message_credits", "created_at", "updated_at")}


@renders("bot.list")
def bot(result: Bot) -> Json:
    settings = ("account_id", "instructions", "timezone", "country", "language", "opening_hours", "ask_back", "greeting", "fallback")
    return {**shapes.chatbot(result), **fields(result, *settings, "hand_off", "hand_off_wait", "hand_off_return")}


@renders("bot.create", "bot.show", "bot.set", "bot.apply", "bot.activate", "bot.deactivate")
def bot_with_profile(result: Bot) -> Json:
    """Write a chatbot with its settings and the owner's words, as its file has them."""
    return {**bot(result), **profiles.values_of(profiles.load(result.profile))}


def _key(key: ApiKey, status: str) -> Json:
    dated = fields(key, "created_at", "expires_at", "revoked_at", "last_used_at")
    return {**fields(key, "id", "account_id"), "name": key.label, "prefix": key.prefix, "status": status, **dated}


@renders("key.list", "key.revoke")
def key(result: ListedKey) -> Json:
    return _key(*result)


@renders("key.create")
def new_key(result: NewKey) -> Json:
    """Write a key at its creation, with its secret."""
    return {"id": result.key.id, "key": result.secret, **_key(result.key, result.status)}


@renders("init")
def first_records(result: FirstRecords) -> Json:
    """Write the first account, bot and key."""
    return {
        "account": account(result.account) if result.account else None,
        "bot": bot(result.bot) if result.bot else None,
        "key": new_key(result.key) if result.key else None,
        "operator": new_operator(result.operator) if result.operator else None,
    }


@renders("operator.list", "operator.set", removes="operator.remove")
def operator(result: Operator) -> Json:
    return {
        **fields(result, "id", "email", "name", "language", "timezone", "admin"),
        "roles": [{"account": account_id, "role": role.name.lower()} for account_id, role in result.roles.items()],
        "notices": list(result.notices),
        "set_up": result.is_set_up,
        **fields(result, "second_factor", "created_at", "updated_at"),
    }


@renders("operator.add", "operator.link")
def new_operator(result: NewOperator) -> Json:
    return {**operator(result.operator), **fields(result, "link", "expires_at")}


@renders("operator.sessions")
def operator_session(result: OperatorSession) -> Json:
    return fields(result, "id", "browser", "address", "verified", "created_at", "last_seen_at")


@renders("account.delete", "bot.delete")
def deleted(result: Any) -> Json:
    return {"id": result.id, "deleted": True}
