"""System pages for the administrator: examination, backups, outbound connections, metrics, version, licences."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard import findings
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.refusals import Refused
from chatsvc.http.response import HttpResponse
from chatsvc.usecases.doctor import Examination

PATH = "/system"
BINARY = "application/octet-stream"
DOWNLOAD_S = 4 * 3600.0  # for the largest backup over a slow line


async def show(page: Page) -> HttpResponse:
    """Show the state of the installation."""
    return page.render("system.html", **await _values(page))


async def _values(page: Page) -> dict[str, Any]:
    examination: Examination | None = await page.perform("doctor.show")
    found = [findings.worded(page.language, one) for one in examination.findings] if examination else []
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


async def examine(page: Page) -> HttpResponse:
    """Examine the installation now."""
    await page.perform("doctor.run")
    return page.redirect(f"{PATH}#examination")


async def back_up(page: Page) -> HttpResponse:
    """Write a backup into the folder of backups."""
    fields = await page.form()
    try:
        await page.perform("backup.create", keep=True, with_master_key=fields.checked("with_master_key"))
    except Refused as fault:
        return page.refused("system.html", fault, **await _values(page))
    return page.redirect(f"{PATH}#backups", done="created")


async def download(page: Page) -> HttpResponse:
    """Send a backup piece by piece."""
    stream = await page.perform("backup.read", backup=page.params["backup"])
    response = page.download(stream.pieces, BINARY, stream.backup.name)
    response.timeout_s = DOWNLOAD_S
    return response


async def licenses(page: Page) -> HttpResponse:
    """Show the third-party software with its licences."""
    return page.render("licenses.html", found=await page.perform("license.list"))


ROUTES = (
    Route("GET", PATH, show, Access.ADMINISTRATOR),
    Route("POST", "/system/examination", examine, Access.ADMINISTRATOR),
    Route("POST", "/system/backups", back_up, Access.ADMINISTRATOR),
    Route("GET", "/system/backups/{backup}", download, Access.ADMINISTRATOR),
    Route("GET", "/system/licenses", licenses, Access.ADMINISTRATOR),
)
