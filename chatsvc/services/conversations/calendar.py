"""Appointments for calendar programs (iCalendar): a bot's feed, whose address contains a token, and invitations for customers."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from chatsvc.config.model import Smtp
from chatsvc.domain import keys, times
from chatsvc.domain.actors import Caller
from chatsvc.domain.captures import Appointment
from chatsvc.domain.models import Bot
from chatsvc.services.services import Services
from chatsvc.store import appointments as stored_appointments
from chatsvc.store import bots as stored
from chatsvc.store import inbox, owners
from chatsvc.store.mails import OutgoingMail

if TYPE_CHECKING:
    from icalendar import Calendar, Event

PATH = "/calendar/"
SUFFIX = ".ics"
_KIND = "calendar"
_PAST_MS = 90 * times.DAY_MS
_PRODUCT = "-//chatsvc//appointments//EN"
_STATUS = {"confirmed": "CONFIRMED", "done": "CONFIRMED", "canceled": "CANCELLED"}


class CalendarAddress(NamedTuple):
    """Address of a bot's calendar feed. Everybody who has the address can read the appointments."""

    url: str


async def show(services: Services, _: Caller, *, bot: Bot, renew: bool = False) -> CalendarAddress:
    """Return the address of a bot's calendar feed. If `renew` is true, make a new address, and the old one becomes invalid."""
    bot_id = bot.id
    generation = await (stored.renew_calendar if renew else stored.calendar)(services.db, bot_id)
    token = keys.sign_token(services.secret(_KIND).hex(), _KIND, bot_id, str(generation))
    return CalendarAddress(f"{services.config.server.public_url}{PATH}{token}{SUFFIX}")


async def feed(services: Services, token: str) -> bytes | None:
    """Return the calendar feed to which a token belongs, as iCalendar, or None if the token is wrong."""
    parts = next(filter(None, (keys.read_token(key.hex(), _KIND, token) for key in services.secret.every(_KIND))), None)
    if parts is None or len(parts) != 2:
        return None
    owner = await services.account_cache.bot(await owners.account_of(services.db, "bot", parts[0], None), parts[0])
    if owner is None or str(await stored.calendar(services.db, owner.id)) != parts[1]:
        return None
    appointments = await stored_appointments.calendar(services.db, owner.id, services.clock() - _PAST_MS)
    return await services.offload(lambda: write(owner, appointments))


def _calendar(**properties: str) -> Calendar:
    from icalendar import Calendar

    calendar = Calendar()
    for name, value in {"prodid": _PRODUCT, "version": "2.0", **properties}.items():
        calendar.add(name, value)
    return calendar


def write(bot: Bot, appointments: list[Appointment]) -> bytes:
    """Write appointments for the team as iCalendar (RFC 5545)."""
    calendar = _calendar(**{"x-wr-calname": bot.name})
    for appointment in appointments:
        request = appointment.request
        event = _event(bot, appointment, request.visitor_name or bot.name)
        contact = ", ".join(filter(None, (request.visitor_phone, request.visitor_email)))
        event.add("description", "\n".join(filter(None, (contact, request.message))))
        calendar.add_component(event)
    return bytes(calendar.to_ical())


def _event(bot: Bot, appointment: Appointment, summary: str, stamp: int | None = None) -> Event:
    from icalendar import Event

    event, begin = Event(), times.utc(appointment.begins_at)
    event.add("uid", f"{appointment.id}@chatsvc")
    event.add("dtstamp", times.utc(appointment.created_at if stamp is None else stamp))
    event.add("dtstart", begin)
    event.add("dtend", begin + timedelta(minutes=bot.appointment_minutes))
    event.add("summary", summary)
    event.add("status", _STATUS.get(appointment.status, "TENTATIVE"))
    return event


class Invitation(NamedTuple):
    """A calendar file for a customer, with its method (RFC 5546)."""

    method: str
    file: bytes


async def of_mail(services: Services, mail: OutgoingMail) -> tuple[Bot, Appointment]:
    """Return the bot and the appointment of a mail, as they were when it was queued. Raises LookupError if one was deleted."""
    item = await inbox.find(services.db, None, mail.appointment_id or "")
    bot = await services.account_cache.bot(mail.account_id, item.bot_id) if item else None
    if item is None or item.appointment is None or bot is None:
        raise LookupError("the appointment of a mail is gone")
    return bot, item.appointment.as_of(mail.created_at)


def invite(bot: Bot, appointment: Appointment, smtp: Smtp, mail: OutgoingMail) -> Invitation:
    """Write the invitation file for an appointment's customer. Calendar programs add, move or remove the event and ask for no answer."""
    from icalendar import vCalAddress

    method = "CANCEL" if appointment.status == "canceled" else "REQUEST"
    event = _event(bot, appointment, bot.name, mail.created_at)
    organizer, attendee = vCalAddress(f"mailto:{smtp.sender}"), vCalAddress(f"mailto:{mail.recipient}")
    # A later version of an event has a higher number: the entries of the history only become more.
    event.add("sequence", sum(entry["at"] <= mail.created_at for entry in appointment.request.entries))
    organizer.params["CN"] = bot.name
    attendee.params["PARTSTAT"] = "ACCEPTED"
    attendee.params["RSVP"] = "FALSE"
    event["organizer"] = organizer
    event.add("attendee", attendee)
    if bot.address:
        event.add("location", bot.address)
    calendar = _calendar(method=method)
    calendar.add_component(event)
    return Invitation(method, bytes(calendar.to_ical()))
