"""Webhook of a bot: target and events, test, new signing key, removal."""

from __future__ import annotations

from typing import Any

from chatsvc.dashboard.page import Page
from chatsvc.dashboard.route import Access, Route
from chatsvc.domain.plans import with_webhooks
from chatsvc.domain.refusals import Refused
from chatsvc.domain.webhooks import SUBSCRIBED, WebhookSettings
from chatsvc.http.response import HttpResponse

TEMPLATE = "webhook.html"
RECENT = 5


async def show(page: Page) -> HttpResponse:
    """Show the webhook, or the form that sets one."""
    return page.render(TEMPLATE, **await _values(page))


async def _values(page: Page, typed: dict[str, Any] | None = None) -> dict[str, Any]:
    bot = await page.perform("bot.show", bot=page.params["bot"])
    webhook: WebhookSettings | None = None
    try:
        webhook = await page.perform("webhook.show", bot=bot.id)
    except Refused as fault:
        if fault.code != "webhook_not_found":
            raise
    recent = (await page.perform("webhook.attempts", bot=bot.id, limit=RECENT)).items
    plan = page.account.plan if page.account else None
    kept: dict[str, Any] = {"url": "", "events": SUBSCRIBED, "pull": False}
    if webhook:
        kept = {"url": webhook.url or "", "events": webhook.events, "pull": webhook.url is None}
    has_plan = plan in with_webhooks(page.services.config.plans)
    return {"bot": bot, "webhook": webhook, "recent": recent, "events": SUBSCRIBED, "has_plan": has_plan, "typed": typed or kept}


def _path(page: Page) -> str:
    return f"/bots/{page.params['bot']}/webhook"


async def put(page: Page) -> HttpResponse:
    """Set the target and the events. A new webhook gets a signing key, which the next page shows once."""
    fields = await page.form()
    typed = {"url": fields.text("url"), "events": fields.all("event"), "pull": fields.checked("pull")}
    try:
        made = await page.perform(
            "webhook.set", bot=page.params["bot"], url=None if typed["pull"] else fields.address("url"), events=typed["events"]
        )
    except Refused as fault:
        return page.refused(TEMPLATE, fault, **await _values(page, typed))
    return await _shown_once(page, made) if made.signing_key else page.redirect(_path(page), done="saved")


async def _shown_once(page: Page, made: WebhookSettings) -> HttpResponse:
    secrets = {page.text("webhook.signing_key"): made.signing_key or ""}
    return await page.show_once(secrets, _path(page), page.text("webhook.signing_key"))


async def test(page: Page) -> HttpResponse:
    """Send a test event and show its attempt."""
    try:
        made = await page.perform("webhook.test", bot=page.params["bot"])
    except Refused as fault:
        return page.refused(TEMPLATE, fault, **await _values(page))
    return page.redirect(f"/webhooks/{made.id}")


async def rotate(page: Page) -> HttpResponse:
    """Replace the signing key, which the next page shows once."""
    try:
        (await page.form()).require_confirmation()
        made = await page.perform("webhook.rotate", bot=page.params["bot"])
    except Refused as fault:
        return page.refused(TEMPLATE, fault, **await _values(page))
    return await _shown_once(page, made)


async def remove(page: Page) -> HttpResponse:
    try:
        (await page.form()).require_confirmation()
        await page.perform("webhook.remove", bot=page.params["bot"])
    except Refused as fault:
        return page.refused(TEMPLATE, fault, **await _values(page))
    return page.redirect(_path(page), done="removed")


ROUTES = (
    Route("GET", "/bots/{bot}/webhook", show, Access.OWNER),
    Route("POST", "/bots/{bot}/webhook", put, Access.OWNER),
    Route("POST", "/bots/{bot}/webhook/test", test, Access.OWNER),
    Route("POST", "/bots/{bot}/webhook/rotate", rotate, Access.OWNER),
    Route("POST", "/bots/{bot}/webhook/remove", remove, Access.OWNER),
)
