"""API keys of the account: list, create, revoke."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse

LIMIT = 50
PATH = "/keys"


async def show(page: Page) -> HttpResponse:
    return page.render("keys.html", name="", expires="", **await _keys(page))


async def _keys(page: Page) -> dict[str, Any]:
    if page.account_id is None:
        return {"keys": [], "next": None}
    listed = await page.perform("key.list", account=page.account_id, limit=LIMIT, after=page.query.get("after"))
    return {"keys": listed.items, "next": listed.next}


async def create(page: Page) -> HttpResponse:
    """Create a key, which the next page shows once."""
    fields = await page.form()
    name, expires = fields.text("name"), fields.text("expires")
    try:
        made = await page.perform("key.create", account=page.account_id, name=name or None, expires=expires or None)
    except Refused as fault:
        return page.refused("keys.html", fault, name=name, expires=expires, **await _keys(page))
    return await page.show_once({made.key.label or made.key.prefix: made.secret}, PATH, page.text("keys.once"))


async def revoke(page: Page) -> HttpResponse:
    """Revoke a key for good."""
    try:
        (await page.form()).require_confirmation()
        await page.perform("key.revoke", key=page.params["key"])
    except Refused as fault:
        return page.refused("keys.html", fault, name="", expires="", **await _keys(page))
    return page.redirect(PATH, done="saved")


ROUTES = (
    Route("GET", PATH, show, Access.OWNER),
    Route("POST", PATH, create, Access.OWNER),
    Route("POST", "/keys/{key}/revoke", revoke, Access.OWNER),
)
