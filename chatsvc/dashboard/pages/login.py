"""Sign in with e-mail address and password."""

from __future__ import annotations

from chatsvc.dashboard.local_paths import local
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse
from chatsvc.usecases import operators


async def show(page: Page) -> HttpResponse:
    """Show the form, or the command that makes the first operator."""
    if page.is_signed_in:
        return page.redirect(local(page.query.get("next")))
    return page.render("login.html", email="", next=local(page.query.get("next")), somebody=await operators.any_exists(page.services))


async def submit(page: Page) -> HttpResponse:
    """Begin a session."""
    fields = await page.form()
    email, there = fields.text("email"), local(fields.text("next"))
    try:
        made = await page.perform(
            "session.create",
            email=email,
            password=fields.raw("password"),
            browser=page.request.headers.get("User-Agent", ""),
            address=page.request.client_address,
        )
    except Refused as fault:
        return page.refused("login.html", fault, email=email, next=there, somebody=True)
    return page.start_session(made, there)


ROUTES = (Route("GET", "/login", show, Access.PUBLIC), Route("POST", "/login", submit, Access.PUBLIC))
