"""Sign in with e-mail address and password; the second step with a code; sign out. Set-up link, on which the password is chosen."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.local_paths import local
from chatsvc.dashboard.page import HOME_PATH, Page
from chatsvc.dashboard.views import Action, View
from chatsvc.domain import passwords
from chatsvc.domain.operators import NewSession, Operator
from chatsvc.domain.refusals import Refused
from chatsvc.services.team import operators, sessions


async def _values(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the values of the form; `somebody` is false where the page names the command that makes the first operator."""
    there = local(typed.text("next") if typed else page.query.get("next"))
    return {"email": typed.text("email"), "next": there, "somebody": bool(typed) or await operators.any_exists(page.services)}


def _given(page: Page, fields: Fields) -> dict[str, Any]:
    request = page.request
    sender = {"browser": request.headers.get("User-Agent", ""), "address": page.info.client_address}
    return {"email": fields.text("email"), "password": fields.raw("password"), **sender}


async def _begin(page: Page, made: NewSession) -> Response:
    return page.start_session(made, local((await page.form()).text("next")))


def _code(page: Page, fields: Fields) -> dict[str, Any]:
    return {"code": fields.text("code"), "address": page.info.client_address}


view = View("login.html", _values)
submit = Action("session.create", view, _given, then=_begin)
show_code = View("second_factor.html", _values)
submit_code = Action("session.verify", show_code, _code, then=_begin)


async def show(page: Page) -> Response:
    """Show the form, or the page that a session leads to."""
    return page.redirect(local(page.query.get("next"))) if page.is_signed_in else await view(page)


async def show_logout(page: Page) -> Response:
    return page.render("logout.html") if page.signed_in else page.redirect("/login")


async def sign_out(page: Page) -> Response:
    """End the session; one that has ended already is no error."""
    try:
        await page.perform("session.remove")
    except Refused as fault:
        if fault.code != "session_needed":
            raise
    return page.end_session("/login")


async def show_setup(page: Page) -> Response:
    """Show the form for the operator of a set-up link. A used, expired or wrong one is one and the same 404."""
    found = await sessions.operator_of_link(page.services, page.params["token"])
    return page.render("setup.html", **_setup_values(page, *found)) if found else page.fail(404)


async def set_up(page: Page) -> Response:
    found = await sessions.operator_of_link(page.services, page.params["token"])
    if found is None:
        return page.fail(404)
    fields = await page.form()
    try:
        made = await page.perform(
            "password.set",
            token=page.params["token"],
            password=fields.raw("password"),
            name=fields.text("name"),
            browser=page.request.headers.get("User-Agent", ""),
            address=page.info.client_address,
        )
    except Refused as fault:
        if fault.code == "link_invalid":
            return page.fail(404)
        return page.refused("setup.html", fault, **_setup_values(page, *found, fields.text("name")))
    return page.start_session(made, HOME_PATH)


def _setup_values(page: Page, operator: Operator, expires_at: int, typed: str | None = None) -> dict[str, Any]:
    page.timezone = operator.timezone or page.timezone
    shown = {"email": operator.email, "expires_at": expires_at, "name": operator.name if typed is None else typed}
    return {"path": page.path, "least": passwords.LEAST, "most": passwords.MOST, **shown}
