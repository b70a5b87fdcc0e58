"""Inbox: requests and appointments of all bots. With filters, and forms for status, note and the person in charge."""

from __future__ import annotations

from chatsvc.dashboard import records
from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.inbox import InboxItem
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse
from chatsvc.usecases.inbox import STATUSES

_LIMIT = 20
_PATH = "/inbox"
_FILTERS = ("q", "bot", "status", "kind", "assignee")


async def show(page: Page) -> HttpResponse:
    """Show a page of the inbox; without an account, "Today" explains what to do first."""
    if page.account_id is None:
        return page.redirect("/")
    return await _list(page)


async def change(page: Page) -> HttpResponse:
    """Change a request or an appointment, and show the same list again."""
    fields = await page.form()
    try:
        await records.change(page, fields)
    except Refused as fault:
        return await _list(page, fault, fields)
    return page.redirect(f"{page.url()}#{fields.text('id')}", done="saved")


async def _list(page: Page, fault: Refused | None = None, typed: Fields | None = None) -> HttpResponse:
    chosen = {name: page.query.get(name) or None for name in _FILTERS}
    shown = await records.values(page, typed)
    statuses = [(one, page.text(f"records.status_{one}")) for one in STATUSES]
    waiting = await records.waiting(page)
    filters = {"waiting": waiting, "chosen": chosen, "statuses": statuses, "is_filtered": any(chosen.values())}
    try:
        found: ResultPage[InboxItem] = await page.perform("inbox.list", **chosen, limit=_LIMIT, after=page.query.get("after"))
    except Refused as refused:
        return page.refused("inbox.html", refused, items=[], next=None, **filters, **shown)
    values = {"items": found.items, "next": found.next, **filters, **shown}
    return page.refused("inbox.html", fault, **values) if fault else page.render("inbox.html", **values)


ROUTES = (
    Route("GET", _PATH, show, Access.READER),
    Route("POST", _PATH, change, Access.EDITOR),
)
