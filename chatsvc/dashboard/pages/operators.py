"""Operators of an account: list, add, roles, set-up links, sessions, remove."""

from typing import Any
from urllib.parse import quote

from aiohttp.web import Response

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import HOME_PATH, Page
from chatsvc.dashboard.views import Action, View
from chatsvc.domain.operators import LANGUAGES, NO_ROLE, ROLES, NewOperator
from chatsvc.domain.refusals import Refused
from chatsvc.services.team import operators

PATH = "/operators"


def _path(email: str) -> str:
    return f"{PATH}/{quote(email, safe='@')}"


async def _list(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the operators of the account, for an administrator all."""
    account = None if page.operator.admin else page.account_id
    listed = await page.perform("operator.list", account=account, after=page.query.get("after"))
    new = {name: typed.text(name) for name in ("email", "name", "role", "language")} | {"admin": typed.checked("admin")}
    new["role"] = new["role"] if typed else "reader"
    return {"listed": listed, "roles": list(ROLES), "languages": LANGUAGES, "typed": new, "path_of": _path}


def _new(page: Page, fields: Fields) -> dict[str, Any]:
    role = fields.optional("role")
    place = {"account": page.account_id, "role": role} if role not in (None, NO_ROLE) else {}
    named = {name: fields.optional(name) for name in ("name", "language")}
    return {"email": fields.text("email"), "admin": fields.checked("admin"), **named, **place}


async def _show_link(page: Page, made: NewOperator) -> Response:
    secrets = {page.text("operators.link_of", email=made.operator.email): made.link or ""}
    return await page.show_once(secrets, _path(made.operator.email), page.text("operators.link_title"))


async def _values(page: Page, typed: Fields) -> dict[str, Any]:
    operator = await operators.find(page.services, page.caller, page.params["email"])
    role = operator.roles.get(page.account_id or "")
    visible = {account: role for account, role in operator.roles.items() if page.caller.scope.includes(account)}
    whole = page.operator.admin or (not operator.admin and visible.keys() == operator.roles.keys())
    kept = {"role": role.name.lower() if role else NO_ROLE, "name": operator.name, "language": operator.language}
    return {
        "shown": operator,
        "typed": {name: typed.text(name) if name in typed else value for name, value in kept.items()},
        "path": _path(operator.email),
        "is_self": operator.id == page.operator.id,
        "whole": whole,
        "visible": visible,
        "roles": [*ROLES, NO_ROLE],
        "languages": LANGUAGES,
        "sessions": await page.perform("operator.sessions", email=operator.email) if whole else [],
    }


show = View("operators.html", _list)
add = Action("operator.add", show, _new, then=_show_link)
show_one = View("operator.html", _values)
link = Action("operator.link", show_one, then=_show_link)
remove = Action("operator.remove", show_one, to=PATH, done="removed", confirm=True)


async def change(page: Page) -> Response:
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
        return await show_one.refuse(page, fault, fields)
    if is_own_role and arguments["role"] != "owner" and not page.operator.admin:
        return page.redirect(HOME_PATH, done="saved")
    is_listed = email == page.operator.email or arguments.get("role") == NO_ROLE
    return page.redirect(PATH if is_listed else _path(email), done="saved")


def _changes(page: Page, fields: Fields) -> dict[str, object]:
    changes: dict[str, object] = {}
    if fields.optional("role"):
        changes |= {"account": page.account_id, "role": fields.text("role")}
    if fields.optional("language"):
        changes["language"] = fields.text("language")
    if "admin" in fields:
        changes["admin"] = fields.text("admin") == "true"
    return changes
