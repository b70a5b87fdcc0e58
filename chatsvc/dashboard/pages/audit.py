"""Audit log, which shows every operation with its actor and outcome. An administrator sees the installation's, an owner the account's."""

import json
import re
from contextlib import suppress
from typing import Any

from aiohttp.web import Response

from chatsvc import translations
from chatsvc.dashboard import catalogue, records
from chatsvc.dashboard.page import Page
from chatsvc.domain import opening_hours, times
from chatsvc.domain.actors import AuditRecord
from chatsvc.domain.folding import fold
from chatsvc.services.administration import OPERATIONS

_DAY = re.compile(rf"\b(?:{'|'.join(opening_hours.DAYS)})\b")
_WORDS = {
    "status": "records.status_{}",
    "subscription_status": "account.status_{}",
    "fallback": "bot.fallback_{}",
    "form_of_address": "bot.{}",
    "roles": "roles.{}",
    "notices": "me.notice_{}",
    "language": "languages.{}",
    "country": "countries.{}",
}
"""Settings whose values are codes, with the texts that name them."""


async def show(page: Page) -> Response:
    """List audit records, newest first. An administrator sees those of the whole installation, an owner those of the account."""
    filters: dict[str, Any] = {name: page.query.get(name) or None for name in ("since", "actor", "act")}
    account = None if page.operator.admin else page.account_id
    listed = await page.listed("audit", account=account, limit=50, after=page.query.get("after"), **filters)
    accounts = {account.id: account.name for account in page.accounts.values()}
    bots, team = {}, {}
    if page.account_id is not None:
        bots = {bot.id: bot.name for bot in (await records.bots_of(page)).values()}
        team = {operator.id: operator.email for operator in (await page.perform("operator.list", account=account)).items}
    acts = {name: catalogue.name_of(page.language, "acts", name) for name in OPERATIONS}
    return page.render(
        "audit.html",
        **filters,
        records=listed.items,
        next=listed.next,
        people=sorted(team.items(), key=lambda pair: pair[1]),
        acts=sorted(((name, text) for name, text in acts.items() if text != name), key=lambda pair: fold(pair[1])),
        names=accounts,
        act_of=lambda name: acts.get(name, name),
        setting_of=lambda path: _setting(page, path, accounts),
        value_of=lambda path, value: _value(page, path.partition(".")[0], value),
        concerned=lambda record: [(_kind(page, kind), (accounts | team | bots).get(key), key) for kind, key in _ids(record)],
    )


def _setting(page: Page, path: str, accounts: dict[str, str]) -> str:
    """Return the name of a setting, such as "Sentences: thanks.tr". For a role, it includes the name of the account."""
    name, _, rest = path.partition(".")
    title = next((page.text(key) for key in (f"audit.setting_{name}", f"fields.{name}") if translations.has(key)), name)
    return f"{title}: {accounts.get(rest, rest)}" if rest else title


def _value(page: Page, setting: str, value: str) -> str:
    """Return the text that a setting's page shows for a value. Return a value without such a text unchanged."""
    if value in ("true", "false"):
        return page.text(f"audit.{value}")
    if setting == "opening_hours":
        return _DAY.sub(lambda day: times.DAYS[page.language][opening_hours.DAYS.index(day[0])], value)
    parts = [value]
    if value.startswith("["):
        with suppress(ValueError):  # a long list is cut
            parts = list(map(str, json.loads(value)))
    keys = [_WORDS.get(setting, "").format(part) for part in parts]
    return ", ".join(page.text(key) if translations.has(key) else part for key, part in zip(keys, parts, strict=True))


def _ids(record: AuditRecord) -> list[tuple[str, str]]:
    """Return the kinds and ids of the records of an audit entry, each once, without the account.

    A created record has the kind of its operation, such as `key` for `key.create`.
    """
    kinds = {key: kind for kind, key in record.ids.items() if kind != "id"}
    new = record.ids.get("id")
    if new and new not in (*kinds, record.account_id):
        kinds[new] = record.operation.partition(".")[0]
    return [(kind, key) for key, kind in kinds.items() if kind != "account"]


def _kind(page: Page, kind: str) -> str:
    return page.text(f"audit.kind_{kind}") if translations.has(f"audit.kind_{kind}") else kind
