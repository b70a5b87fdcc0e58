"""Mails of the installation: what was sent and what was not, and a test."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.mails import SENT, STATES
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse

PATH = "/system/mails"
LIMIT = 50


async def show(page: Page) -> HttpResponse:
    """Show the mails, newest first."""
    return page.render("mails.html", **await _values(page))


async def _values(page: Page, email: str | None = None) -> dict[str, Any]:
    status = page.query.get("status") if page.query.get("status") in STATES else None
    listed = await page.perform("mail.list", status=status, limit=LIMIT, after=page.query.get("after"))
    return {
        "mails": listed.items,
        "next": listed.next,
        "states": STATES,
        "chosen": status,
        "smtp": page.services.config.notices.smtp,
        "email": email if email is not None else page.operator.email,
        "sent": None,
    }


async def test(page: Page) -> HttpResponse:
    """Send a test mail; a failed one is shown with the server's answer."""
    email = (await page.form()).text("email")
    try:
        sent = await page.perform("mail.test", email=email)
    except Refused as fault:
        return page.refused("mails.html", fault, **await _values(page, email))
    if sent.state == SENT:
        return page.redirect(PATH, done="sent")
    return page.render("mails.html", **{**await _values(page, email), "sent": sent})


ROUTES = (
    Route("GET", PATH, show, Access.ADMINISTRATOR),
    Route("POST", PATH, test, Access.ADMINISTRATOR),
)
