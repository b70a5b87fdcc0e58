"""Decisions of the team on appointments: move, confirm, cancel and add them, and notify the customer."""

import uuid
from collections.abc import Sequence
from datetime import UTC, date, time

from chatsvc import timezones
from chatsvc.domain import contacts, refusals, times
from chatsvc.domain.actors import Caller
from chatsvc.domain.captures import FURTHEST_DAYS, MAX_MESSAGE, Appointment, InboxItem, Request, instant
from chatsvc.domain.channels import NewMessage
from chatsvc.domain.mails import STOPPED
from chatsvc.domain.models import Bot
from chatsvc.domain.operators import normalised_email
from chatsvc.domain.refusals import Refused
from chatsvc.language import catalogue
from chatsvc.services.accounts import accounts, bots
from chatsvc.services.conversations import captures, conversations, handling
from chatsvc.services.messages import channel_messages, visitor_addresses
from chatsvc.services.services import Services
from chatsvc.store import appointments as stored
from chatsvc.store import captures as stored_captures
from chatsvc.store import inbox
from chatsvc.store.appointments import Announcement, AppointmentMove
from chatsvc.store.captures import CaptureChange

TELL = ("on", "off")
DECISIONS = ("confirmed", "moved", "canceled", "refused")
_FOR_REQUEST = {"new": "pending", "in_progress": "pending", "done": "done", "dismissed": "canceled"}


async def set_appointment(
    services: Services,
    caller: Caller,
    *,
    appointment: str,
    date: str | None = None,
    time: str | None = None,
    tell: str | None = None,
    text: str | None = None,
    status: str | None = None,
    note: str | None = None,
    assignee: str | None = None,
) -> InboxItem:
    """Change status, day and time of an appointment, or the note and assignee that it shares with its request. See set_request.

    The customer is notified of a new status or time, with `text` or the usual sentence, unless `tell` is "off". If `tell` is "on" and the
    customer cannot be notified, nothing is changed. Without `tell`, the appointment is changed even if the customer cannot be notified.
    """
    moves = date is not None or time is not None
    change = CaptureChange()
    if not moves or status or note or assignee:
        change = await captures.checked(services, caller, "appointment", appointment, status, note, assignee)
    item = await find(services, caller, record=appointment)
    bot = await bots.resolve(services, caller, item.bot_id)
    move = _move(services, bot, item.appointment, date, time) if moves else None
    is_decision = move is not None or change.status is not None
    announcement = await _announcement(services, caller, bot, item, tell, text) if is_decision else None
    by, now = caller.actor.name or "", services.clock()
    await stored.set_appointment(services.db, appointment, caller.scope.accounts, change, now, by, move, announcement)
    services.events.notify((item.bot_id, item.channel, item.user_id))
    return await find(services, caller, record=appointment)


async def set_request(
    services: Services,
    caller: Caller,
    *,
    request: str,
    status: str | None = None,
    note: str | None = None,
    assignee: str | None = None,
) -> Request:
    """Change a request's `status`, `note` or `assignee` (an e-mail address). Its appointment gets the corresponding status."""
    change = await captures.checked(services, caller, "request", request, status, note, assignee)
    item = await inbox.find(services.db, caller.scope.accounts, request)
    if item is None or item.request.id != request:
        raise refusals.request_not_found(request=request)
    if item.appointment and change.status:
        status = _FOR_REQUEST[change.status]
        if change.status == "done" and item.appointment.status == "confirmed":
            status = "confirmed"
        if status != "pending" or not (item.appointment.status == "pending" or item.request.open_change):
            await set_appointment(services, caller, appointment=item.appointment.id, status=status)
    by = caller.actor.name or ""
    changed = await stored_captures.set_request(services.db, request, caller.scope.accounts, change, services.clock(), by)
    if changed is None:
        raise refusals.request_not_found(request=request)
    return changed


async def decide(
    services: Services, caller: Caller, *, request: str, accept: bool, tell: str | None = None, text: str | None = None
) -> InboxItem:
    """Accept or refuse the pending change of a confirmed appointment, and notify the customer. Raises Refused."""
    item = await find(services, caller, record=request)
    bot = await bots.resolve(services, caller, item.bot_id)
    announcement = await _announcement(services, caller, bot, item, tell, text)
    by = caller.actor.name or ""
    if not await stored.decide(services.db, item.request.id, caller.scope.accounts, accept, services.clock(), by, announcement):
        raise refusals.nothing_to_change()
    services.events.notify((item.bot_id, item.channel, item.user_id))
    return await find(services, caller, record=request)


async def _announcement(
    services: Services, caller: Caller, bot: Bot, item: InboxItem, tell: str | None, text: str | None
) -> Announcement | None:
    """Prepare the message to the customer, or return None for no message. Raise Refused if `tell` is "on" and the channel is closed."""
    if tell not in (None, *TELL):
        raise refusals.status_unknown(status=tell, known=list(TELL))
    own = accounts.long_text(text or "", "text", handling.MOST_TEXT, optional=True)
    if tell == "off":
        return None
    refusal = None
    conversation, state, _ = await conversations.resolve(services, caller, item.conversation_id)
    try:
        await handling.check_writable(services, conversation)
    except Refused as fault:
        if tell == "on":
            raise
        refusal = fault.code
    address = await visitor_addresses.to_mail(services, caller, item.conversation_id, item.request.visitor_email)
    mail_to = address.address if address and address.refusal != STOPPED else None
    language = await channel_messages.spoken(services, bot, (item.bot_id, item.channel, item.user_id), "")
    author = (await handling.handler_of(services, caller, state.account)).name
    return Announcement(lambda decision, changed: sentence(bot, language, decision, changed, own), author, refusal, mail_to)


def sentence(bot: Bot, language: str, decision: str, appointment: Appointment | None, own: str = "") -> str:
    """Return the message that tells a customer a decision. It is the text `own` if given, otherwise the bot's sentence.

    Without an appointment, the placeholder `{when}` is not replaced.
    """
    when = "{when}"
    if appointment is not None:
        when = times.in_words(date.fromisoformat(appointment.date), time.fromisoformat(appointment.time), language)
    return catalogue.filled(own, {"when": when}) or catalogue.of_bot(bot, language)(f"decision.{decision}", when=when)


async def drafts(services: Services, caller: Caller, *, items: Sequence[InboxItem]) -> dict[str, dict[str, str]]:
    """Return the message that a customer would get for each possible decision. The keys are the request's id and the decision."""
    sentences = {}
    for item in items:
        if item.appointment is None or item.appointment.status == "done":
            continue
        bot = await bots.resolve(services, caller, item.bot_id)
        language = await channel_messages.spoken(services, bot, (item.bot_id, item.channel, item.user_id), "")
        sentences[item.request.id] = {
            name: sentence(bot, language, name, None if name == "moved" else item.appointment) for name in DECISIONS
        }
    return sentences


def _move(services: Services, bot: Bot, old: Appointment | None, day: str | None, clock: str | None) -> AppointmentMove | None:
    """Parse the new day and time of an appointment. Return None if it has them already. Raise Refused if they are not possible."""
    try:
        date_ = date.fromisoformat(day if day is not None else old.date if old else "")
    except ValueError:
        raise refusals.date_unknown(date=day or "") from None
    try:
        time_ = time.fromisoformat(clock if clock is not None else old.time if old else "").replace(second=0, microsecond=0, tzinfo=None)
    except ValueError:
        raise refusals.time_unknown(time=clock or "") from None
    moment, now = instant(date_, time_, timezones.zone(bot.timezone) or UTC), services.clock()
    if times.local(moment, bot.timezone).time() != time_:
        raise refusals.time_unknown(time=f"{day} {clock}")
    if old and (old.date, old.time) == (date_.isoformat(), f"{time_:%H:%M}"):
        return None
    if not now < moment <= now + FURTHEST_DAYS * times.DAY_MS:
        raise refusals.appointment_time_refused(date=date_.isoformat(), time=f"{time_:%H:%M}", days=FURTHEST_DAYS)
    return AppointmentMove(date_.isoformat(), f"{time_:%H:%M}", moment)


async def find(services: Services, caller: Caller, *, record: str) -> InboxItem:
    """Find a request by its own id or its appointment's id. Raises `appointment_not_found`."""
    item = await inbox.find(services.db, caller.scope.accounts, record)
    if item is None:
        raise refusals.appointment_not_found(appointment=record)
    return item


async def add(
    services: Services,
    caller: Caller,
    *,
    bot: Bot,
    date: str,
    time: str,
    name: str,
    phone: str | None = None,
    email: str | None = None,
    message: str | None = None,
) -> InboxItem:
    """Add a confirmed appointment that the team has made. It gets a conversation of its own. Raises Refused."""
    now, record_id = services.clock(), str(uuid.uuid4())
    request = Request(
        id=str(uuid.uuid4()),
        request_type="appointment",
        status="done",
        message=accounts.long_text(message or "", "message", MAX_MESSAGE, optional=True) or "",
        visitor_name=accounts.long_text(name or "", "name", contacts.MAX_NAME),
        visitor_email=normalised_email(email) if email else None,
        visitor_phone=phone_of(phone, bot.country) if phone else None,
        source_page_host="",
        created_at=now,
    )
    move = _move(services, bot, None, date, time)
    assert move is not None  # noqa: S101  # there is no appointment before that has this time
    appointment = Appointment(record_id, request, "confirmed", move.date, move.time, move.instant, now)
    opening = NewMessage(bot.account_id, bot.id, "api", f"appointment-{record_id}", "", record_id, now)
    await stored.add(services.db, opening, request, appointment)
    return await find(services, caller, record=record_id)


def phone_of(value: str, country: str) -> str:
    """Return a telephone number in E.164; raises `phone_invalid`."""
    number = contacts.own_phone(value, [value], country)
    if number is None:
        raise refusals.phone_invalid(phone=value)
    return number
