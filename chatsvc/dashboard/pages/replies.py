"""Saved replies of the account: list, save, remove."""

from __future__ import annotations

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse

_PATH = "/replies"


async def show(page: Page, fault: Refused | None = None, typed: Fields | None = None) -> HttpResponse:
    """List the saved replies, with what was typed where one is refused."""
    values = {
        "saved": await page.perform("saved_reply.list", account=page.account_id),
        "name": typed.text("name") if typed else "",
        "text": typed.raw("text") if typed else "",
    }
    return page.refused("replies.html", fault, **values) if fault else page.render("replies.html", **values)


async def save(page: Page) -> HttpResponse:
    """Save a reply, in place of one of the same name."""
    fields = await page.form()
    try:
        await page.perform("saved_reply.set", account=page.account_id, name=fields.text("name"), text=fields.raw("text"))
    except Refused as fault:
        return await show(page, fault, fields)
    return page.redirect(_PATH, done="saved")


async def remove(page: Page) -> HttpResponse:
    """Remove a saved reply."""
    fields = await page.form()
    try:
        await page.perform("saved_reply.remove", account=page.account_id, name=fields.text("name"))
    except Refused as fault:
        return await show(page, fault)
    return page.redirect(_PATH, done="removed")


ROUTES = (
    Route("GET", _PATH, show, Access.READER),
    Route("POST", _PATH, save, Access.EDITOR),
    Route("POST", f"{_PATH}/remove", remove, Access.EDITOR),
)
