"""What bots have captured: made into records when a message is answered, listed and moved on by the administrator."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, tzinfo
from functools import lru_cache

from chatsvc.domain import captures, shapes, times
from chatsvc.domain.captures import APPOINTMENT_STATUSES, REQUEST_STATUSES, Appointment, Captured, Request
from chatsvc.domain.errors import Refused
from chatsvc.domain.models import Bot
from chatsvc.domain.shapes import Json
from chatsvc.store import captures as stored
from chatsvc.usecases import bots
from chatsvc.usecases.services import Services

QUARTER_MS = 15 * 60 * 1000


def _zone(bot: Bot) -> tzinfo:
    return times.zone(bot.timezone) or UTC


def start_of_day(bot: Bot, instant: int) -> int:
    """When the bot's own day began, milliseconds since the epoch."""
    return _start_of_day(bot.timezone, instant // QUARTER_MS)


@lru_cache(maxsize=1024)
def _start_of_day(timezone: str, quarter: int) -> int:
    # Days begin on a quarter of an hour of UTC, everywhere.
    local = datetime.fromtimestamp(quarter * QUARTER_MS / 1000, times.zone(timezone) or UTC)
    return int(local.replace(hour=0, minute=0, second=0, microsecond=0).timestamp() * 1000)


def records(bot: Bot, captured: Captured, spoken: list[str], accepted_at: int) -> tuple[Request, Appointment | None]:
    """The records of what an engine has captured, with only what code could verify; `spoken` are the visitor's own messages."""
    kept = captures.checked(captured, spoken, times.local(accepted_at, bot.timezone), bot.country)
    request = Request(
        id=str(uuid.uuid4()),
        request_type=kept.request_type,
        status=REQUEST_STATUSES[0],
        message=captures.change_message(kept, kept.change, bot.language) if kept.change else kept.message,
        visitor_name=kept.visitor_name,
        visitor_email=kept.visitor_email,
        visitor_phone=kept.visitor_phone,
        source_page_host="",
        created_at=accepted_at,
    )
    # A change leaves one appointment, not two: the team moves it.
    if kept.change or kept.date is None or kept.time is None:
        return request, None
    at = captures.instant(kept.date, kept.time, _zone(bot))
    day, clock = kept.date.isoformat(), f"{kept.time:%H:%M}"
    return request, Appointment(str(uuid.uuid4()), request, APPOINTMENT_STATUSES[0], day, clock, at, accepted_at)


async def list_requests(services: Services, *, bot: str) -> list[Json]:
    """A bot's requests, newest first."""
    _, chatbot = await bots.resolve(services, bot)
    return [shapes.request(request) for request in await stored.requests(services.db, chatbot.id)]


async def list_appointments(services: Services, *, bot: str) -> list[Json]:
    """A bot's appointments, newest first."""
    _, chatbot = await bots.resolve(services, bot)
    return [shapes.appointment(appointment) for appointment in await stored.appointments(services.db, chatbot.id)]


def _status(status: str, known: tuple[str, ...]) -> str:
    if status not in known:
        raise Refused(f"the status {status!r} is none of {', '.join(known)}")
    return status


async def set_request(services: Services, *, request: str, status: str) -> Json:
    """Change a request's status; raises Refused."""
    changed = await stored.set_request(services.db, request, _status(status, REQUEST_STATUSES), services.clock())
    if changed is None:
        raise Refused(f"there is no request {request}")
    services.account_cache.histories.clear()
    return shapes.request(changed)


async def set_appointment(services: Services, *, appointment: str, status: str) -> Json:
    """Change an appointment's status; raises Refused."""
    changed = await stored.set_appointment(services.db, appointment, _status(status, APPOINTMENT_STATUSES), services.clock())
    if changed is None:
        raise Refused(f"there is no appointment {appointment}")
    services.account_cache.histories.clear()
    return shapes.appointment(changed)
