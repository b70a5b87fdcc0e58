"""Bots of the account: list, create."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse

NO_VALUES = {"name": "", "model": "", "language": "tr", "country": "TR", "timezone": "Europe/Istanbul", "description": ""}


async def _context(page: Page) -> dict[str, Any]:
    found = await page.perform("bot.list", account=page.account_id, after=page.query.get("after")) if page.account_id else None
    return {
        "bots": found.items if found else [],
        "next": found.next if found else None,
        "tiers": [(one, one) for one in page.services.config.models],
    }


async def show(page: Page) -> HttpResponse:
    return page.render("bots.html", **await _context(page), values=NO_VALUES)


async def create(page: Page) -> HttpResponse:
    """Create a bot and go on with its knowledge."""
    fields = await page.form()
    values = {name: fields.text(name) for name in NO_VALUES}
    try:
        given = {name: value for name, value in values.items() if value and name != "name"}
        made = await page.perform("bot.create", account=page.account_id, name=values["name"], **given)
    except Refused as fault:
        return page.refused("bots.html", fault, **await _context(page), values=values)
    return page.redirect(f"/bots/{made.id}/knowledge", done="bot_created")


ROUTES = (Route("GET", "/bots", show, Access.READER), Route("POST", "/bots", create, Access.READER))
