"""Sign-in with e-mail address and password, then with a code; sign-out. Also the set-up link with which an operator chooses a password."""

from typing import Any

from aiohttp.web import HTTPNotFound, Response

from chatsvc.dashboard.page import HOME_PATH, LOGIN_PATH, Page, form, view
from chatsvc.dashboard.responses import local
from chatsvc.domain import passwords
from chatsvc.domain.refusals import Refused
from chatsvc.services.team import operators, sessions
from chatsvc.web.forms import Fields


async def _values(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the values of a sign-in form. `somebody` is false if no operator exists; the page then shows how to create one."""
    next_path = local(typed.text("next") if typed else page.query.get("next"))
    somebody = bool(typed) or await operators.any_exists(page.services)
    return {"email": typed.text("email"), "next": next_path, "somebody": somebody, "mails": page.services.sends_mail}


login = view("login.html")(_values)
show_code = view("second_factor.html")(_values)


async def show(page: Page) -> Response:
    """Show the sign-in form. If there is a session already, redirect to the page that follows the sign-in."""
    return page.redirect(local(page.query.get("next"))) if page.is_signed_in else await login(page)


def _sender(page: Page) -> dict[str, str]:
    return {"browser": page.request.headers.get("User-Agent", ""), "address": page.info.client_address}


@form(login)
async def submit(page: Page, fields: Fields) -> Response:
    session = await page.perform("session.create", email=fields.text("email"), password=fields.raw("password"), **_sender(page))
    return page.start_session(session, fields.text("next"))


@form(show_code)
async def submit_code(page: Page, fields: Fields) -> Response:
    session = await page.perform("session.verify", code=fields.text("code"), address=page.info.client_address)
    return page.start_session(session, fields.text("next"))


async def show_logout(page: Page) -> Response:
    return page.render("logout.html") if page.signed_in else page.redirect(LOGIN_PATH)


async def sign_out(page: Page) -> Response:
    """End the session. It is not an error if the session has ended already."""
    try:
        await page.perform("session.remove")
    except Refused as refusal:
        if refusal.code != "session_needed":
            raise
    return page.end_session()


@view("forgotten.html")
async def show_forgotten(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the values of the form for a forgotten password, which asks for a set-up link by mail."""
    if not page.services.sends_mail:
        raise HTTPNotFound
    return {"is_sent": "sent" in page.query and not typed, "email": typed.text("email")}


@form(show_forgotten)
async def ask_for_link(page: Page, fields: Fields) -> Response:
    """Mail a set-up link to the operator with the typed e-mail address. The response is the same if there is no such operator."""
    await sessions.ask_for_link(page.services, fields.text("email"), page.info.client_address)
    return page.redirect("/forgot?sent=1")


@view("setup.html")
async def show_setup(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the values of the page that a set-up link opens. A used, an expired and an unknown link give the same 404."""
    link = await sessions.find_link(page.services, page.params["token"])
    if link is None:
        raise HTTPNotFound
    operator = link.operator
    page.timezone = operator.timezone or page.timezone
    name = typed.text("name") if typed else operator.name
    limits = {"least": passwords.LEAST, "most": passwords.MOST}
    return {"path": page.path, "email": operator.email, "expires_at": link.expires_at, "name": name, **limits}


@form(show_setup)
async def set_up(page: Page, fields: Fields) -> Response:
    password, name = fields.raw("password"), fields.text("name")
    session = await page.perform("password.set", token=page.params["token"], password=password, name=name, **_sender(page))
    return page.start_session(session, HOME_PATH)
