"""Plan, allowance, credits and subscription of the account."""

from __future__ import annotations

from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.http.response import HttpResponse


async def show(page: Page) -> HttpResponse:
    if page.account_id is None:
        return page.render("account.html", account=None)
    found = await page.perform("account.show", account=page.account_id)
    plans = page.services.config.plans
    plan = plans.get(found.account.plan) if found.account.plan else None
    return page.render("account.html", account=found.account, used=found.messages_used, plan=plan)


ROUTES = (Route("GET", "/account", show, Access.OWNER),)
