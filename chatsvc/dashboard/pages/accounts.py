"""Accounts: an owner's own account with its API keys. An administrator can search, create, change and delete all accounts."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.page import Page, act, form, view
from chatsvc.domain.models import SUBSCRIPTION_STATUSES
from chatsvc.services.accounts.accounts import NO_PLAN
from chatsvc.web.forms import NO_FIELDS, Fields

DEFAULT_PLAN = "enterprise"
SETTINGS = ("name", "plan", "status", "messages_limit", "credits")


@view("accounts.html")
async def show(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the accounts whose names contain the search terms."""
    q, plans = page.query.get("q", "").strip(), _plans(page)
    listed = await page.perform("account.list", q=q, limit=50, after=page.query.get("after"))
    chosen = typed.text("plan") or (DEFAULT_PLAN if DEFAULT_PLAN in page.services.config.plans else plans[-1][0])
    return {"accounts": listed.items, "next": listed.next, "q": q, "plans": plans, "name": typed.text("name"), "plan": chosen}


def _plans(page: Page) -> list[tuple[str, str]]:
    return [(NO_PLAN, page.text("accounts.no_plan")), *((plan, plan) for plan in page.services.config.plans)]


@form(show)
async def create(page: Page, fields: Fields) -> Response:
    created = await page.perform("account.create", name=fields.text("name"), plan=fields.text("plan"))
    return page.redirect(f"/accounts/{created.account.id}", done="created")


@view("account_detail.html")
async def detail(page: Page, typed: Fields) -> dict[str, Any]:
    usage = await page.perform("account.show", account=page.params["account"])
    account = usage.account
    stored = (account.name, account.plan or NO_PLAN, account.subscription_status, account.messages_limit, account.message_credits)
    is_typed = any(name in typed for name in SETTINGS)
    return {
        "account": account,
        "used": usage.messages_used,
        "plans": _plans(page),
        "statuses": [(status, page.text(f"accounts.status_{status}")) for status in SUBSCRIPTION_STATUSES],
        "typed": {name: typed.text(name) for name in SETTINGS} if is_typed else dict(zip(SETTINGS, stored, strict=True)),
    }


delete = act("account.delete", "account", to="/accounts", done="removed", shown=detail, confirm=True)


@form(detail)
async def change(page: Page, fields: Fields) -> Response:
    """Change the values of an account that differ from the form. A new plan brings its own message limit, unless one is typed."""
    stored = (await detail.values(page, NO_FIELDS))["typed"]
    given = {name: fields.number(name) if name in ("messages_limit", "credits") else fields.optional(name) for name in SETTINGS}
    if "name" in fields:
        given["name"] = fields.text("name")
    changes = {name: value for name, value in given.items() if value is not None and value != stored[name]}
    await page.perform("account.set", account=page.params["account"], **changes)
    return page.redirect(page.path, done="saved")


@view("account.html")
async def show_own(page: Page, _: Fields) -> dict[str, Any]:
    """Return plan, allowance, credits and subscription of the page's account."""
    if page.account_id is None:
        return {"account": None}
    usage = await page.perform("account.show", account=page.account_id)
    plan = page.services.config.plans.get(usage.account.plan or "")
    return {"account": usage.account, "used": usage.messages_used, "plan": plan}


@view("keys.html")
async def show_keys(page: Page, typed: Fields) -> dict[str, Any]:
    values: dict[str, Any] = {"keys": [], "next": None, "name": typed.text("name"), "expires": typed.text("expires")}
    if page.account_id is None:
        return values
    listed = await page.perform("key.list", account=page.account_id, limit=50, after=page.query.get("after"))
    return {**values, "keys": listed.items, "next": listed.next}


@form(show_keys)
async def create_key(page: Page, fields: Fields) -> Response:
    name, expires = fields.optional("name"), fields.optional("expires")
    created = await page.perform("key.create", account=page.account_id, name=name, expires=expires)
    return await page.show_once({created.key.label or created.key.prefix: created.secret}, "/keys", page.text("keys.once"))


revoke_key = act("key.revoke", "key", to="/keys", done="saved", shown=show_keys, confirm=True)
