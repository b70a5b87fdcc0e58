"""Decisions of the team on appointments. A decision, its history entry and the message to the customer are written in one transaction."""

import json
from collections.abc import Callable
from datetime import date
from typing import NamedTuple

from chatsvc.domain.captures import Appointment, Request
from chatsvc.domain.channels import NewMessage, first_delivery
from chatsvc.domain.models import OPERATOR
from chatsvc.domain.shapes import Json
from chatsvc.store import captures, day_counts, mail_notices
from chatsvc.store.captures import APPOINTMENT, REQUEST, CaptureChange, NewCapture, RecordState
from chatsvc.store.channel_messages import NoticeSentence, addressed, say
from chatsvc.store.database import Connection, reads, writes
from chatsvc.store.owners import BOT_IN_SCOPE, Accounts, listed

MOST_OF_A_CALENDAR = 2000  # appointments of a feed
# Statuses of a request whose appointment has this status: there is one status to set.
_OF_APPOINTMENT = {"pending": "new", "confirmed": "done", "canceled": "dismissed", "done": "done"}
_FIND = f"SELECT id FROM requests WHERE number = (SELECT request FROM appointments WHERE id = ?2) AND {BOT_IN_SCOPE}"


class AppointmentMove(NamedTuple):
    """The new date and time that the team gives an appointment. `instant` is the same time in Unix milliseconds."""

    date: str
    time: str
    instant: int


class Announcement(NamedTuple):
    """A message that tells the customer of a decision: "confirmed", "moved", "canceled" or "refused".

    `text` makes the text of the message from the decision and the changed appointment. `refusal` is the reason why the conversation accepts
    no message now, or None. `mail_to` is the address to which the message is also mailed.
    """

    text: Callable[[str, Appointment | None], str]
    author: str
    refusal: str | None = None
    mail_to: str | None = None


@writes
def set_appointment(
    connection: Connection,
    appointment_id: str,
    accounts: Accounts,
    change: CaptureChange,
    now: int,
    by: str,
    move: AppointmentMove | None = None,
    announcement: Announcement | None = None,
) -> None:
    """Change an appointment of these accounts (None for all) and the status of its request. Do nothing if there is no such appointment.

    If a change by the visitor waits for the team's decision, this decides it too. `announcement` notifies the customer of the decision.
    """
    row = connection.execute(_FIND, (listed(accounts), appointment_id)).fetchone()
    old = captures.state_of(connection, *row) if row else None
    if old is None or old.appointment is None:
        return
    if move is not None and (move.date, move.time) == (old.appointment.date, old.appointment.time):
        move = None
    status = change.status if change.status != old.status else None
    kind = "move" if move else "status" if status else "refuse" if change.status and old.request.change else None
    if kind is not None:
        captures.set_appointment(connection, old, now, status, *(move or (None, None, None)))
        if move and old.request.end_date:
            later = date.fromisoformat(move.date) - date.fromisoformat(old.appointment.date)
            values = (date.fromisoformat(old.request.end_date) + later).isoformat(), old.number
            connection.execute("UPDATE requests SET end_date = ? WHERE number = ?", values)
        _settle(connection, old, status or old.status, now)
        captures.remember(connection, old.number, {"at": now, "by": by, "kind": kind, "before": old.state()})
    if change.note is not None or change.assignee is not None:
        captures.change_request(connection, old.request.id, accounts, change._replace(status=None), now, by)
    decision = "refused" if kind == "refuse" else status if status == "canceled" else "moved" if move else status
    if announcement and decision in ("confirmed", "moved", "canceled", "refused"):
        _announce(connection, old, announcement, decision, now, by)


@writes
def decide(
    connection: Connection, request_id: str, accounts: Accounts, accepts: bool, now: int, by: str, announcement: Announcement | None
) -> bool:
    """Accept or refuse a request's pending change, and notify the customer. Return False if the request has no pending change."""
    waits = f"SELECT change FROM requests WHERE id = ?2 AND change IS NOT NULL AND {BOT_IN_SCOPE}"
    row = connection.execute(waits, (listed(accounts), request_id)).fetchone()
    if row is None:
        return False
    old, change = captures.state_of(connection, request_id), json.loads(row[0])
    if accepts:
        captures.apply_change(connection, old, change, now, by)
    else:
        captures.remember(connection, old.number, {"at": now, "by": by, "kind": "refuse", "before": old.state()})
    appointment = captures.state_of(connection, request_id).appointment
    _settle(connection, old, appointment.status if appointment else "done", now)
    if announcement and appointment:
        decision = {"cancel": "canceled", "amend": "confirmed"}.get(change["kind"], "moved") if accepts else "refused"
        _announce(connection, old, announcement, decision, now, by)
    return True


def _settle(connection: Connection, old: RecordState, status: str, now: int) -> None:
    """Set the status of a request to match the status of its appointment, and remove its pending change."""
    values = _OF_APPOINTMENT[status], now, old.number
    connection.execute("UPDATE requests SET change = NULL, status = ?, updated_at = ? WHERE number = ?", values)
    if status != "pending":
        captures.settle_missed(connection, old.number)


def _announce(connection: Connection, old: RecordState, announcement: Announcement, decision: str, now: int, by: str) -> None:
    """Notify the customer in the conversation and by mail. Store the text and how it was sent in the history."""
    (channel,) = connection.execute("SELECT channel FROM conversations WHERE number = ?", (old.conversation,)).fetchone()
    text = announcement.text(decision, captures.state_of(connection, old.request.id).appointment)
    ways = ([] if announcement.refusal else [channel]) + (["mail"] if announcement.mail_to else [])
    if ways:
        message = say(
            connection,
            old.conversation,
            NoticeSentence(text, now, "failed" if announcement.refusal else first_delivery(channel, OPERATOR)),
            OPERATOR,
            announcement.author,
        )
        if announcement.refusal:
            connection.execute("UPDATE messages SET error = ? WHERE number = ?", (announcement.refusal, message))
        else:
            day_counts.note_response(connection, old.conversation, now)
        if announcement.mail_to and old.appointment_number:
            mail_notices.note_decision(connection, old.appointment_number, message, announcement.mail_to, now)
    notice: Json = {"how": ways, "text": text, "error": announcement.refusal}
    captures.remember(connection, old.number, {"at": now, "by": by, "kind": "told", **notice})


@writes
def add(connection: Connection, message: NewMessage, request: Request, appointment: Appointment) -> None:
    """Write an appointment that the team has made. Its conversation has no messages."""
    conversation, *_ = addressed(connection, message)
    connection.execute("UPDATE conversations SET message_count = 0 WHERE number = ?", (conversation,))
    captures.write(connection, message.bot_id, conversation, NewCapture(request, appointment, tell=False))


@reads
def calendar(connection: Connection, bot_id: str, since: int) -> list[Appointment]:
    """Read the appointments of a bot from `since` on, in the order of their times. Canceled appointments are left out."""
    rows = connection.execute(
        f"""
        SELECT {APPOINTMENT}, {REQUEST} FROM appointments a JOIN requests r ON r.number = a.request
        WHERE a.bot_id = ? AND a.appointment_at >= ? AND a.status <> 'canceled' ORDER BY a.appointment_at LIMIT {MOST_OF_A_CALENDAR}
        """,
        (bot_id, since),
    ).fetchall()
    return [captures.appointment_of(row) for row in rows]
