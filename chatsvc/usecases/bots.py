"""Chatbots, for the administrator: created, shown, changed, switched on and off (SPEC.md section 3)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping

from chatsvc.domain import language, opening_hours, shapes, times
from chatsvc.domain.errors import Refused
from chatsvc.domain.models import Bot
from chatsvc.domain.shapes import Json
from chatsvc.store import accounts as stored_accounts
from chatsvc.store import bots as stored
from chatsvc.usecases import accounts
from chatsvc.usecases.account_cache import AccountState
from chatsvc.usecases.accounts import plain_text
from chatsvc.usecases.services import Services

MOST_INSTRUCTIONS = 20_000
_TEXTS = {"description": 1000, "instructions": MOST_INSTRUCTIONS, "greeting": 1000}


async def resolve(services: Services, bot_id: str) -> tuple[AccountState, Bot]:
    """The bot with its owner; raises Refused where there is none."""
    account_id = await stored.owner(services.db, bot_id)
    state = await services.account_cache.account(account_id) if account_id else None
    if state is None or bot_id not in state.bots:
        raise Refused(f"there is no bot {bot_id}")
    return state, state.bots[bot_id]


def _checked(services: Services, given: Mapping[str, object]) -> dict[str, object]:
    """The settings that were given, each checked; "" takes an optional text away."""
    settings = {name: value for name, value in given.items() if value is not None}
    for name, value in settings.items():
        if not isinstance(value, str):
            continue
        if name == "name":
            settings[name] = plain_text(value, "the bot's name")
        elif name in _TEXTS:
            settings[name] = _text(name, value)
        else:
            settings[name] = _CHECKS[name](services, value.strip())
    return settings


def _text(name: str, value: str) -> str | None:
    text = value.strip()
    if len(text) > _TEXTS[name]:
        raise Refused(f"{name} may have {_TEXTS[name]} characters at most, this one has {len(text)}")
    if "\0" in text:
        raise Refused(f"{name} must not hold NUL characters")
    return text or None


def _tier(services: Services, value: str) -> str:
    if value not in services.config.models:
        raise Refused(f"there is no model tier {value!r}; the configuration has {', '.join(services.config.models)}")
    return value


def _timezone(_: Services, value: str) -> str:
    if times.zone(value) is None:
        raise Refused(f"{value!r} is no time zone; one is written like Europe/Istanbul")
    return value


def _country(_: Services, value: str) -> str:
    from chatsvc.engines.reading import knows_country

    if not knows_country(value.upper()):
        raise Refused(f"{value!r} is no country; one is written with two letters, like TR")
    return value.upper()


def _language(_: Services, value: str) -> str:
    if not language.is_tag(value):
        raise Refused(f"{value!r} is no language tag; one is written like tr or en-GB")
    return value


def _opening_hours(_: Services, value: str) -> str | None:
    try:
        return opening_hours.normalize(value) if value else None
    except ValueError as fault:
        raise Refused(f"the opening hours cannot be read: {fault}") from None


_CHECKS: dict[str, Callable[[Services, str], str | None]] = {
    "model": _tier,
    "timezone": _timezone,
    "country": _country,
    "language": _language,
    "opening_hours": _opening_hours,
}


async def create(services: Services, *, name: str, account: str | None = None, **settings: object) -> Json:
    """A new bot; raises Refused past the number of bots that the plan has."""
    state = await accounts.resolve(services, account)
    checked = _checked(services, {"name": name, "model": next(iter(services.config.models)), **_given(settings)})
    plan = services.config.plans.get(state.account.plan or "")
    now = services.clock()
    fixed = {
        "id": str(uuid.uuid4()),
        "account_id": state.account.id,
        "active": True,
        "messages_used": 0,
        "created_at": now,
        "updated_at": now,
    }
    bot = Bot(**{"description": None, **checked, **fixed})  # type: ignore[arg-type]  # each setting was checked by its name
    most = plan.bots if plan else 0
    if await stored.create(services.db, bot, most, state.update_bot) is None:
        which = (
            f"the plan {plan.name} has {most} bot{'' if most == 1 else 's'}, and the account has as many"
            if plan
            else "the account has no plan"
        )
        raise Refused(f"no more bots: {which}")
    return shapes.chatbot_settings(bot)


def _given(settings: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in settings.items() if value is not None}


async def list_all(services: Services, *, account: str | None = None) -> list[Json]:
    """The bots of one account, or of all."""
    if account is not None:
        owners = [await accounts.resolve(services, account)]
    else:
        found = [await services.account_cache.account(a.id) for a in await stored_accounts.everyone(services.db)]
        owners = [state for state in found if state]
    return [shapes.chatbot_settings(bot) for state in owners for bot in state.bots.values()]


async def show(services: Services, *, bot: str) -> Json:
    """One bot with its settings."""
    return shapes.chatbot_settings((await resolve(services, bot))[1])


async def change(services: Services, *, bot: str, **settings: object) -> Json:
    """Change the settings that are given; "" takes an optional text away."""
    state, found = await resolve(services, bot)
    changes = _checked(services, settings)
    if not changes:
        raise Refused("nothing to change was given")
    changes["updated_at"] = services.clock()
    return shapes.chatbot_settings(await stored.update(services.db, found, changes, state.update_bot))


async def activate(services: Services, *, bot: str) -> Json:
    """Let the bot accept messages."""
    return await change(services, bot=bot, active=True)


async def deactivate(services: Services, *, bot: str) -> Json:
    """Let the bot reject messages: 409 `chatbot_inactive`."""
    return await change(services, bot=bot, active=False)
