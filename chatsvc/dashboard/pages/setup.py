"""Set-up link: choice of the first or of a forgotten password. A used, expired or wrong link is one and the same 404."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard.page import HOME_PATH, Page
from chatsvc.domain import passwords
from chatsvc.domain.operators import Operator
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse
from chatsvc.usecases import sessions


async def show(page: Page) -> HttpResponse:
    found = await sessions.operator_of_link(page.services, page.params["token"])
    return page.render("setup.html", **_values(page, *found)) if found else page.fail(404)


async def submit(page: Page) -> HttpResponse:
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
            address=page.request.client_address,
        )
    except Refused as fault:
        if fault.code == "link_invalid":
            return page.fail(404)
        return page.refused("setup.html", fault, **_values(page, *found, fields.text("name")))
    return page.start_session(made, HOME_PATH)


def _values(page: Page, operator: Operator, expires_at: int, typed: str | None = None) -> dict[str, Any]:
    page.timezone = operator.timezone or page.timezone
    shown = {"email": operator.email, "expires_at": expires_at, "name": operator.name if typed is None else typed}
    return {"path": page.request.path, "least": passwords.LEAST, "most": passwords.MOST, **shown}
