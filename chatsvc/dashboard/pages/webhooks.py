"""Webhook of a bot: target, events, test, signing key. Attempts of all webhooks: list with filters, request and answer, sending again."""

import json
from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard import records
from chatsvc.dashboard.fields import Fields
from chatsvc.dashboard.page import Page
from chatsvc.dashboard.views import Action, View
from chatsvc.domain.plans import with_webhooks
from chatsvc.domain.refusals import Refused
from chatsvc.domain.times import DAY_MS, without_fraction
from chatsvc.domain.webhooks import STATUSES, SUBSCRIBED, TEST, AttemptDetail, ResentPage, WebhookSettings

PATH_OF_BOT = "/bots/{bot}/webhook"
PATH = "/webhooks"
RESENT = 20  # events sent again by one form, since its page waits for their answers
EVENTS = (*SUBSCRIBED, TEST)


async def _target(page: Page, typed: Fields) -> dict[str, Any]:
    bot = await page.perform("bot.show", bot=page.params["bot"])
    webhook: WebhookSettings | None = None
    try:
        webhook = await page.perform("webhook.show", bot=bot.id)
    except Refused as fault:
        if fault.code != "webhook_not_found":
            raise
    shown: dict[str, Any] = {"url": "", "events": SUBSCRIBED, "pull": False}
    if "url" in typed:
        shown = {"url": typed.text("url"), "events": typed.all("event"), "pull": typed.checked("pull")}
    elif webhook:
        shown = {"url": webhook.url or "", "events": webhook.events, "pull": webhook.url is None}
    recent = (await page.perform("webhook.attempts", bot=bot.id, limit=5)).items
    has_plan = (page.account.plan if page.account else None) in with_webhooks(page.services.config.plans)
    return {"bot": bot, "webhook": webhook, "recent": recent, "events": SUBSCRIBED, "has_plan": has_plan, "typed": shown}


def _given(_: Page, fields: Fields) -> dict[str, Any]:
    return {"url": None if fields.checked("pull") else fields.address("url"), "events": fields.all("event")}


async def _show_key(page: Page, made: WebhookSettings) -> Response:
    if not made.signing_key:
        return page.redirect(page.path, done="saved")
    title = page.text("webhook.signing_key")
    return await page.show_once({title: made.signing_key}, PATH_OF_BOT.format(**page.params), title)


show_target = View("webhook.html", _target)
put = Action("webhook.set", show_target, _given, then=_show_key)
test = Action("webhook.test", show_target, to="/webhooks/{made.id}")
rotate = Action("webhook.rotate", show_target, then=_show_key, confirm=True)
remove = Action("webhook.remove", show_target, to=PATH_OF_BOT, done="removed", confirm=True)


async def _values(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the attempts that the filters of the URL choose."""
    query, account = page.query, page.account_id
    since = typed.text("failed_since") if typed else query.get("since") or without_fraction(page.services.clock() - DAY_MS)[:16]
    values: dict[str, Any] = {"statuses": STATUSES, "events": EVENTS, "since": since, "bots": {}, "attempts": [], "next": None}
    values |= {name: _count(query.get(name)) for name in ("resent", "left", "behind")}
    if account is None:
        return values
    values["bots"] = {bot.id: bot.name for bot in (await records.bots_of(page)).values()}
    chosen = {
        "bot": query.get("bot"),
        "status": query.get("status") if query.get("status") in STATUSES else None,
        "event": query.get("event") if query.get("event") in EVENTS else None,
    }
    given = {name: value for name, value in chosen.items() if value}
    listed = await page.perform("webhook.attempts", **given, limit=50, after=query.get("after"))
    return values | {"attempts": listed.items, "next": listed.next, "chosen": chosen}


def _count(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 16 else None


async def _detail(page: Page, _: Fields) -> dict[str, Any]:
    found: AttemptDetail = await page.perform("webhook.attempt", attempt=page.params["attempt"])
    bot = await page.perform("bot.show", bot=found.attempt.bot_id)
    answer = None if found.answer is None else found.answer.decode("utf-8", "replace").replace("\0", "\ufffd")
    body = found.body.decode()
    indented = json.dumps(json.loads(body), ensure_ascii=False, indent=2) if body else ""
    return {"detail": found, "attempt": found.attempt, "bot": bot, "body": body, "indented": indented, "answer": answer}


show = View("webhooks.html", _values)
detail = View("attempt.html", _detail)
resend = Action("webhook.resend", detail, to="/webhooks/{made.id}", done="resent")


def _failed(_: Page, fields: Fields) -> dict[str, Any]:
    behind = max(0, fields.number("behind") or 0)
    return {"bot": fields.optional("bot"), "since": fields.text("failed_since"), "after": behind, "limit": RESENT}


async def _offer_rest(page: Page, made: ResentPage) -> Response:
    """Lead to the list, which offers to send the rest."""
    fields = await page.form()
    where = {"resent": len(made.attempts), "left": made.left, "since": fields.text("failed_since"), "behind": made.next}
    return page.redirect(page.url(PATH, bot=fields.optional("bot"), **where))


resend_failed = Action("webhook.resend_failed", show, _failed, then=_offer_rest)
