"""Appointments as the team decides on them: moved, confirmed, canceled, added; and what the customer is told of it."""

import uuid
from datetime import date, time

from chatsvc import translations
from chatsvc.domain import contacts, refusals, times
from chatsvc.domain.actors import Caller
from chatsvc.domain.captures import MAX_MESSAGE, Appointment, InboxItem, Request, instant
from chatsvc.domain.channels import NewMessage
from chatsvc.domain.models import Bot
from chatsvc.domain.operators import normalised_email
from chatsvc.domain.refusals import Refused
from chatsvc.services.accounts import accounts, bots
from chatsvc.services.conversations import captures, handling
from chatsvc.services.services import Services
from chatsvc.store import captures as stored
from chatsvc.store import inbox
from chatsvc.store.captures import CaptureChange, Moved

TELL = ("on", "off")
_SENTENCES = {"confirmed": "told.confirmed", "moved": "told.moved", "canceled": "told.canceled", "refused": "told.refused"}


async def set_appointment(
    services: Services,
    caller: Caller,
    *,
    appointment: str,
    date: str | None = None,
    time: str | None = None,
    tell: str | None = None,
    text: str | None = None,
    **changes: str | None,
) -> InboxItem:
    """Change an appointment's status, day and time; or note and assignee, which it shares with its request. See set_request.

    The customer is told of a new status or time, with `text` or the usual sentence, unless `tell` is "off". With "on" nothing is changed
    where the customer cannot be told; without either it is changed all the same.
    """
    if tell not in (None, *TELL):
        raise refusals.status_unknown(status=tell, known=list(TELL))
    moves = date is not None or time is not None
    change = (
        CaptureChange()
        if moves and not any(changes.values())
        else await captures.checked(services, caller, "appointment", appointment, **changes)
    )
    item = await _item(services, caller, appointment)
    bot = (await bots.resolve(services, caller, item.bot_id))[1]
    moved = _moved(bot, item, date, time) if moves else None
    is_told = tell != "off" and (moved is not None or change.status in ("confirmed", "canceled"))
    if is_told and tell == "on":
        await handling.check_writable(services, caller, item.conversation_id)
    changed = await stored.set_appointment(
        services.db, appointment, caller.scope.accounts, change, services.clock(), moved, caller.actor.name or ""
    )
    if changed is None:
        raise refusals.appointment_not_found(appointment=appointment)
    if is_told:
        kind = "moved" if moved else change.status or ""
        await _tell(services, caller, await _item(services, caller, appointment), kind, text)
    return await _item(services, caller, appointment)


def _moved(bot: Bot, item: InboxItem, day: str | None, clock: str | None) -> Moved:
    """Read the day and time that the team gives; raises `date_unknown` and `time_unknown`."""
    old = item.appointment
    try:
        date_ = date.fromisoformat(day if day is not None else old.date if old else "")
    except ValueError:
        raise refusals.date_unknown(date=day or "") from None
    try:
        time_ = time.fromisoformat(clock if clock is not None else old.time if old else "").replace(second=0, microsecond=0, tzinfo=None)
    except ValueError:
        raise refusals.time_unknown(time=clock or "") from None
    at = instant(date_, time_, captures.zone_of(bot))
    if times.local(at, bot.timezone).time() != time_:
        raise refusals.time_unknown(time=f"{day} {clock}")
    return Moved(date_.isoformat(), f"{time_:%H:%M}", at)


async def find(services: Services, caller: Caller, *, record: str) -> InboxItem:
    """Find a request by its id or that of its appointment; raises `appointment_not_found`."""
    return await _item(services, caller, record)


async def _item(services: Services, caller: Caller, record: str) -> InboxItem:
    found = await inbox.find(services.db, caller.scope.accounts, record)
    if found is None:
        raise refusals.appointment_not_found(appointment=record)
    return found


def telling(bot: Bot, item: InboxItem, kind: str) -> str:
    """Return the sentence that tells the customer of a decision: "confirmed", "moved", "canceled" or "refused"."""
    language = "tr" if bot.language.partition("-")[0] == "tr" else "en"
    a = item.appointment
    when = times.in_words(date.fromisoformat(a.date), time.fromisoformat(a.time), language) if a else ""
    return translations.template(language, _SENTENCES[kind]).format(when=when)


async def _tell(services: Services, caller: Caller, item: InboxItem, kind: str, text: str | None) -> None:
    """Tell the customer in the conversation, and note it in the record's history. A channel that is closed is noted, too."""
    bot = (await bots.resolve(services, caller, item.bot_id))[1]
    words = (text or "").strip() or telling(bot, item, kind)
    how = [item.channel]
    try:
        await handling.reply(services, caller, conversation=item.conversation_id, text=words, takes=False)
    except Refused as fault:
        if not fault.code.startswith("channel_"):
            raise
        how = []
    await stored.note_told(services.db, item.request.id, services.clock(), caller.actor.name or "", how, words)


async def decide(
    services: Services, caller: Caller, *, request: str, accept: bool, tell: str | None = None, text: str | None = None
) -> InboxItem:
    """Accept or refuse the change of a confirmed appointment that waits; the customer is told. Raises Refused."""
    item = await _item(services, caller, request)
    if not item.request.open_change:
        raise refusals.nothing_to_change()
    kind = str(item.request.open_change["kind"])
    done = await stored.decide(services.db, request, caller.scope.accounts, accept, services.clock(), caller.actor.name or "")
    if done is None:
        raise refusals.nothing_to_change()
    item = await _item(services, caller, request)
    told = ("canceled" if kind == "cancel" else "moved") if accept else "refused"
    if tell != "off" and item.appointment:
        await _tell(services, caller, item, told, text)
    return await _item(services, caller, request)


async def add(
    services: Services,
    caller: Caller,
    *,
    bot: str,
    date: str,
    time: str,
    name: str,
    phone: str | None = None,
    email: str | None = None,
    message: str | None = None,
) -> InboxItem:
    """Note an appointment that the team has made, confirmed, in a conversation of its own; raises Refused."""
    state, found = await bots.resolve(services, caller, bot)
    now, record_id = services.clock(), str(uuid.uuid4())
    request = Request(
        id=str(uuid.uuid4()),
        request_type="appointment",
        status="done",
        message=accounts.long_text(message or "", "message", MAX_MESSAGE, optional=True) or "",
        visitor_name=accounts.long_text(name, "name", contacts.MAX_NAME),
        visitor_email=normalised_email(email) if email else None,
        visitor_phone=(phone or "").strip()[:40] or None,
        source_page_host="",
        created_at=now,
    )
    empty = Appointment("", request, "", "", "", 0, now)
    moved = _moved(found, InboxItem(request, empty, found.id, "", "api", ()), date, time)
    made = Appointment(record_id, request, "confirmed", moved.date, moved.time, moved.at, now)
    opening = NewMessage(state.account.id, found.id, "api", f"appointment-{record_id}", "", record_id, now)
    await stored.add(services.db, opening, request, made)
    return await _item(services, caller, record_id)
