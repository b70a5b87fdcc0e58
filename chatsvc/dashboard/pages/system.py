"""System pages for the administrator: examination, backups, connections, metrics, version, licences, mails and a test mail.

The audit log shows every operation with its actor and outcome. An owner sees only the operations of the account.
"""

import json
import re
from contextlib import suppress
from typing import Any

from aiohttp.web import Response

from chatsvc import translations
from chatsvc.dashboard import localization, records, wording
from chatsvc.dashboard.page import Page, act, form, view
from chatsvc.domain import opening_hours, times
from chatsvc.domain.actors import AuditRecord
from chatsvc.domain.folding import fold
from chatsvc.domain.mails import SENT, STATES
from chatsvc.services.administration import OPERATIONS
from chatsvc.services.operations.doctor import Examination
from chatsvc.web.forms import Fields


@view("system.html")
async def show(page: Page, _: Fields) -> dict[str, Any]:
    examination: Examination | None = await page.perform("doctor.show")
    findings = [wording.finding(page.language, finding) for finding in examination.findings] if examination else []
    return {
        "system": await page.perform("system.show"),
        "examined_at": examination.examined_at if examination else None,
        "bad": [finding for state in ("fault", "warning") for finding in findings if finding["state"] == state],
        "good": [finding for finding in findings if finding["state"] == "ok"],
        "backups": await page.perform("backup.list"),
        "schedule": page.services.config.backup,
        "egress": (await page.perform("egress.show")).egress,
        "smtp": page.services.config.notices.smtp,
        "metrics": await page.perform("metrics.show"),
    }


examine = act("doctor.run", to="/system#examination")


@form(show)
async def back_up(page: Page, fields: Fields) -> Response:
    await page.perform("backup.create", keep=True, with_master_key="with_master_key" in fields)
    return page.redirect("/system#backups", done="created")


async def download(page: Page) -> Response:
    name = page.params["backup"]
    return page.download(await page.perform("backup.read", backup=name), "application/octet-stream", name)


async def licenses(page: Page) -> Response:
    return page.render("licenses.html", packages=await page.perform("license.list"))


@view("mails.html")
async def show_mails(page: Page, typed: Fields) -> dict[str, Any]:
    status = page.query.get("status") if page.query.get("status") in STATES else None
    listed = await page.perform("mail.list", status=status, limit=50, after=page.query.get("after"))
    return {
        "mails": listed.items,
        "next": listed.next,
        "states": STATES,
        "chosen": status,
        "smtp": page.services.config.notices.smtp,
        "email": typed.text("email") if "email" in typed else page.operator.email,
        "sent": None,
    }


@form(show_mails)
async def test_mail(page: Page, fields: Fields) -> Response:
    """Send a test mail. If this fails, show the mail server's answer."""
    mail = await page.perform("mail.test", email=fields.text("email"))
    return page.redirect("/system/mails", done="sent") if mail.state == SENT else await show_mails(page, fields, sent=mail)


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


async def show_audit(page: Page) -> Response:
    """List audit records, newest first. An administrator sees all records of the installation, an owner the records of the account."""
    filters: dict[str, Any] = {name: page.query.get(name) or None for name in ("since", "actor", "act")}
    account = None if page.operator.admin else page.account_id
    listed = await page.listed("audit", account=account, limit=50, after=page.query.get("after"), **filters)
    accounts = {account.id: account.name for account in page.accounts.values()}
    bots, team = {}, {}
    if page.account_id is not None:
        bots = {bot.id: bot.name for bot in (await records.bots_of(page)).values()}
        team = {operator.id: operator.email for operator in (await page.perform("operator.list", account=account)).items}
    acts = {name: localization.name_of(page.language, "acts", name) for name in OPERATIONS}
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
    """Return the name of the setting at `path`, such as "Sentences: thanks.tr". For a role, the name includes the account's name."""
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
    """Return a pair (kind, id) for each record that an audit entry names, except for the account.

    A created record has the kind of its operation, such as `key` for `key.create`.
    """
    kinds = {key: kind for kind, key in record.ids.items() if kind != "id"}
    new = record.ids.get("id")
    if new and new not in (*kinds, record.account_id):
        kinds[new] = record.operation.partition(".")[0]
    return [(kind, key) for key, kind in kinds.items() if kind != "account"]


def _kind(page: Page, kind: str) -> str:
    return page.text(f"audit.kind_{kind}") if translations.has(f"audit.kind_{kind}") else kind
