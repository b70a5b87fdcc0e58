"""Second step of the sign-in: a code of the authenticator app, or a recovery code."""

from __future__ import annotations

from chatsvc.dashboard.local_paths import local
from chatsvc.dashboard.page import CODE_PATH, Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse


async def show(page: Page) -> HttpResponse:
    """Show the form."""
    return page.render("second_factor.html", next=local(page.query.get("next")))


async def submit(page: Page) -> HttpResponse:
    """Complete the sign-in with a new session."""
    fields = await page.form()
    there = local(fields.text("next"))
    try:
        made = await page.perform("session.verify", code=fields.text("code"), address=page.request.client_address)
    except Refused as fault:
        return page.refused("second_factor.html", fault, next=there)
    return page.start_session(made, there)


ROUTES = (Route("GET", CODE_PATH, show, Access.WAITING), Route("POST", CODE_PATH, submit, Access.WAITING))
