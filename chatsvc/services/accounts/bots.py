"""Chatbots: create, list, show, change, switch on or off, and delete them; `find` and `page` for the message interface."""

import re
import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Any

from chatsvc import timezones
from chatsvc.domain import contacts, errors, folding, opening_hours, operators, paging, refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.models import Bot
from chatsvc.domain.paging import Listing, Position, ResultPage
from chatsvc.services.accounts import accounts
from chatsvc.services.accounts.account_cache import AccountState
from chatsvc.services.accounts.accounts import long_text, plain_text
from chatsvc.services.services import Services
from chatsvc.store import bots as stored
from chatsvc.store import owners

MOST_INSTRUCTIONS = 20_000
_MINUTES, MOST_MINUTES = frozenset({"hand_off_wait", "hand_off_return", "appointment_minutes"}), 1440
MOST_AT_ONCE = 100
_NO_TEXTS = _MINUTES | {"appointments_at_once", "active", "ask_back", "hand_off"}
_TEXTS = {"description": 1000, "instructions": MOST_INSTRUCTIONS, "greeting": 1000, "address": 300}
_PHONE = re.compile(r"\+?[\d \u00a0()./-]{3,40}")


async def resolve(services: Services, caller: Caller, bot_id: str) -> Bot:
    """Look up a bot in the caller's scope; raises `bot_not_found`."""
    bot = await services.account_cache.bot(await owners.account_of(services.db, "bot", bot_id, caller.scope.accounts), bot_id)
    if bot is None:
        raise refusals.bot_not_found(bot=bot_id)
    return bot


def checked(tiers: Collection[str] | None, given: Mapping[str, object]) -> dict[str, Any]:
    """Check the given settings, and return them by name. "" removes an optional text. `tiers` are the allowed models, or None for any."""
    settings, faults = dict[str, Any](), refusals.Faults()
    for name, value in given.items():
        if value is not None:
            with faults:
                settings[name] = _checked(tiers, name, value)
    faults.refuse()
    return settings


def _checked(tiers: Collection[str] | None, name: str, value: object) -> object:
    if name in _MINUTES and (not isinstance(value, int) or not 1 <= value <= MOST_MINUTES):
        raise refusals.minutes_out_of_range(field=name, most=MOST_MINUTES)
    if name == "appointments_at_once" and (not isinstance(value, int) or not 1 <= value <= MOST_AT_ONCE):
        raise refusals.count_out_of_range(field=name, most=MOST_AT_ONCE)
    if not isinstance(value, str):
        if name not in _NO_TEXTS:
            raise refusals.argument_unknown(argument=name)
        return value
    if name == "name":
        return plain_text(value, "bot.name")
    if name in _TEXTS:
        return long_text(value, name, _TEXTS[name], optional=True) or None
    return _word(tiers, name, value.strip())


def _word(tiers: Collection[str] | None, name: str, text: str) -> str | None:
    match name:
        case "model" if tiers is not None and text not in tiers:
            raise refusals.tier_unknown(tier=text, tiers=list(tiers))
        case "timezone" if timezones.zone(text) is None:
            raise refusals.timezone_unknown(timezone=text)
        case "language" if not folding.is_tag(text):
            raise refusals.language_invalid(language=text)
        case "model" | "timezone" | "language":
            return text
        case "country":
            return _country(text)
        case "phone" | "email" | "opening_hours":
            return _OPTIONAL[name](text) if text else None
        case "fallback" if text in ("knowledge", "none"):
            return None if text == "none" else text
        case "fallback":
            raise refusals.fallback_invalid(fallback=text)
    raise refusals.argument_unknown(argument=name)


def _country(value: str) -> str:
    from chatsvc.language.contacts import knows_country

    if not knows_country(value.upper()):
        raise refusals.country_unknown(country=value)
    return value.upper()


def _phone(value: str) -> str:
    """Check a telephone number, and return it unchanged. Short numbers such as 444 0 123 are valid. Raises `phone_invalid`."""
    if not _PHONE.fullmatch(value) or not 3 <= sum(map(str.isdigit, value)) <= contacts.MAX_DIGITS:
        raise refusals.phone_invalid(phone=value)
    return value


def _opening_hours(value: str) -> str:
    try:
        return opening_hours.normalize(value)
    except opening_hours.OpeningHoursError as fault:
        raise refusals.opening_hours_invalid(fault=fault.code, facts=fault.facts) from None


_OPTIONAL = {"phone": _phone, "email": operators.normalised_email, "opening_hours": _opening_hours}


async def create(services: Services, caller: Caller, *, name: str, account: str | None = None, **settings: object) -> Bot:
    """Create a bot; raises `bots_exhausted` beyond the number of bots in the plan."""
    state = await accounts.resolve(services, caller, account)
    bot = new(services, state)._replace(**checked(services.config.models, {"name": name, **settings}))
    plan = services.config.plans.get(state.account.plan or "")
    most = plan.bots if plan else 0
    if await stored.create(services.db, bot, most) is None:
        raise refusals.bots_exhausted(plan=plan.name if plan else None, most=most)
    state.bots[bot.id] = bot
    return bot


def new(services: Services, state: AccountState) -> Bot:
    """Return a new bot of an account, with all defaults and without a name. It is not stored."""
    now, tier = services.clock(), next(iter(services.config.models))
    return Bot(str(uuid.uuid4()), state.account.id, "", None, tier, active=True, messages_used=0, created_at=now, updated_at=now)


async def list_all(
    services: Services, caller: Caller, *, account: str | None = None, limit: int = paging.DEFAULT, after: str | None = None
) -> ResultPage[Bot]:
    """List the bots of one account, or of all accounts in the caller's scope, account by account."""
    chosen = caller.scope.accounts if account is None else [(await accounts.resolve(services, caller, account)).account.id]
    limit, position = paging.clamped(limit), paging.parsed(after, str, paging.number)
    rows = await stored.page(services.db, chosen, limit + 1, position)
    page = paging.page_of(rows, limit, lambda row: paging.position(row[0].account_id, row[1]))
    return ResultPage([bot for bot, _ in page.items], page.next)


async def show(_: Services, __: Caller, *, bot: Bot) -> Bot:
    """Show one bot with its settings."""
    return bot


async def change(services: Services, _: Caller, *, bot: Bot, **settings: object) -> Bot:
    """Change the given settings of a bot; "" removes an optional text."""
    changes = checked(services.config.models, settings)
    return await update(services, bot, lambda _: changes)


async def update(services: Services, bot: Bot, changes: Callable[[Bot], Mapping[str, object]]) -> Bot:
    """Write the columns that `changes` returns for the stored bot, in one transaction. Raises `nothing_to_change` and `bot_not_found`."""
    state = await services.account_cache.account(bot.account_id)
    if state is None or bot.id not in state.bots:
        raise refusals.bot_not_found(bot=bot.id)
    changed = state.bots[bot.id] = await stored.update(services.db, bot, changes, services.clock())
    return changed


async def activate(services: Services, caller: Caller, *, bot: Bot) -> Bot:
    """Make the bot accept messages."""
    return await change(services, caller, bot=bot, active=True)


async def deactivate(services: Services, caller: Caller, *, bot: Bot) -> Bot:
    """Make the bot reject messages with 409 `chatbot_inactive`."""
    return await change(services, caller, bot=bot, active=False)


async def delete(services: Services, _: Caller, *, bot: Bot) -> Bot:
    """Delete a bot with all its records; raises `bot_not_found`. The account's used messages stay counted."""
    await update(services, bot, lambda _: {"active": False})
    while await stored.delete(services.db, bot):
        pass
    state = await services.account_cache.account(bot.account_id)
    if state is not None:
        state.bots.pop(bot.id, None)
    services.account_cache.unanswered.clear()
    services.knowledge.invalidate(bot.id)
    services.channels.changed(bot.id)
    return bot


def find(state: AccountState, chatbot_id: str) -> Bot:
    """Return a bot of the account. Raises `chatbot_not_found`, also for a bot of another account."""
    bot = state.bots.get(chatbot_id)
    if bot is None:
        raise errors.chatbot_not_found()
    return bot


def page(services: Services, state: AccountState, limit: int, cursor: str | None) -> Listing[Bot]:
    """Return a page of the account's bots, newest first. Raises `invalid_cursor` and `cursor_out_of_range`."""
    walk, bots, depth = ("chatbots", state.account.id), list(state.bots.values()), 0
    end = len(bots)
    if cursor is not None:
        instant, end, depth = services.cursors.read(cursor, walk)
        if end >= len(bots) or bots[end].created_at != instant:
            # Bots that were deleted meanwhile have changed the places of the others.
            end = sum(bot.created_at < instant for bot in bots)
    start = max(0, end - limit)
    items = bots[start:end][::-1]
    position = Position(items[-1].created_at, start, depth + len(items)) if start else None
    return Listing(items, limit, len(bots), services.cursors.write(position, walk) if position else None)
