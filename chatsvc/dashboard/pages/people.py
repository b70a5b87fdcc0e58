"""Visitors as people: a list with search, the form for name, contact data and note, and erasure."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard import records
from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import form, view

_FIELDS = ("name", "email", "phone", "note")


@view("people.html")
async def show(page: Page, typed: Fields) -> dict[str, Any]:
    listed = await page.listed("visitor.list", q=page.query.get("q") or None, limit=40, after=page.query.get("after") or None)
    values = {name: typed.raw(name) for name in ("id", *_FIELDS)} if "id" in typed else {}
    return {"rows": listed.items, "next": listed.next, "bots": await records.bots_of(page), "typed": values}


@form(show)
async def change(page: Page, fields: Fields) -> Response:
    await page.perform("visitor.set", conversation=fields.text("id"), **{name: fields.raw(name) for name in _FIELDS})
    return page.redirect(page.url("/people", q=page.query.get("q")), done="saved")
