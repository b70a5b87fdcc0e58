"""Webhooks of bots (help/webhooks.md): set, show, rotate, remove and test them; list deliveries and repeat them."""

import asyncio
import json
import uuid
from collections.abc import Sequence

from chatsvc.domain import paging, refusals, shapes, webhooks
from chatsvc.domain.actors import Caller
from chatsvc.domain.addresses import TargetRefused
from chatsvc.domain.captures import Request
from chatsvc.domain.models import REQUEST_STATUSES, Bot
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.plans import with_webhooks
from chatsvc.domain.webhooks import STATUSES, SUBSCRIBED, TEST, Attempt, AttemptDetail, ResentPage, SignedEvent, Webhook
from chatsvc.services.accounts import accounts
from chatsvc.services.accounts.accounts import instant_of
from chatsvc.services.services import Services
from chatsvc.store import deliveries, sealing
from chatsvc.store import webhooks as stored
from chatsvc.store.deliveries import Sending
from chatsvc.store.owners import Accounts
from chatsvc.store.sealing import row_name
from chatsvc.store.tables import SIGNING_KEYS
from chatsvc.store.webhooks import Event


def _seal(services: Services, key: str, bot_id: str) -> stored.Seal:
    return lambda check: sealing.seal(services.secret.of(check), SIGNING_KEYS, key, row_name("webhooks", bot_id))


async def _find(services: Services, bot: Bot) -> Webhook:
    webhook = await stored.find(services.db, bot.id)
    if webhook is None:
        raise refusals.webhook_not_found(bot=bot.id)
    return webhook


async def put(services: Services, caller: Caller, *, bot: Bot, events: Sequence[str], url: str | None = None) -> Webhook:
    """Set a bot's webhook. A new webhook gets a signing key, which is shown only now. Without `url`, events are stored, not sent."""
    state, plans = await accounts.resolve(services, caller, bot.account_id), with_webhooks(services.config.plans)
    if state.account.plan not in plans:
        raise refusals.plan_without_webhooks(plan=state.account.plan, plans=sorted(plans))
    wanted = tuple(event for event in SUBSCRIBED if event in events)
    unknown = sorted(set(events) - set(SUBSCRIBED))
    if unknown:
        raise refusals.event_unknown(event=unknown[0], events=list(SUBSCRIBED))
    faults = refusals.Faults()
    with faults:
        if not wanted:
            raise refusals.events_missing(events=list(SUBSCRIBED))
    if url is not None:
        with faults:
            try:
                await services.webhooks.sender.check(url)
            except TargetRefused as refusal:
                raise refusals.target_refused(fault=str(refusal), rule=refusal.rule) from None
    faults.refuse()
    key, now = webhooks.generate_signing_key(), services.clock()
    new = Webhook(bot.id, url, wanted, b"", now, now)
    webhook, is_new = await stored.put(services.db, new, _seal(services, key, bot.id))
    return webhook._replace(signing_key=key if is_new else None)


async def show(services: Services, _: Caller, *, bot: Bot) -> Webhook:
    """Show a bot's webhook, without its signing key."""
    return await _find(services, bot)


async def rotate(services: Services, _: Caller, *, bot: Bot) -> Webhook:
    """Replace the signing key. The new key is shown only now, and signs every later delivery."""
    key = webhooks.generate_signing_key()
    changed = await stored.rotate(services.db, bot.id, _seal(services, key, bot.id), services.clock())
    if changed is None:
        raise refusals.webhook_not_found(bot=bot.id)
    return changed._replace(signing_key=key)


async def remove(services: Services, _: Caller, *, bot: Bot) -> Webhook:
    """Remove a bot's webhook; pending events are recorded as failed (`webhook_removed`)."""
    webhook = await _find(services, bot)
    await stored.remove(services.db, bot.id, services.clock())
    return webhook


async def _find_attempt(services: Services, attempt_id: str, accounts: Accounts) -> AttemptDetail:
    detail = await deliveries.find(services.db, attempt_id, accounts)
    if detail is None:
        raise refusals.attempt_not_found(attempt=attempt_id)
    return detail


async def _sent(services: Services, sending: Sending) -> Attempt:
    if sending.refusal is None:
        await services.webhooks.deliver(sending)
    return (await _find_attempt(services, sending.attempt_id, None)).attempt


async def test(services: Services, _: Caller, *, bot: Bot) -> Attempt:
    """Send a test event now and return the recorded attempt."""
    webhook = await _find(services, bot)
    if webhook.url is None:
        raise refusals.webhook_pulled(bot=bot.id)
    now = services.clock()
    request = Request(str(uuid.uuid4()), "contact", REQUEST_STATUSES[0], "This is a test.", "Test Visitor", None, None, "", now)
    data = json.dumps({**shapes.request(request), "is_test": True}, ensure_ascii=False, separators=(",", ":"))
    event = Event(0, bot.id, TEST, request.id, data, now)
    sending = await deliveries.send_test(services.db, event, now, services.webhooks.terms)
    if sending is None:
        raise refusals.bot_not_found(bot=bot.id)
    return await _sent(services, sending)


async def attempts(
    services: Services,
    caller: Caller,
    *,
    bot: Bot | None = None,
    status: str | None = None,
    event: str | None = None,
    limit: int = paging.DEFAULT,
    after: str | None = None,
) -> ResultPage[Attempt]:
    """List attempts to deliver events of one bot or of the caller's scope, newest first. `status` is one of domain.webhooks.STATUSES."""
    if status is not None and status not in STATUSES:
        raise refusals.status_unknown(status=status, known=list(STATUSES))
    if event is not None and event not in (*SUBSCRIBED, TEST):
        raise refusals.event_unknown(event=event, events=[*SUBSCRIBED, TEST])
    limit, position = paging.clamped(limit), paging.parsed(after, paging.number)
    scope = caller.scope.accounts
    rows = await deliveries.attempts(services.db, scope, bot.id if bot else None, limit + 1, *(position or ()), status=status, event=event)
    page = paging.page_of(rows, limit, lambda row: paging.position(row[1]))
    return ResultPage([attempt for attempt, _ in page.items], page.next)


async def attempt(services: Services, caller: Caller, *, attempt: str) -> AttemptDetail:
    """Show a delivery attempt with the request that was sent and the beginning of the response's body."""
    return await _find_attempt(services, attempt, caller.scope.accounts)


async def resend(services: Services, caller: Caller, *, attempt: str) -> Attempt:
    """Send the event of an attempt again, with a new delivery id; raises Refused."""
    earlier = await _find_attempt(services, attempt, caller.scope.accounts)
    if earlier.attempt.success is None:
        raise refusals.attempt_under_way(attempt=attempt)
    sent = await _send_again(services, earlier.event_number)
    if sent is None:
        raise refusals.attempt_not_found(attempt=attempt)
    return sent


async def _send_again(services: Services, event_number: int, *, failed: bool = False) -> Attempt | None:
    if services.webhooks.stopping:
        raise refusals.service_stopping()
    sending = await deliveries.send_again(services.db, event_number, services.clock(), services.webhooks.terms, failed=failed)
    return await _sent(services, sending) if sending else None


async def resend_failed(
    services: Services, caller: Caller, *, since: str, bot: Bot | None = None, after: int = 0, limit: int = 100
) -> ResentPage:
    """Send events again whose latest attempt failed at or after the time `since`. Return one page of the new attempts.

    The events are those of one bot, or of the caller's scope. `after` is the row number of the last event of the page before, or 0.
    """
    failed = await deliveries.failed_since(services.db, caller.scope.accounts, bot.id if bot else None, instant_of(since), after)
    page, left = failed[:limit], len(failed[limit:])
    slots = {bot_id: asyncio.Semaphore(services.webhooks.most(bot_id)) for _, bot_id in page}

    async def send(number: int, bot_id: str) -> Attempt | None:
        async with slots[bot_id]:
            # The latest attempt is looked at again: another call may have sent the event meanwhile.
            return await _send_again(services, number, failed=True)

    attempts = [attempt for attempt in await asyncio.gather(*(send(*entry) for entry in page)) if attempt]
    return ResentPage(attempts, left, page[-1][0] if left else None)


async def events(
    services: Services, _: Caller, *, bot: Bot, since: str | None = None, after: int = 0, limit: int = 100
) -> list[SignedEvent]:
    """List stored events of a bot as signed deliveries, for `webhook forward`."""
    webhook = await _find(services, bot)
    start = instant_of(since) if since else 0
    try:
        key = sealing.unseal(services.secret, SIGNING_KEYS, webhook.sealed_key, row_name("webhooks", bot.id))
    except sealing.Unsealable:
        raise refusals.signing_key_unusable(bot=bot.id) from None
    signed: list[SignedEvent] = []
    for event in await deliveries.events_since(services.db, bot.id, start, after, limit):
        delivery_id = str(uuid.uuid4())
        body = webhooks.build_request(event.event, delivery_id, event.created_at, bot.id, json.loads(event.data))
        signed.append(SignedEvent(event.number, event.event, event.record_id, delivery_id, body.decode(), webhooks.sign(key, body)))
    return signed
