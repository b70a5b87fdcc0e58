"""Set-up link: choice of the first or of a forgotten password. A used, expired or wrong link is one and the same 404."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard.page import HOME_PATH, Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain import passwords
from chatsvc.domain.operators import Operator
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse
from chatsvc.usecases import sessions

PATH = "/setup/{token}"


async def show(page: Page) -> HttpResponse:
    """Show the form for the operator of the link."""
    operator = await sessions.operator_of_link(page.services, page.params["token"])
    return page.render("setup.html", **_values(page, operator)) if operator else page.fail(404)


async def submit(page: Page) -> HttpResponse:
    """Choose the password and begin a session."""
    operator = await sessions.operator_of_link(page.services, page.params["token"])
    if operator is None:
        return page.fail(404)
    fields = await page.form()
    try:
        made = await page.perform(
            "password.set",
            token=page.params["token"],
            password=fields.raw("password"),
            name=fields.text("name"),
            browser=page.request.headers.get("User-Agent", ""),
            address=page.request.client_address,
        )
    except Refused as fault:
        if fault.code == "link_invalid":
            return page.fail(404)
        return page.refused("setup.html", fault, **_values(page, operator, fields.text("name")))
    return page.start_session(made, HOME_PATH)


def _values(page: Page, operator: Operator, typed: str | None = None) -> dict[str, Any]:
    name = operator.name if typed is None else typed
    return {"path": page.request.path, "email": operator.email, "name": name, "least": passwords.LEAST, "most": passwords.MOST}


ROUTES = (Route("GET", PATH, show, Access.PUBLIC), Route("POST", PATH, submit, Access.PUBLIC))
