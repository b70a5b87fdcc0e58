"""Operators of an account: list, add, roles, set-up links, sessions, remove. Also the page that shows secrets once.

The signed-in operator's own settings are name, notices, language, password, second factor and sessions.
"""

from typing import Any
from urllib.parse import quote

from aiohttp.web import Response

from chatsvc.dashboard.page import HOME_PATH, Page, act, form, view
from chatsvc.domain import passwords
from chatsvc.domain.operators import LANGUAGES, NO_NOTICE, NO_ROLE, ROLES, NewOperator, offered_notices
from chatsvc.services.team import credentials, operators
from chatsvc.web.forms import Fields

PATH = "/operators"


def _path(email: str) -> str:
    return f"{PATH}/{quote(email, safe='@')}"


@view("operators.html")
async def show(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the operators of the account, or all operators for an administrator."""
    account = None if page.operator.admin else page.account_id
    listed = await page.perform("operator.list", account=account, after=page.query.get("after"))
    new = {name: typed.text(name) for name in ("email", "name", "role", "language")} | {"admin": "admin" in typed}
    new["role"] = new["role"] if typed else "reader"
    return {
        "listed": listed,
        "roles": list(ROLES),
        "languages": LANGUAGES,
        "typed": new,
        "path_of": _path,
        "mails": page.services.sends_mail,
    }


@form(show)
async def add(page: Page, fields: Fields) -> Response:
    given: dict[str, Any] = {name: fields.optional(name) for name in ("name", "language")}
    if fields.text("role") not in ("", NO_ROLE):
        given |= {"account": page.account_id, "role": fields.text("role")}
    return await _show_link(page, await page.perform("operator.add", email=fields.text("email"), admin="admin" in fields, **given))


async def _show_link(page: Page, added: NewOperator) -> Response:
    secrets = {page.text("operators.link_of", email=added.operator.email): added.link or ""}
    return await page.show_once(secrets, _path(added.operator.email), page.text("operators.link_title"))


@view("operator.html")
async def show_one(page: Page, typed: Fields) -> dict[str, Any]:
    operator = await operators.find(page.services, page.caller, page.params["email"])
    role = operator.roles.get(page.account_id or "")
    visible = {account: role for account, role in operator.roles.items() if page.caller.scope.includes(account)}
    whole = page.operator.admin or (not operator.admin and visible.keys() == operator.roles.keys())
    stored = {"role": role.name.lower() if role else NO_ROLE, "name": operator.name, "language": operator.language}
    return {
        "shown": operator,
        "typed": {name: typed.text(name) if name in typed else value for name, value in stored.items()},
        "path": _path(operator.email),
        "is_self": operator.id == page.operator.id,
        "whole": whole,
        "visible": visible,
        "roles": [*ROLES, NO_ROLE],
        "languages": LANGUAGES,
        "sessions": await page.perform("operator.sessions", email=operator.email) if whole else [],
    }


@form(show_one)
async def link(page: Page, _: Fields) -> Response:
    return await _show_link(page, await page.perform("operator.link", email=page.params["email"]))


remove = act("operator.remove", "email", to=PATH, done="removed", shown=show_one, confirm=True)


@form(show_one)
async def change(page: Page, fields: Fields) -> Response:
    """Change an operator's role in the account. Also change name, language and administrator rights, if the form has these fields."""
    email, role = page.params["email"], fields.text("role")
    is_self = email == page.operator.email
    changes: dict[str, object] = {"account": page.account_id, "role": role} if role else {}
    if fields.optional("language"):
        changes["language"] = fields.text("language")
    if "admin" in fields:
        changes["admin"] = fields.text("admin") == "true"
    if is_self and role == NO_ROLE:
        page.require_confirmation("operator.set", fields)
    if "name" in fields and (fields.optional("name") or (await operators.find(page.services, page.caller, email)).name):
        changes["name"] = fields.text("name")  # an empty field changes nothing where there is no name yet
    await page.perform("operator.set", email=email, **changes)
    if is_self and role not in ("", "owner") and not page.operator.admin:
        return page.redirect(HOME_PATH, done="saved")
    return page.redirect(PATH if is_self or role == NO_ROLE else _path(email), done="saved")


OWN_PATH = "/me"
SECOND_FACTOR = "/me#second-factor"


@view("me.html")
async def show_own(page: Page, typed: Fields) -> dict[str, Any]:
    operator = page.operator
    return {
        "typed": {
            "name": typed.text("name") if "name" in typed else operator.name,
            "notices": _notices(typed) if "name" in typed else operator.notices,
            "timezone": typed.text("timezone") if "timezone" in typed else operator.timezone,
        },
        "sessions": await page.perform("session.list"),
        "codes_left": await credentials.recovery_codes_left(page.services, page.caller),
        "languages": LANGUAGES,
        "notices": offered_notices(operator),
        "least": passwords.LEAST,
        "most": passwords.MOST,
    }


def _notices(fields: Fields) -> list[str]:
    return fields.all("notice") or [NO_NOTICE]


@form(show_own)
async def set_profile(page: Page, fields: Fields) -> Response:
    await page.perform("operator.set", email=page.operator.email, name=fields.text("name"), notices=_notices(fields))
    return page.redirect(OWN_PATH, done="saved")


@form(show_own)
async def set_preference(page: Page, fields: Fields) -> Response:
    """Set the operator's language or time zone. The last part of the path, `language` or `timezone`, names the setting."""
    name = page.path.rpartition("/")[2]
    await page.perform(f"operator.{name}", **{name: fields.text(name)})
    return page.redirect(OWN_PATH, done="saved")


@form(show_own)
async def set_password(page: Page, fields: Fields) -> Response:
    session = await page.perform("password.set", password=fields.raw("password"), current=fields.raw("current"))
    return page.start_session(session, OWN_PATH, done="password")


@form(show_own)
async def offer_secret(page: Page, fields: Fields) -> Response:
    offered = await page.perform("totp.enable", password=fields.raw("password"))
    secrets = {page.text("me.totp_secret"): offered.secret, page.text("me.totp_uri"): offered.uri}
    return await page.show_once(secrets, SECOND_FACTOR, page.text("me.totp_secret_title"))


@form(show_own)
async def confirm_secret(page: Page, fields: Fields) -> Response:
    codes = await page.perform("totp.confirm", code=fields.text("code"))
    secrets = {page.text("me.recovery_code", number=number): code for number, code in enumerate(codes, 1)}
    return await page.show_once(secrets, SECOND_FACTOR, page.text("me.recovery_title"))


@form(show_own)
async def disable_second_factor(page: Page, fields: Fields) -> Response:
    await page.perform("totp.disable", password=fields.raw("password"))
    return page.redirect(SECOND_FACTOR, done="saved")


@form(show_own)
async def revoke_session(page: Page, fields: Fields) -> Response:
    revoked = await page.perform("session.revoke", session=fields.text("id"))
    return page.end_session() if revoked.id == page.session.id else page.redirect(OWN_PATH, done="session_ended")


async def show_secrets(page: Page) -> Response:
    # A request for the head alone uses nothing up.
    return page.render("shown_gone.html") if page.request.method == "HEAD" else await page.show_secrets()
