"""Sign out."""

from __future__ import annotations

from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse


async def show(page: Page) -> HttpResponse:
    """Show the button that signs out."""
    return page.render("logout.html") if page.signed_in else page.redirect("/login")


async def submit(page: Page) -> HttpResponse:
    """End the session; one that has ended already is no error."""
    try:
        await page.perform("session.remove")
    except Refused as fault:
        if fault.code != "session_needed":
            raise
    return page.end_session("/login")


ROUTES = (Route("GET", "/logout", show, Access.PUBLIC), Route("POST", "/logout", submit, Access.PUBLIC))
