"""Visitors who wait for a person. The script reads this page again and again for the list on "Today" and the inbox."""

from __future__ import annotations

from chatsvc.dashboard import records
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.http.response import HttpResponse

PATH = "/waiting"


async def show(page: Page) -> HttpResponse:
    """Show the conversations that wait."""
    return page.render("waiting.html", waiting=await records.waiting(page), bots=await records.bots_of(page))


ROUTES = (Route("GET", PATH, show, Access.READER),)
