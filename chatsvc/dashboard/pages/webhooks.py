"""Webhook of a bot: target, events, test and signing key. Also the delivery attempts of all webhooks, which can be sent again."""

import json
from typing import Any

from aiohttp.web import Response

from chatsvc.dashboard import records
from chatsvc.dashboard.page import Page, act, form, view
from chatsvc.domain.plans import with_webhooks
from chatsvc.domain.refusals import Refused
from chatsvc.domain.times import DAY_MS, without_fraction
from chatsvc.domain.webhooks import STATUSES, SUBSCRIBED, TEST, AttemptDetail, Webhook
from chatsvc.web.forms import Fields, whole_number

RESENT = 20  # events sent again by one form, since its page waits for their answers
EVENTS = (*SUBSCRIBED, TEST)


@view("webhook.html")
async def show_target(page: Page, typed: Fields) -> dict[str, Any]:
    bot = await page.bot()
    webhook: Webhook | None = None
    try:
        webhook = await page.perform("webhook.show", bot=bot.id)
    except Refused as refusal:
        if refusal.code != "webhook_not_found":
            raise
    shown: dict[str, Any] = {"url": "", "events": SUBSCRIBED, "pull": False}
    if "url" in typed:
        shown = {"url": typed.text("url"), "events": typed.all("event"), "pull": "pull" in typed}
    elif webhook:
        shown = {"url": webhook.url or "", "events": webhook.events, "pull": webhook.url is None}
    recent = (await page.perform("webhook.attempts", bot=bot.id, limit=5)).items
    has_plan = (page.account.plan if page.account else None) in with_webhooks(page.services.config.plans)
    return {"bot": bot, "webhook": webhook, "recent": recent, "events": SUBSCRIBED, "has_plan": has_plan, "typed": shown}


@form(show_target)
async def put(page: Page, fields: Fields) -> Response:
    url = None if "pull" in fields else fields.address("url")
    return await _show_key(page, await page.perform("webhook.set", bot=page.params["bot"], url=url, events=fields.all("event")))


@form(show_target)
async def rotate(page: Page, fields: Fields) -> Response:
    page.require_confirmation("webhook.rotate", fields)
    return await _show_key(page, await page.perform("webhook.rotate", bot=page.params["bot"]))


async def _show_key(page: Page, webhook: Webhook) -> Response:
    if not webhook.signing_key:
        return page.redirect(page.path, done="saved")
    title = page.text("webhook.signing_key")
    return await page.show_once({title: webhook.signing_key}, f"/bots/{page.params['bot']}/webhook", title)


test = act("webhook.test", "bot", to="/webhooks/{result.id}", shown=show_target)
remove = act("webhook.remove", "bot", to="/bots/{bot}/webhook", done="removed", shown=show_target, confirm=True)


@view("webhooks.html")
async def show(page: Page, typed: Fields) -> dict[str, Any]:
    """Return the delivery attempts that match the filters in the URL."""
    query = page.query
    since = typed.text("failed_since") if typed else query.get("since") or without_fraction(page.services.clock() - DAY_MS)[:16]
    values: dict[str, Any] = {"statuses": STATUSES, "events": EVENTS, "since": since, "bots": {}, "attempts": [], "next": None}
    values |= {name: whole_number(query.get(name, "")) for name in ("resent", "left", "behind")}
    if page.account_id is None:
        return values
    allowed = {"status": STATUSES, "event": EVENTS}
    chosen = {name: query.get(name) for name in ("bot", "status", "event")}
    chosen |= {name: None for name, known in allowed.items() if chosen[name] not in known}
    given = {name: value for name, value in chosen.items() if value}
    listed = await page.perform("webhook.attempts", **given, limit=50, after=query.get("after"))
    bots = {bot.id: bot.name for bot in (await records.bots_of(page)).values()}
    return values | {"attempts": listed.items, "next": listed.next, "chosen": chosen, "bots": bots}


@view("attempt.html")
async def detail(page: Page, _: Fields) -> dict[str, Any]:
    shown: AttemptDetail = await page.perform("webhook.attempt", attempt=page.params["attempt"])
    bot = await page.perform("bot.show", bot=shown.attempt.bot_id)
    answer = None if shown.answer is None else shown.answer.decode("utf-8", "replace").replace("\0", "\ufffd")
    body = shown.body.decode()
    indented = json.dumps(json.loads(body), ensure_ascii=False, indent=2) if body else ""
    return {"detail": shown, "attempt": shown.attempt, "bot": bot, "body": body, "indented": indented, "answer": answer}


resend = act("webhook.resend", "attempt", to="/webhooks/{result.id}", done="resent", shown=detail)


@form(show)
async def resend_failed(page: Page, fields: Fields) -> Response:
    """Send up to RESENT failed deliveries again, and redirect to the list of attempts. The list offers to send the remaining deliveries."""
    bot, since, behind = fields.optional("bot"), fields.text("failed_since"), max(0, fields.number("behind") or 0)
    resent = await page.perform("webhook.resend_failed", bot=bot, since=since, after=behind, limit=RESENT)
    counts = {"resent": len(resent.attempts), "left": resent.left, "behind": resent.next}
    return page.redirect(page.url("/webhooks", bot=bot, since=since, **counts))
