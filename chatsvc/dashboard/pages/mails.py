"""Mails of the installation: what was sent and what was not, and a test."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import Action, View
from chatsvc.domain.mails import SENT, STATES, Mail
from chatsvc.http.response import HttpResponse


async def _values(page: Page, typed: Fields) -> dict[str, Any]:
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


async def _show_outcome(page: Page, sent: Mail) -> HttpResponse:
    """Show the server's answer where the mail was not sent."""
    return page.redirect("/system/mails", done="sent") if sent.state == SENT else await show.show(page, await page.form(), sent=sent)


show = View("mails.html", _values)
test = Action("mail.test", show, "email", then=_show_outcome)
