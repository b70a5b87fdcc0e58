"""Settings of the signed-in operator: name, notices, language, password, second factor, sessions. Also the page that shows secrets once."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.page import Page, form, view
from chatsvc.domain import operators, passwords
from chatsvc.domain.operators import LANGUAGES, NO_NOTICE
from chatsvc.services.team import credentials
from chatsvc.web.forms import Fields

PATH = "/me"
SECOND_FACTOR = "/me#second-factor"


@view("me.html")
async def show(page: Page, typed: Fields) -> dict[str, Any]:
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
        "notices": operators.offered_notices(operator),
        "least": passwords.LEAST,
        "most": passwords.MOST,
    }


def _notices(fields: Fields) -> list[str]:
    return fields.all("notice") or [NO_NOTICE]


@form(show)
async def set_profile(page: Page, fields: Fields) -> Response:
    await page.perform("operator.set", email=page.operator.email, name=fields.text("name"), notices=_notices(fields))
    return page.redirect(PATH, done="saved")


@form(show)
async def set_preference(page: Page, fields: Fields) -> Response:
    """Set the operator's language or time zone. The path names which of the two."""
    name = page.path.rpartition("/")[2]
    await page.perform(f"operator.{name}", **{name: fields.text(name)})
    return page.redirect(PATH, done="saved")


@form(show)
async def set_password(page: Page, fields: Fields) -> Response:
    session = await page.perform("password.set", password=fields.raw("password"), current=fields.raw("current"))
    return page.start_session(session, PATH, done="password")


@form(show)
async def offer_secret(page: Page, fields: Fields) -> Response:
    offered = await page.perform("totp.enable", password=fields.raw("password"))
    secrets = {page.text("me.totp_secret"): offered.secret, page.text("me.totp_uri"): offered.uri}
    return await page.show_once(secrets, SECOND_FACTOR, page.text("me.totp_secret_title"))


@form(show)
async def confirm_secret(page: Page, fields: Fields) -> Response:
    codes = await page.perform("totp.confirm", code=fields.text("code"))
    secrets = {page.text("me.recovery_code", number=number): code for number, code in enumerate(codes, 1)}
    return await page.show_once(secrets, SECOND_FACTOR, page.text("me.recovery_title"))


@form(show)
async def disable_second_factor(page: Page, fields: Fields) -> Response:
    await page.perform("totp.disable", password=fields.raw("password"))
    return page.redirect(SECOND_FACTOR, done="saved")


@form(show)
async def revoke_session(page: Page, fields: Fields) -> Response:
    revoked = await page.perform("session.revoke", session=fields.text("id"))
    return page.end_session() if revoked.id == page.session.id else page.redirect(PATH, done="session_ended")


async def show_secrets(page: Page) -> Response:
    # A request for the head alone uses nothing up.
    return page.render("shown_gone.html") if page.request.method == "HEAD" else await page.show_secrets()
