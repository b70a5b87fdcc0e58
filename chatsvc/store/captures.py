"""Requests and appointments: written with their exchange and webhook events, and changed.

store/inbox.py lists, filters and searches them.
"""

import json
from collections.abc import Iterable
from dataclasses import astuple
from typing import Any, NamedTuple

from chatsvc.domain import shapes
from chatsvc.domain.captures import Appointment, CapturedRecord, Request, as_captured
from chatsvc.domain.shapes import Json
from chatsvc.store import day_counts, mail_notices, webhooks
from chatsvc.store.database import Connection, writes
from chatsvc.store.day_counts import DayCount
from chatsvc.store.owners import BOT_IN_SCOPE, Accounts, listed
from chatsvc.store.webhooks import Event

REQUEST = """
    r.id, r.request_type, r.status, r.message, r.visitor_name, r.visitor_email, r.visitor_phone, r.source_page_host, r.created_at,
    r.note, (SELECT email FROM operators WHERE id = r.assignee)
"""
APPOINTMENT = "a.id, a.status, a.appointment_date, a.appointment_time, a.appointment_at, a.created_at"


def write(
    connection: Connection,
    bot_id: str,
    conversation: int,
    request: Request,
    appointment: Appointment | None,
    *,
    tell: bool,
    sends_mail: bool = False,
) -> None:
    """Write a request with its appointment, and the events of the bot's webhook.

    tell: whether the plan has webhooks; else no events are written. sends_mail: whether operators who want it are mailed.
    """
    r = request
    (number,) = connection.execute(
        """
        INSERT INTO requests (id, bot_id, conversation, request_type, status, message, visitor_name, visitor_email, visitor_phone,
            source_page_host, created_at, updated_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number
        """,
        (r.id, bot_id, conversation, *astuple(r)[1:9], r.created_at),
    ).fetchone()
    connection.execute(
        "UPDATE conversations SET visitor_name = coalesce(?, visitor_name), visitor_email = coalesce(?, visitor_email) WHERE number = ?",
        (r.visitor_name, r.visitor_email, conversation),
    )
    if appointment:
        a = appointment
        connection.execute(
            """
            INSERT INTO appointments
                (id, request, bot_id, status, appointment_date, appointment_time, appointment_at, created_at, updated_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            (a.id, number, bot_id, a.status, a.date, a.time, a.at, a.created_at, a.created_at),
        )
    kinds = ("requests", "appointments") if appointment else ("requests",)
    day_counts.add(connection, [DayCount(bot_id, kind, r.created_at) for kind in kinds])
    if sends_mail:
        mail_notices.note_capture(connection, bot_id, conversation, r.created_at, has_appointment=appointment is not None)
    webhook = webhooks.find_in(connection, bot_id) if tell else None
    if webhook is None:
        return
    state = webhooks.KEPT if webhook.url is None else webhooks.PENDING
    told: int | None = None
    if "request.created" in webhook.events:
        event = Event(0, bot_id, "request.created", r.id, _snapshot(shapes.request(r)), r.created_at)
        told = webhooks.add_event(connection, event, state)
    if appointment and "appointment.created" in webhook.events:
        data = _snapshot(shapes.appointment(appointment))
        webhooks.add_event(connection, Event(0, bot_id, "appointment.created", appointment.id, data, r.created_at, told), state)


def _snapshot(data: Json) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def appointments_of(rows: Iterable[tuple[Any, ...]]) -> list[Appointment]:
    return [
        Appointment(id=row[0], request=Request(*row[6:17]), status=row[1], date=row[2], time=row[3], at=row[4], created_at=row[5])
        for row in rows
    ]


def of_conversation(connection: Connection, conversation: int, limit: int) -> tuple[CapturedRecord, ...]:
    """The newest records of a conversation (its row number), oldest first."""
    rows = connection.execute(
        f"""
        SELECT {APPOINTMENT}, {REQUEST} FROM requests r LEFT JOIN appointments a ON a.request = r.number
        WHERE r.conversation = ? ORDER BY r.number DESC LIMIT ?
        """,
        (conversation, limit),
    ).fetchall()
    return tuple(as_captured(Request(*row[6:]), appointments_of([row])[0] if row[0] else None) for row in reversed(rows))


class CaptureChange(NamedTuple):
    """Changes of a request or an appointment. None leaves a value, an empty text removes note or assignee (an operator's id)."""

    status: str | None = None
    note: str | None = None
    assignee: str | None = None


_SET_REQUEST = f"""
    UPDATE requests SET status = coalesce(?2, status), note = CASE WHEN ?3 IS NULL THEN note ELSE nullif(?3, '') END,
        assignee = CASE WHEN ?4 IS NULL THEN assignee ELSE nullif(?4, '') END, updated_at = ?5
    WHERE id = ?6 AND {BOT_IN_SCOPE} RETURNING number
"""
_SET_APPOINTMENT = (
    f"UPDATE appointments SET status = coalesce(?2, status), updated_at = ?3 WHERE id = ?4 AND {BOT_IN_SCOPE} RETURNING number"
)
_ONE_REQUEST = f"SELECT {REQUEST} FROM requests r WHERE r.number = ?"
_ONE_APPOINTMENT = f"SELECT {APPOINTMENT}, {REQUEST} FROM appointments a JOIN requests r ON r.number = a.request WHERE a.number = ?"
_REQUEST_OF = "SELECT r.id FROM appointments a JOIN requests r ON r.number = a.request WHERE a.number = ?"


def _change_request(connection: Connection, request_id: str, accounts: Accounts, change: CaptureChange, now: int) -> int | None:
    """Change a request of these accounts within a unit. Return its number, None where there is none."""
    row = connection.execute(_SET_REQUEST, (listed(accounts), *change, now, request_id)).fetchone()
    return row[0] if row else None


@writes
def set_request(connection: Connection, request_id: str, accounts: Accounts, change: CaptureChange, now: int) -> Request | None:
    """Change a request of these accounts (None for all); None where there is none."""
    number = _change_request(connection, request_id, accounts, change, now)
    return Request(*connection.execute(_ONE_REQUEST, (number,)).fetchone()) if number is not None else None


@writes
def set_appointment(connection: Connection, appointment_id: str, accounts: Accounts, change: CaptureChange, now: int) -> Appointment | None:
    """Change an appointment of these accounts (None for all); None where there is none. Note and assignee change with its request."""
    row = connection.execute(_SET_APPOINTMENT, (listed(accounts), change.status, now, appointment_id)).fetchone()
    if row is None:
        return None
    if change.note is not None or change.assignee is not None:
        (request_id,) = connection.execute(_REQUEST_OF, row).fetchone()
        _change_request(connection, request_id, accounts, change._replace(status=None), now)
    return appointments_of(connection.execute(_ONE_APPOINTMENT, row))[0]
