"""The account of the page for its owner; all accounts for the administrator: search, create, change, delete."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.fields import NO_FIELDS, Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import Action, View
from chatsvc.domain.models import SUBSCRIPTION_STATUSES
from chatsvc.domain.refusals import Refused
from chatsvc.services.accounts.accounts import NO_PLAN

DEFAULT_PLAN = "enterprise"
SETTINGS = ("name", "plan", "status", "messages_limit", "credits")


async def _list(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the accounts whose name has the words searched for."""
    q, plans = page.query.get("q", "").strip(), _plans(page)
    # Over all accounts, not in the chosen one.
    listed = await page.perform_everywhere("account.list", q=q, limit=50, after=page.query.get("after"))
    chosen = typed.text("plan") or (DEFAULT_PLAN if DEFAULT_PLAN in page.services.config.plans else plans[-1][0])
    return {"accounts": listed.items, "next": listed.next, "q": q, "plans": plans, "name": typed.text("name"), "plan": chosen}


def _plans(page: Page) -> list[tuple[str, str]]:
    return [(NO_PLAN, page.text("accounts.no_plan")), *((plan, plan) for plan in page.services.config.plans)]


async def _detail(page: Page, typed: Fields) -> dict[str, Any]:
    found = await page.perform("account.show", account=page.params["account"])
    account = found.account
    kept = (account.name, account.plan or NO_PLAN, account.subscription_status, account.messages_limit, account.message_credits)
    return {
        "account": account,
        "used": found.messages_used,
        "plans": _plans(page),
        "statuses": [(status, page.text(f"accounts.status_{status}")) for status in SUBSCRIPTION_STATUSES],
        "typed": {name: typed.text(name) for name in SETTINGS}
        if any(name in typed for name in SETTINGS)
        else dict(zip(SETTINGS, kept, strict=True)),
    }


show = View("accounts.html", _list)
create = Action("account.create", show, "name plan", to="/accounts/{made.account.id}", done="created")
detail = View("account_detail.html", _detail)
delete = Action("account.delete", detail, to="/accounts", done="removed", confirm=True)


async def change(page: Page) -> Response:
    """Change what differs; a new plan brings its own limit unless another one is typed."""
    fields = await page.form()
    before = (await _detail(page, NO_FIELDS))["typed"]
    given = {name: fields.number(name) if name in ("messages_limit", "credits") else fields.optional(name) for name in SETTINGS}
    if "name" in fields:
        given["name"] = fields.text("name")
    changes = {name: value for name, value in given.items() if value is not None and value != before[name]}
    try:
        await page.perform("account.set", account=page.params["account"], **changes)
    except Refused as fault:
        return await detail.refuse(page, fault, fields)
    return page.redirect(page.path, done="saved")


async def _own(page: Page, _: Fields) -> dict[str, Any]:
    """Return plan, allowance, credits and subscription of the account of the page."""
    if page.account_id is None:
        return {"account": None}
    found = await page.perform("account.show", account=page.account_id)
    plan = page.services.config.plans.get(found.account.plan or "")
    return {"account": found.account, "used": found.messages_used, "plan": plan}


show_own = View("account.html", _own)
