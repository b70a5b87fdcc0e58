"""Sign in with e-mail address and password; the second step with a code; sign out."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.local_paths import local
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import Action, View
from chatsvc.domain.operators import NewSession
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse
from chatsvc.usecases import operators


async def _values(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the values of the form; `somebody` is false where the page names the command that makes the first operator."""
    there = local(typed.text("next") if typed else page.query.get("next"))
    return {"email": typed.text("email"), "next": there, "somebody": bool(typed) or await operators.any_exists(page.services)}


def _given(page: Page, fields: Fields) -> dict[str, Any]:
    request = page.request
    sender = {"browser": request.headers.get("User-Agent", ""), "address": request.client_address}
    return {"email": fields.text("email"), "password": fields.raw("password"), **sender}


async def _begin(page: Page, made: NewSession) -> HttpResponse:
    return page.start_session(made, local((await page.form()).text("next")))


def _code(page: Page, fields: Fields) -> dict[str, Any]:
    return {"code": fields.text("code"), "address": page.request.client_address}


view = View("login.html", _values)
submit = Action("session.create", view, _given, then=_begin)
show_code = View("second_factor.html", _values)
submit_code = Action("session.verify", show_code, _code, then=_begin)


async def show(page: Page) -> HttpResponse:
    """Show the form, or the page that a session leads to."""
    return page.redirect(local(page.query.get("next"))) if page.is_signed_in else await view(page)


async def show_logout(page: Page) -> HttpResponse:
    return page.render("logout.html") if page.signed_in else page.redirect("/login")


async def sign_out(page: Page) -> HttpResponse:
    """End the session; one that has ended already is no error."""
    try:
        await page.perform("session.remove")
    except Refused as fault:
        if fault.code != "session_needed":
            raise
    return page.end_session("/login")
