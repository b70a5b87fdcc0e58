"""Webhooks, for the administrator: set, shown, rotated, removed, tested, and every delivery sent again on demand (SPEC.md section 6)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from functools import partial

from chatsvc.domain import shapes, signing, times
from chatsvc.domain.addresses import TargetRefused
from chatsvc.domain.captures import REQUEST_STATUSES, Request
from chatsvc.domain.errors import Refused
from chatsvc.domain.models import Bot
from chatsvc.domain.plans import with_webhooks
from chatsvc.domain.shapes import Json
from chatsvc.store import attempts as told
from chatsvc.store import webhooks as stored
from chatsvc.store.webhooks import Event, Sending, Webhook
from chatsvc.usecases import bots
from chatsvc.usecases.services import Services
from chatsvc.webhooks import sealing
from chatsvc.webhooks.courier import Courier, row
from chatsvc.webhooks.dispatcher import Dispatcher
from chatsvc.webhooks.envelope import build_request

EVENTS = ("request.created", "appointment.created")
TEST = "webhook.test"


def _plans(services: Services) -> frozenset[str]:
    return with_webhooks(services.config.plans)


def _seal(services: Services, key: str, bot_id: str) -> stored.Seal:
    return lambda check: sealing.seal(services.secret.of(check)(sealing.PURPOSE), key, row(bot_id))


def _courier(services: Services) -> Courier:
    if services.courier is None:
        raise RuntimeError("looking up a target needs an event loop")
    return services.courier


def _shown(webhook: Webhook, signing_key: str | None = None) -> Json:
    shown: Json = {
        "bot": webhook.bot_id,
        "url": webhook.url,
        "pull": webhook.url is None,
        "events": list(webhook.events),
        "created_at": times.without_fraction(webhook.created_at),
        "updated_at": times.without_fraction(webhook.updated_at),
    }
    return shown if signing_key is None else {**shown, "signing_key": signing_key}


async def _find(services: Services, bot_id: str) -> tuple[Bot, Webhook]:
    _, bot = await bots.resolve(services, bot_id)
    webhook = await stored.find(services.db, bot.id)
    if webhook is None:
        raise _none(bot)
    return bot, webhook


def _none(bot: Bot) -> Refused:
    return Refused(f"the bot {bot.id} has no webhook: set one with `chatsvc webhook set`")


async def put(services: Services, *, bot: str, events: Sequence[str], url: str | None = None) -> Json:
    """Set a bot's webhook; a new one gets its signing key, which is shown this once. Without `url` events are kept, not sent.

    Raises Refused for a plan without webhooks, an event that cannot be chosen and a target of SPEC.md 6.4.
    """
    state, chatbot = await bots.resolve(services, bot)
    if state.account.plan not in _plans(services):
        raise Refused(f"the account's plan {state.account.plan or 'none'} has no webhooks; {', '.join(sorted(_plans(services)))} have")
    wanted = tuple(event for event in EVENTS if event in events)
    unknown = sorted(set(events) - set(EVENTS))
    if unknown or not wanted:
        raise Refused(f"the event {unknown[0]!r} cannot be chosen; there are {' and '.join(EVENTS)}" if unknown else "choose an event")
    if url is not None:
        try:
            await _courier(services).check(url)
        except TargetRefused as refusal:
            raise Refused(f"the address is refused: {refusal}") from None
    key, now = signing.generate_signing_key(), services.clock()
    new = Webhook(chatbot.id, url, wanted, b"", now, now)
    webhook, is_new = await stored.put(services.db, new, _seal(services, key, chatbot.id))
    return _shown(webhook, key if is_new else None)


async def show(services: Services, *, bot: str) -> Json:
    """A bot's webhook, without its signing key."""
    return _shown((await _find(services, bot))[1])


async def rotate(services: Services, *, bot: str) -> Json:
    """A new signing key, shown this once; what is sent from now on is signed with it alone."""
    chatbot, _ = await _find(services, bot)
    key = signing.generate_signing_key()
    changed = await stored.rotate(services.db, chatbot.id, _seal(services, key, chatbot.id), services.clock())
    if changed is None:
        raise _none(chatbot)
    return _shown(changed, key)


async def remove(services: Services, *, bot: str) -> Json:
    """Remove a bot's webhook; what is pending is recorded as failed (`webhook_removed`)."""
    chatbot, webhook = await _find(services, bot)
    await stored.remove(services.db, chatbot.id, services.clock())
    return {**_shown(webhook), "removed": True}


def _dispatcher(services: Services) -> Dispatcher:
    if services.dispatcher is None:
        raise RuntimeError("sending needs an event loop")
    return services.dispatcher


async def _sent(services: Services, attempt_id: str, sending: Sending | None) -> Json:
    if sending:
        await _dispatcher(services).deliver(sending)
    found = await told.attempt(services.db, attempt_id)
    if found is None:
        raise Refused(f"there is no attempt {attempt_id}")
    return shapes.attempt(found[0])


def _since(text: str) -> int:
    try:
        return times.parse_utc(text)
    except (ValueError, OverflowError):
        raise Refused(f"{text!r} is no time; write 2026-11-20 or 2026-11-20T08:00 (UTC)") from None


async def test(services: Services, *, bot: str) -> Json:
    """Send a test event now; the attempt is recorded and given back."""
    chatbot, webhook = await _find(services, bot)
    if webhook.url is None:
        raise Refused("this webhook only keeps its events (--pull): there is no address to send a test to")
    now = services.clock()
    request = Request(str(uuid.uuid4()), "contact", REQUEST_STATUSES[0], "This is a test.", "Test Visitor", None, None, "", now)
    data = json.dumps({**shapes.request(request), "is_test": True}, ensure_ascii=False, separators=(",", ":"))
    event = Event(0, chatbot.id, TEST, request.id, data, now)
    made = await stored.send_test(services.db, event, now, plans=_plans(services), sign=_dispatcher(services).sign)
    if made is None:
        raise Refused(f"there is no bot {bot}")
    return await _sent(services, *made)


async def attempts(services: Services, *, bot: str, limit: int = 20) -> list[Json]:
    """The newest attempts to deliver a bot's events."""
    _, chatbot = await bots.resolve(services, bot)
    if services.dispatcher is None:
        # No service runs, since its folder is state here: what is under way in the store was cut off.
        await stored.interrupt(services.db)
    return [shapes.attempt(attempt) for attempt in await told.attempts(services.db, chatbot.id, limit)]


async def resend(services: Services, *, attempt: str) -> Json:
    """Send the event of an attempt again; the record keeps its id, the delivery gets a new one."""
    found = await told.attempt(services.db, attempt)
    if found is None:
        raise Refused(f"there is no attempt {attempt}")
    if found[0].success is None:
        raise Refused(f"the attempt {attempt} is still under way")
    sent = await _send_again(services, found[1])
    if sent is None:
        raise Refused(f"there is no attempt {attempt}")
    return sent


async def _send_again(services: Services, event_number: int, *, failed: bool = False) -> Json | None:
    dispatcher = _dispatcher(services)
    if dispatcher.stopping:
        raise Refused("the service is stopping; `chatsvc webhook attempts` shows what was sent")
    made = await stored.send_again(services.db, event_number, services.clock(), plans=_plans(services), sign=dispatcher.sign, failed=failed)
    return await _sent(services, *made) if made else None


async def resend_failed(services: Services, *, bot: str, since: str, after: int = 0, limit: int = 100) -> Json:
    """Send each event of a bot again whose latest attempt, made since then, failed: as many at a time as its receiver may have.

    A page of `limit` events, for there may be many: `next` is what to give as `after` for the next one, None after the last.
    """
    _, chatbot = await bots.resolve(services, bot)
    numbers = await told.failed_since(services.db, chatbot.id, _since(since), after)
    page, left = numbers[:limit], len(numbers[limit:])
    # Looked at again before each: somebody else may have sent it meanwhile.
    sent = await _dispatcher(services).over_lanes(chatbot.id, [partial(_send_again, services, number, failed=True) for number in page])
    return {"attempts": [attempt for attempt in sent if attempt], "left": left, "next": page[-1] if left else None}


async def events(services: Services, *, bot: str, since: str | None = None, after: int = 0, limit: int = 100) -> list[Json]:
    """Recorded events of a bot as signed deliveries, for `webhook forward`: body and headers, ready to be posted."""
    chatbot, webhook = await _find(services, bot)
    start = _since(since) if since else 0
    try:
        key = sealing.unseal_with_any(services.secret.every(sealing.PURPOSE), webhook.signing_key, row(chatbot.id))
    except sealing.Unsealable as fault:
        raise Refused(f"{fault}: make a new one with `chatsvc webhook rotate`") from None
    made: list[Json] = []
    for event in await told.events_since(services.db, chatbot.id, start, after, limit):
        delivery_id = str(uuid.uuid4())
        body = build_request(event.event, delivery_id, event.created_at, chatbot.id, json.loads(event.data))
        made.append(
            {
                "number": event.number,
                "event": event.event,
                "record_id": event.record_id,
                "delivery_id": delivery_id,
                "body": body.decode(),
                "signature": signing.sign(key, body),
            }
        )
    return made
