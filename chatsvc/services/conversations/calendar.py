"""Feed of a bot's appointments for calendar programs (iCalendar), at an address that holds a token."""

from datetime import timedelta
from typing import NamedTuple

from chatsvc.domain import times, visitor_tokens
from chatsvc.domain.actors import Caller
from chatsvc.domain.captures import Appointment
from chatsvc.domain.models import Bot
from chatsvc.services.accounts import bots
from chatsvc.services.services import Services
from chatsvc.store import bots as stored
from chatsvc.store import captures, owners

PATH = "/calendar/"
SUFFIX = ".ics"
_KIND = "calendar"
_PAST_MS = 90 * times.DAY_MS
_STATUS = {"confirmed": "CONFIRMED", "done": "CONFIRMED"}


class CalendarAddress(NamedTuple):
    """The address of a bot's feed. Whoever has it reads the appointments."""

    url: str


async def show(services: Services, caller: Caller, *, bot: str, renew: bool = False) -> CalendarAddress:
    """Return the address of a bot's feed; with `renew` a new one, and the old one is no more."""
    found = (await bots.resolve(services, caller, bot))[1]
    generation = await (stored.renew_calendar if renew else stored.calendar)(services.db, found.id)
    token = visitor_tokens.sign(services.secret(_KIND).hex(), _KIND, found.id, str(generation))
    return CalendarAddress(f"{services.config.server.public_url}{PATH}{token}{SUFFIX}")


async def feed(services: Services, token: str) -> bytes | None:
    """Return the feed that a token opens, as iCalendar; None for a token that opens none."""
    parts = next(filter(None, (visitor_tokens.read(key.hex(), _KIND, token) for key in services.secret.every(_KIND))), None)
    if parts is None or len(parts) != 2:
        return None
    account_id = await owners.account_of(services.db, "bot", parts[0], None)
    state = await services.account_cache.account(account_id) if account_id else None
    found = state.bots.get(parts[0]) if state else None
    if found is None or str(await stored.calendar(services.db, found.id)) != parts[1]:
        return None
    appointments = await captures.calendar(services.db, found.id, services.clock() - _PAST_MS)
    return await services.offload(lambda: write(found, appointments))


def write(bot: Bot, appointments: list[Appointment]) -> bytes:
    """Write appointments as iCalendar (RFC 5545)."""
    from icalendar import Calendar, Event

    calendar = Calendar()
    calendar.add("prodid", "-//chatsvc//appointments//EN")
    calendar.add("version", "2.0")
    calendar.add("x-wr-calname", bot.name)
    for appointment in appointments:
        request, event = appointment.request, Event()
        begin = times.utc(appointment.at)
        event.add("uid", f"{appointment.id}@chatsvc")
        event.add("dtstamp", times.utc(appointment.created_at))
        event.add("dtstart", begin)
        event.add("dtend", begin + timedelta(minutes=bot.appointment_minutes))
        event.add("summary", request.visitor_name or bot.name)
        event.add("status", _STATUS.get(appointment.status, "TENTATIVE"))
        contact = ", ".join(filter(None, (request.visitor_phone, request.visitor_email)))
        event.add("description", "\n".join(filter(None, (contact, request.message))))
        calendar.add_component(event)
    return bytes(calendar.to_ical())
