"""System pages for the administrator: examination, backups, outbound connections, metrics, version, licences, mails and a test mail."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard import wording
from chatsvc.dashboard.page import Page, act, form, view
from chatsvc.domain.mails import SENT, STATES
from chatsvc.services.operations.doctor import Examination
from chatsvc.web.forms import Fields


@view("system.html")
async def show(page: Page, _: Fields) -> dict[str, Any]:
    examination: Examination | None = await page.perform("doctor.show")
    findings = [wording.finding(page.language, finding) for finding in examination.findings] if examination else []
    return {
        "system": await page.perform("system.show"),
        "examined_at": examination.examined_at if examination else None,
        "bad": [finding for state in ("fault", "warning") for finding in findings if finding["state"] == state],
        "good": [finding for finding in findings if finding["state"] == "ok"],
        "backups": await page.perform("backup.list"),
        "schedule": page.services.config.backup,
        "egress": (await page.perform("egress.show")).egress,
        "smtp": page.services.config.notices.smtp,
        "metrics": await page.perform("metrics.show"),
    }


examine = act("doctor.run", to="/system#examination")


@form(show)
async def back_up(page: Page, fields: Fields) -> Response:
    await page.perform("backup.create", keep=True, with_master_key="with_master_key" in fields)
    return page.redirect("/system#backups", done="created")


async def download(page: Page) -> Response:
    name = page.params["backup"]
    return page.download(await page.perform("backup.read", backup=name), "application/octet-stream", name)


async def licenses(page: Page) -> Response:
    return page.render("licenses.html", packages=await page.perform("license.list"))


@view("mails.html")
async def show_mails(page: Page, typed: Fields) -> dict[str, Any]:
    status = page.query.get("status") if page.query.get("status") in STATES else None
    listed = await page.perform("mail.list", status=status, limit=50, after=page.query.get("after"))
    return {
        "mails": listed.items,
        "next": listed.next,
        "states": STATES,
        "chosen": status,
        "smtp": page.services.config.notices.smtp,
        "email": typed.text("email") if "email" in typed else page.operator.email,
        "sent": None,
    }


@form(show_mails)
async def test_mail(page: Page, fields: Fields) -> Response:
    """Send a test mail. If this fails, show the mail server's answer."""
    mail = await page.perform("mail.test", email=fields.text("email"))
    return page.redirect("/system/mails", done="sent") if mail.state == SENT else await show_mails(page, fields, sent=mail)
