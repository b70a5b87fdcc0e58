"""Attempts of all webhooks: list with filters, exact request and answer, sending again."""

from __future__ import annotations

import json
from typing import Any

from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.refusals import Refused
from chatsvc.domain.times import DAY_MS, without_fraction
from chatsvc.domain.webhooks import STATUSES, SUBSCRIBED, TEST, AttemptDetail
from chatsvc.http.response import HttpResponse

PATH = "/webhooks"
LIMIT = 50
BOTS = 1000
RESENT = 20  # events sent again by one form, since its page waits for their answers
EVENTS = (*SUBSCRIBED, TEST)


async def show(page: Page) -> HttpResponse:
    """Show the attempts that the filters of the URL choose."""
    return page.render("webhooks.html", **await _values(page))


async def _values(page: Page) -> dict[str, Any]:
    query, account = page.query, page.account_id
    since = query.get("since") or without_fraction(page.services.clock() - DAY_MS)[:16]
    values: dict[str, Any] = {"statuses": STATUSES, "events": EVENTS, "since": since, "bots": {}, "attempts": [], "next": None}
    values |= {name: _count(query.get(name)) for name in ("resent", "left", "behind")}
    if account is None:
        return values
    values["bots"] = {bot.id: bot.name for bot in (await page.perform("bot.list", account=account, limit=BOTS)).items}
    chosen = {
        "bot": query.get("bot"),
        "status": query.get("status") if query.get("status") in STATUSES else None,
        "event": query.get("event") if query.get("event") in EVENTS else None,
    }
    given = {name: value for name, value in chosen.items() if value}
    listed = await page.perform("webhook.attempts", **given, limit=LIMIT, after=query.get("after"))
    return values | {"attempts": listed.items, "next": listed.next, "chosen": chosen}


def _count(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else None


async def detail(page: Page) -> HttpResponse:
    """Show one attempt: request, answer and time."""
    return page.render("attempt.html", **await _detail(page))


async def _detail(page: Page) -> dict[str, Any]:
    found: AttemptDetail = await page.perform("webhook.attempt", attempt=page.params["attempt"])
    bot = await page.perform("bot.show", bot=found.attempt.bot_id)
    answer = None if found.answer is None else found.answer.decode("utf-8", "replace").replace("\0", "\ufffd")
    body = found.body.decode()
    indented = json.dumps(json.loads(body), ensure_ascii=False, indent=2) if body else ""
    return {"detail": found, "attempt": found.attempt, "bot": bot, "body": body, "indented": indented, "answer": answer}


async def resend(page: Page) -> HttpResponse:
    """Send the event of an attempt again, and show the new attempt."""
    try:
        made = await page.perform("webhook.resend", attempt=page.params["attempt"])
    except Refused as fault:
        return page.refused("attempt.html", fault, **await _detail(page))
    return page.redirect(f"{PATH}/{made.id}", done="resent")


async def resend_failed(page: Page) -> HttpResponse:
    """Send some of the events again whose latest attempt failed. The next page offers the rest."""
    fields = await page.form()
    bot, since = fields.optional("bot"), fields.text("failed_since")
    try:
        behind = max(0, fields.number("behind") or 0)
        made = await page.perform("webhook.resend_failed", **({"bot": bot} if bot else {}), since=since, after=behind, limit=RESENT)
    except Refused as fault:
        return page.refused("webhooks.html", fault, **{**await _values(page), "since": since})
    where = {"bot": bot, "resent": len(made.attempts), "left": made.left, "since": since, "behind": made.next}
    return page.redirect(page.url(PATH, **where))


ROUTES = (
    Route("GET", PATH, show, Access.OWNER),
    Route("POST", PATH, resend_failed, Access.OWNER),
    Route("GET", "/webhooks/{attempt}", detail, Access.OWNER),
    Route("POST", "/webhooks/{attempt}/resend", resend, Access.OWNER),
)
