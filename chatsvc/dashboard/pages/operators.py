"""Operators of an account: list, add, roles, set-up links, sessions, remove."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import HOME_PATH, Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.operators import LANGUAGES, NO_ROLE, ROLES, NewOperator
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse
from chatsvc.usecases import operators

PATH = "/operators"
ONE = "/operators/{email}"
_EMPTY = {"email": "", "name": "", "role": "reader", "language": "", "admin": False}


def _path(email: str) -> str:
    return f"{PATH}/{quote(email, safe='@')}"


async def show(page: Page, fault: Refused | None = None, typed: dict[str, object] | None = None) -> HttpResponse:
    """List the operators of the account, for an administrator all. With the form that adds one."""
    account = None if page.operator.admin else page.account_id
    listed = await page.perform("operator.list", account=account, after=page.query.get("after"))
    values = {"listed": listed, "roles": list(ROLES), "languages": LANGUAGES, "typed": typed or _EMPTY, "path_of": _path}
    return page.refused("operators.html", fault, **values) if fault else page.render("operators.html", **values)


async def add(page: Page) -> HttpResponse:
    """Add an operator and show the set-up link once."""
    fields = await page.form()
    typed = {"admin": fields.checked("admin"), **{name: fields.text(name) for name in ("email", "name", "role", "language")}}
    role = fields.optional("role")
    place = {"account": page.account_id, "role": role} if role not in (None, NO_ROLE) else {}
    try:
        made = await page.perform(
            "operator.add",
            email=fields.text("email"),
            admin=fields.checked("admin"),
            name=fields.optional("name"),
            language=fields.optional("language"),
            **place,
        )
    except Refused as fault:
        return await show(page, fault, typed)
    return await _show_link(page, made)


async def _show_link(page: Page, made: NewOperator) -> HttpResponse:
    back = _path(made.operator.email)
    return await page.show_once(
        {page.text("operators.link_of", email=made.operator.email): made.link or ""}, back, page.text("operators.link_title")
    )


async def show_one(page: Page, fault: Refused | None = None, typed: Mapping[str, object] | None = None) -> HttpResponse:
    """Show an operator with the forms that change him or her. `typed` replaces values after a refusal."""
    if fault is not None and fault.code == "forbidden":
        raise fault
    operator = await operators.find(page.services, page.caller, page.params["email"])
    role = operator.roles.get(page.account_id or "")
    is_self = operator.id == page.operator.id
    visible = {account: role for account, role in operator.roles.items() if page.caller.scope.includes(account)}
    whole = page.operator.admin or (not operator.admin and visible.keys() == operator.roles.keys())
    role_name = role.name.lower() if role else NO_ROLE
    values = {
        "shown": operator,
        "typed": {"role": role_name, "name": operator.name, "language": operator.language, **(typed or {})},
        "path": _path(operator.email),
        "is_self": is_self,
        "whole": whole,
        "visible": visible,
        "roles": [*ROLES, NO_ROLE],
        "languages": LANGUAGES,
        "sessions": await page.perform("operator.sessions", email=operator.email) if whole else [],
    }
    return page.refused("operator.html", fault, **values) if fault else page.render("operator.html", **values)


async def change(page: Page) -> HttpResponse:
    """Change the role in the account. Name, language and administrator change where the fields are given."""
    fields = await page.form()
    email = page.params["email"]
    arguments = _changes(page, fields)
    is_own_role = email == page.operator.email and "role" in arguments
    try:
        if is_own_role and arguments["role"] == NO_ROLE:
            fields.require_confirmation()
        if "name" in fields and (fields.optional("name") or (await operators.find(page.services, page.caller, email)).name):
            arguments["name"] = fields.text("name")  # an empty field changes nothing where there is no name yet
        await page.perform("operator.set", email=email, **arguments)
    except Refused as fault:
        return await show_one(page, fault, {name: fields.text(name) for name in ("role", "name", "language") if name in fields})
    if is_own_role and arguments["role"] != "owner" and not page.operator.admin:
        return page.redirect(HOME_PATH, done="saved")
    if email == page.operator.email or arguments.get("role") == NO_ROLE:
        return page.redirect(PATH, done="saved")
    return page.redirect(_path(email), done="saved")


def _changes(page: Page, fields: Fields) -> dict[str, object]:
    changes: dict[str, object] = {}
    if fields.optional("role"):
        changes |= {"account": page.account_id, "role": fields.text("role")}
    if fields.optional("language"):
        changes["language"] = fields.text("language")
    if "admin" in fields:
        changes["admin"] = fields.text("admin") == "true"
    return changes


async def link(page: Page) -> HttpResponse:
    """Make a new set-up link and show it once."""
    try:
        made = await page.perform("operator.link", email=page.params["email"])
    except Refused as fault:
        return await show_one(page, fault)
    return await _show_link(page, made)


async def remove(page: Page) -> HttpResponse:
    try:
        (await page.form()).require_confirmation()
        await page.perform("operator.remove", email=page.params["email"])
    except Refused as fault:
        return await show_one(page, fault)
    return page.redirect(PATH, done="removed")


ROUTES = (
    Route("GET", PATH, show, Access.OWNER),
    Route("POST", PATH, add, Access.OWNER),
    Route("GET", ONE, show_one, Access.OWNER),
    Route("POST", ONE, change, Access.OWNER),
    Route("POST", ONE + "/link", link, Access.OWNER),
    Route("POST", ONE + "/remove", remove, Access.OWNER),
)
