"""Changes of settings for the audit log: the value before and after an administrative operation."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from chatsvc.domain import profiles
from chatsvc.domain.actors import Caller, SettingChange
from chatsvc.domain.operators import normalised_email
from chatsvc.domain.refusals import Refused
from chatsvc.services.accounts import accounts, channels
from chatsvc.services.services import Services
from chatsvc.store import operators

MOST = 30  # changes of an operation that are recorded
LONGEST = 200  # characters of a value
# Counters and what says when or whose a record is.
_LEFT_OUT = frozenset(
    {"id", "account_id", "bot_id", "created_at", "updated_at", "messages_used", "is_set_up", "second_factor", "sealed_key", "signing_key"}
)


async def settings_of(services: Services, caller: Caller, operation: str, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that an operation may change, by path such as "texts.thanks.tr". Return {} if the record is missing."""
    record: Mapping[str, Any] = {}
    try:
        match operation:
            case "bot.set" | "bot.apply" | "closed.add" | "closed.remove":
                bot = arguments["bot"]
                record = {**bot._asdict(), "profile": None, **profiles.values_of(profiles.load(bot.profile))}
            case "account.set":
                record = (await accounts.show(services, caller, account=arguments["account"])).account._asdict()
            case "operator.set":
                operator = await operators.find(services.db, normalised_email(arguments["email"]))
                if operator is not None:
                    record = {**operator._asdict(), "roles": {account: role.name.lower() for account, role in operator.roles.items()}}
            case "channel.set":
                of_bot = {channel.channel: channel.settings for channel in await channels.list_all(services, caller, bot=arguments["bot"])}
                record = of_bot.get(arguments["channel"], {})
            case "webhook.set":
                from chatsvc.services.accounts import webhooks  # commands that make accounts and keys start without its HTTP client

                webhook = await webhooks.show(services, caller, bot=arguments["bot"])
                record = {**webhook._asdict(), "url": (webhook.url or "").partition("?")[0]}  # a query may hold a secret
            case "request.set" | "appointment.set":
                from chatsvc.services.conversations import appointments  # the same

                item = await appointments.find(services, caller, record=arguments[operation.partition(".")[0]])
                appointment = item.appointment
                when = {} if appointment is None else {"date": appointment.date, "time": appointment.time, "status": appointment.status}
                record = {"status": item.request.status, "assignee": item.request.assignee, **when}
    except Refused:
        return {}
    return dict(_flat("", record))


def compare(before: Mapping[str, str], after: Mapping[str, str]) -> list[SettingChange]:
    """List at most MOST settings that differ, ordered by path. Values are cut to LONGEST characters."""
    changes = []
    for path in sorted(before.keys() | after.keys()):
        old, new = before.get(path, ""), after.get(path, "")
        if old != new:
            changes.append(SettingChange(path, _short(old), _short(new)))
    return changes[:MOST]


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            if name not in _LEFT_OUT:
                yield from _flat(f"{path}.{name}" if path else str(name), part)
    elif value not in (None, "", [], ()):
        yield path, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
