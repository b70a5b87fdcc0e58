"""Settings of the operator who is signed in: name, notices, language, password, second factor, sessions."""

from __future__ import annotations

from collections.abc import Mapping

from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain import operators, passwords
from chatsvc.domain.operators import LANGUAGES, NO_NOTICE
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse
from chatsvc.usecases import second_factor

PATH = "/me"
SECOND_FACTOR = "/me#second-factor"


async def show(page: Page, fault: Refused | None = None, typed: Mapping[str, object] | None = None) -> HttpResponse:
    """Show all settings; with a refusal, its sentence above them and `typed` in the fields."""
    values = {
        "typed": {"name": page.operator.name, "notices": page.operator.notices, "timezone": page.operator.timezone, **(typed or {})},
        "sessions": await page.perform("session.list"),
        "codes_left": await second_factor.recovery_codes_left(page.services, page.caller),
        "languages": LANGUAGES,
        "notices": operators.offered_notices(page.operator),
        "least": passwords.LEAST,
        "most": passwords.MOST,
    }
    return page.refused("me.html", fault, **values) if fault else page.render("me.html", **values)


async def set_profile(page: Page) -> HttpResponse:
    """Change name and notices."""
    fields = await page.form()
    notices = fields.all("notice") or [NO_NOTICE]
    try:
        await page.perform("operator.set", email=page.operator.email, name=fields.text("name"), notices=notices)
    except Refused as fault:
        return await show(page, fault, {"name": fields.text("name"), "notices": notices})
    return page.redirect(PATH, done="saved")


async def set_language(page: Page) -> HttpResponse:
    """Change the language of the pages."""
    try:
        await page.perform("operator.language", language=(await page.form()).text("language"))
    except Refused as fault:
        return await show(page, fault)
    return page.redirect(PATH, done="saved")


async def set_timezone(page: Page) -> HttpResponse:
    """Change the zone of the times on pages."""
    typed = (await page.form()).text("timezone")
    try:
        await page.perform("operator.timezone", timezone=typed)
    except Refused as fault:
        return await show(page, fault, {"timezone": typed})
    return page.redirect(PATH, done="saved")


async def set_password(page: Page) -> HttpResponse:
    """Change the password, which ends all other sessions."""
    fields = await page.form()
    try:
        made = await page.perform("password.set", password=fields.raw("password"), current=fields.raw("current"))
    except Refused as fault:
        return await show(page, fault)
    return page.start_session(made, PATH, done="password")


async def offer_secret(page: Page) -> HttpResponse:
    """Make a secret for the authenticator app and show it once."""
    try:
        offered = await page.perform("totp.enable", password=(await page.form()).raw("password"))
    except Refused as fault:
        return await show(page, fault)
    secrets = {page.text("me.totp_secret"): offered.secret, page.text("me.totp_uri"): offered.uri}
    return await page.show_once(secrets, SECOND_FACTOR, page.text("me.totp_secret_title"))


async def confirm_secret(page: Page) -> HttpResponse:
    """Switch the second factor on with a code, and show the recovery codes once."""
    try:
        confirmed = await page.perform("totp.confirm", code=(await page.form()).text("code"))
    except Refused as fault:
        return await show(page, fault)
    secrets = {page.text("me.recovery_code", place=place): code for place, code in enumerate(confirmed.codes, 1)}
    return await page.show_once(secrets, SECOND_FACTOR, page.text("me.recovery_title"))


async def disable_second_factor(page: Page) -> HttpResponse:
    """Switch the second factor off."""
    try:
        await page.perform("totp.disable", password=(await page.form()).raw("password"))
    except Refused as fault:
        return await show(page, fault)
    return page.redirect(SECOND_FACTOR, done="saved")


async def revoke_session(page: Page) -> HttpResponse:
    """End one session."""
    session = (await page.form()).text("id")
    try:
        await page.perform("session.revoke", session=session)
    except Refused as fault:
        return await show(page, fault)
    return page.end_session("/login") if session == page.session.id else page.redirect(PATH, done="session_ended")


ROUTES = (
    Route("GET", PATH, show, Access.SIGNED_IN),
    Route("POST", "/me/profile", set_profile, Access.SIGNED_IN),
    Route("POST", "/me/language", set_language, Access.SIGNED_IN),
    Route("POST", "/me/timezone", set_timezone, Access.SIGNED_IN),
    Route("POST", "/me/password", set_password, Access.SIGNED_IN),
    Route("POST", "/me/second-factor", offer_secret, Access.SIGNED_IN),
    Route("POST", "/me/second-factor/confirm", confirm_secret, Access.SIGNED_IN),
    Route("POST", "/me/second-factor/disable", disable_second_factor, Access.SIGNED_IN),
    Route("POST", "/me/sessions", revoke_session, Access.SIGNED_IN),
)
