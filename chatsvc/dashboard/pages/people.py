"""Visitors as people: a list with search, the form for name, contact data and note, and erasure."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard import records
from chatsvc.dashboard.fields import NO_FIELDS, Fields
from chatsvc.dashboard.page import Page
from chatsvc.domain.refusals import Refused

_FIELDS = ("name", "email", "phone", "note")


async def _values(page: Page, typed: Fields = NO_FIELDS) -> dict[str, Any]:
    found = await page.listed("visitor.list", q=page.query.get("q") or None, limit=40, after=page.query.get("after") or None)
    return {
        "rows": found.items,
        "next": found.next,
        "bots": await records.bots_of(page),
        "typed": {name: typed.raw(name) for name in ("id", *_FIELDS)} if "id" in typed else {},
    }


async def show(page: Page) -> Response:
    return page.render("people.html", **await _values(page))


async def change(page: Page) -> Response:
    fields = await page.form()
    try:
        await page.perform("visitor.set", conversation=fields.text("id"), **{name: fields.raw(name) for name in _FIELDS})
    except Refused as fault:
        return page.refused("people.html", fault, **await _values(page, fields))
    return page.redirect(page.url("/people", q=page.query.get("q")), done="saved")
