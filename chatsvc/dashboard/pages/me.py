"""Settings of the operator who is signed in: name, notices, language, password, second factor, sessions."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import Action, View
from chatsvc.domain import operators, passwords
from chatsvc.domain.operators import LANGUAGES, NO_NOTICE, NewSession, OperatorSession
from chatsvc.services.team import second_factor
from chatsvc.services.team.second_factor import OfferedSecret, RecoveryCodes

PATH = "/me"
SECOND_FACTOR = "/me#second-factor"


async def _values(page: Page, typed: Fields) -> dict[str, Any]:
    kept = page.operator
    return {
        "typed": {
            "name": typed.text("name") if "name" in typed else kept.name,
            "notices": _notices(typed) if "name" in typed else kept.notices,
            "timezone": typed.text("timezone") if "timezone" in typed else kept.timezone,
        },
        "sessions": await page.perform("session.list"),
        "codes_left": await second_factor.recovery_codes_left(page.services, page.caller),
        "languages": LANGUAGES,
        "notices": operators.offered_notices(kept),
        "least": passwords.LEAST,
        "most": passwords.MOST,
    }


def _notices(fields: Fields) -> list[str]:
    return fields.all("notice") or [NO_NOTICE]


def _profile(page: Page, fields: Fields) -> dict[str, Any]:
    return {"email": page.operator.email, "name": fields.text("name"), "notices": _notices(fields)}


async def _keep_session(page: Page, made: NewSession) -> Response:
    return page.start_session(made, PATH, done="password")


async def _show_secret(page: Page, offered: OfferedSecret) -> Response:
    secrets = {page.text("me.totp_secret"): offered.secret, page.text("me.totp_uri"): offered.uri}
    return await page.show_once(secrets, SECOND_FACTOR, page.text("me.totp_secret_title"))


async def _show_codes(page: Page, confirmed: RecoveryCodes) -> Response:
    secrets = {page.text("me.recovery_code", place=place): code for place, code in enumerate(confirmed.codes, 1)}
    return await page.show_once(secrets, SECOND_FACTOR, page.text("me.recovery_title"))


async def _after_revoking(page: Page, revoked: OperatorSession) -> Response:
    return page.end_session("/login") if revoked.id == page.session.id else page.redirect(PATH, done="session_ended")


show = View("me.html", _values)
set_profile = Action("operator.set", show, _profile, to=PATH, done="saved")
set_language = Action("operator.language", show, "language", to=PATH, done="saved")
set_timezone = Action("operator.timezone", show, "timezone", to=PATH, done="saved")
set_password = Action("password.set", show, "password:raw current:raw", then=_keep_session)
offer_secret = Action("totp.enable", show, "password:raw", then=_show_secret)
confirm_secret = Action("totp.confirm", show, "code", then=_show_codes)
disable_second_factor = Action("totp.disable", show, "password:raw", to=SECOND_FACTOR, done="saved")
revoke_session = Action("session.revoke", show, "session=id", then=_after_revoking)
