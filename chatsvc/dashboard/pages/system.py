"""System pages for the administrator: examination, backups, outbound connections, metrics, version, licences; mails, and a test."""

from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard import wording
from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import Action, View
from chatsvc.domain.mails import SENT, STATES, Mail
from chatsvc.services.operations.doctor import Examination

DOWNLOAD_S = 4 * 3600.0  # for the largest backup over a slow line


async def _values(page: Page, _: Fields) -> dict[str, Any]:
    examination: Examination | None = await page.perform("doctor.show")
    found = [wording.finding(page.language, one) for one in examination.findings] if examination else []
    egress = await page.perform("egress.show")
    return {
        "system": await page.perform("system.show"),
        "examined_at": examination.at if examination else None,
        "bad": sorted((one for one in found if one.state != "ok"), key=lambda one: one.state),
        "good": [one for one in found if one.state == "ok"],
        "backups": await page.perform("backup.list"),
        "schedule": page.services.config.backup,
        "egress": egress.egress,
        "smtp": page.services.config.notices.smtp,
        "metrics": await page.perform("metrics.show"),
    }


show = View("system.html", _values)
examine = Action("doctor.run", to="/system#examination")
back_up = Action(
    "backup.create",
    show,
    lambda _, fields: {"keep": True, "with_master_key": fields.checked("with_master_key")},
    to="/system#backups",
    done="created",
)


async def download(page: Page) -> Response:
    stream = await page.perform("backup.read", backup=page.params["backup"])
    return page.download(stream.pieces, "application/octet-stream", stream.backup.name)


async def _licenses(page: Page, _: Fields) -> dict[str, Any]:
    return {"found": await page.perform("license.list")}


licenses = View("licenses.html", _licenses)


async def _mails(page: Page, typed: Fields) -> dict[str, Any]:
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


async def _show_outcome(page: Page, sent: Mail) -> Response:
    """Show the server's answer where the mail was not sent."""
    return page.redirect("/system/mails", done="sent") if sent.state == SENT else await show_mails.show(page, await page.form(), sent=sent)


show_mails = View("mails.html", _mails)
test_mail = Action("mail.test", show_mails, "email", then=_show_outcome)
