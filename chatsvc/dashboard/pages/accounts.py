"""All accounts of the installation, for its administrator: search, create, change, delete."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.models import SUBSCRIPTION_STATUSES
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse
from chatsvc.usecases import administration
from chatsvc.usecases.accounts import NO_PLAN

PATH = "/accounts"
LIMIT = 50
DEFAULT_PLAN = "enterprise"


async def show(page: Page) -> HttpResponse:
    """List the accounts whose name has the words searched for."""
    return page.render("accounts.html", **await _list(page))


async def _list(page: Page, name: str = "", plan: str | None = None) -> dict[str, Any]:
    q, plans = page.query.get("q", "").strip(), _plans(page)
    # Over all accounts, not in the chosen one.
    wanted = {"q": q, "limit": LIMIT, "after": page.query.get("after")}
    listed = await administration.perform(page.services, page.caller, "account.list", wanted)
    chosen = plan or (DEFAULT_PLAN if DEFAULT_PLAN in page.services.config.plans else plans[-1][0])
    return {"accounts": listed.items, "next": listed.next, "q": q, "plans": plans, "name": name, "plan": chosen}


def _plans(page: Page) -> list[tuple[str, str]]:
    return [(NO_PLAN, page.text("accounts.no_plan")), *((plan, plan) for plan in page.services.config.plans)]


async def create(page: Page) -> HttpResponse:
    fields = await page.form()
    name, plan = fields.text("name"), fields.text("plan")
    try:
        made = await page.perform("account.create", name=name, plan=plan)
    except Refused as fault:
        return page.refused("accounts.html", fault, **await _list(page, name, plan))
    return page.redirect(f"{PATH}/{made.account.id}", done="created")


async def detail(page: Page) -> HttpResponse:
    """Show an account with the form that changes it."""
    return page.render("account_detail.html", **await _detail(page))


async def _detail(page: Page, typed: dict[str, Any] | None = None) -> dict[str, Any]:
    found = await page.perform("account.show", account=page.params["account"])
    account = found.account
    kept = {
        "name": account.name,
        "plan": account.plan or NO_PLAN,
        "status": account.subscription_status,
        "messages_limit": account.messages_limit,
        "credits": account.message_credits,
    }
    return {
        "account": account,
        "used": found.messages_used,
        "plans": _plans(page),
        "statuses": [(status, page.text(f"accounts.status_{status}")) for status in SUBSCRIPTION_STATUSES],
        "typed": typed or kept,
    }


async def change(page: Page) -> HttpResponse:
    """Change what differs; a new plan brings its own limit unless another one is typed."""
    fields = await page.form()
    typed = {name: fields.text(name) for name in ("name", "plan", "status", "messages_limit", "credits")}
    before = (await _detail(page))["typed"]
    try:
        given = {
            "name": typed["name"] if "name" in fields else None,
            "plan": typed["plan"] or None,
            "status": typed["status"] or None,
            "messages_limit": fields.number("messages_limit"),
            "credits": fields.number("credits"),
        }
        changes = {name: value for name, value in given.items() if value is not None and value != before[name]}
        await page.perform("account.set", account=page.params["account"], **changes)
    except Refused as fault:
        return page.refused("account_detail.html", fault, **await _detail(page, typed))
    return page.redirect(f"{PATH}/{page.params['account']}", done="saved")


async def delete(page: Page) -> HttpResponse:
    """Delete an account with everything that belongs to it."""
    try:
        (await page.form()).require_confirmation()
        await page.perform("account.delete", account=page.params["account"])
    except Refused as fault:
        return page.refused("account_detail.html", fault, **await _detail(page))
    return page.redirect(PATH, done="removed")


ROUTES = (
    Route("GET", PATH, show, Access.ADMINISTRATOR),
    Route("POST", PATH, create, Access.ADMINISTRATOR),
    Route("GET", "/accounts/{account}", detail, Access.ADMINISTRATOR),
    Route("POST", "/accounts/{account}", change, Access.ADMINISTRATOR),
    Route("POST", "/accounts/{account}/delete", delete, Access.ADMINISTRATOR),
)
