"""First page: what is left to do today."""

from __future__ import annotations

from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.http.response import HttpResponse


async def show(page: Page) -> HttpResponse:
    """Show the day's work."""
    return page.render("today.html")


ROUTES = (Route("GET", "/", show, Access.SIGNED_IN),)
