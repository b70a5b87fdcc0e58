"""Queries that write and change requests and appointments, with their webhook events. store/inbox.py lists them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any, NamedTuple

from chatsvc.domain import shapes
from chatsvc.domain.captures import CONTACT, MAX_MESSAGE, PENDING, Appointment, CapturedRecord, Request, as_captured
from chatsvc.domain.shapes import Json
from chatsvc.store import day_counts, mail_notices, webhooks
from chatsvc.store.database import Connection, writes
from chatsvc.store.owners import BOT_IN_SCOPE, Accounts, listed
from chatsvc.store.webhooks import Event

REQUEST = """
    r.id, r.request_type, r.status, r.message, r.visitor_name, r.visitor_email, r.visitor_phone, r.source_page_host, r.created_at,
    r.note, (SELECT email FROM operators WHERE id = r.assignee), r.urgent, r.follows, r.change, r.history,
    r.item, r.end_date, r.end_time
"""
VISITOR = "visitor"  # the author of a change in a history, beside names of the team
MOST_CHANGES = 100  # entries of a history, if they are not notes
NOTE = "note"
APPOINTMENT = "a.id, a.status, a.appointment_date, a.appointment_time, a.appointment_at, a.created_at"


class NewCapture(NamedTuple):
    """A captured request with its appointment. `tell` is true if the account's plan has webhooks, `sends_mail` if operators are mailed."""

    request: Request
    appointment: Appointment | None
    tell: bool
    sends_mail: bool = False


def write(connection: Connection, bot_id: str, conversation: int, capture: NewCapture) -> None:
    """Write a request with its appointment and webhook events, within a unit. If it follows an earlier request, change that one too."""
    request, appointment, tell, sends_mail = capture
    r = _followed(connection, conversation, request) if request.follows is not None else request
    (number,) = connection.execute(
        """
        INSERT INTO requests (id, bot_id, conversation, request_type, status, message, visitor_name, visitor_email, visitor_phone,
            source_page_host, created_at, updated_at, urgent, follows, change, history, item, end_date, end_time)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING number
        """,
        (r.id, bot_id, conversation, *astuple(r)[1:9], r.created_at, int(r.urgent), *astuple(r)[12:]),
    ).fetchone()
    if r.urgent and r.follows is not None:
        connection.execute("UPDATE requests SET urgent = 1 WHERE id = ?", (r.follows,))
    connection.execute(
        """
        UPDATE conversations SET visitor_name = coalesce(?, visitor_name), visitor_email = coalesce(?, visitor_email),
            visitor_phone = coalesce(?, visitor_phone)
        WHERE number = ?
        """,
        (r.visitor_name, r.visitor_email, r.visitor_phone, conversation),
    )
    if appointment:
        a = appointment
        connection.execute(
            """
            INSERT INTO appointments
                (id, request, bot_id, status, appointment_date, appointment_time, appointment_at, created_at, updated_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            (a.id, number, bot_id, a.status, a.date, a.time, a.begins_at, a.created_at, a.created_at),
        )
    if r.follows is None:
        kinds = ("requests", "appointments") if appointment else ("requests",)
        day_counts.add(connection, bot_id, r.created_at, dict.fromkeys(kinds, 1))
    if sends_mail:
        mail_notices.note_capture(connection, bot_id, conversation, r, has_appointment=appointment is not None)
    webhook = webhooks.find_in(connection, bot_id) if tell else None
    if webhook is None:
        return
    state = webhooks.KEPT if webhook.url is None else webhooks.PENDING
    created: int | None = None
    records = [("request.created", r.id, shapes.request(r))]
    if appointment:
        records.append(("appointment.created", appointment.id, shapes.appointment(appointment)))
    for name, record_id, data in records:
        if name in webhook.events:
            text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
            created = webhooks.add_event(connection, Event(0, bot_id, name, record_id, text, r.created_at, created), state)


def appointment_of(row: Sequence[Any]) -> Appointment:
    """Make an appointment from a row with the columns of APPOINTMENT and REQUEST."""
    return Appointment(row[0], Request(*row[6:]), *row[1:6])


def record_of(row: Sequence[Any]) -> tuple[Request, Appointment | None]:
    """Make a request and its appointment, if any, from a row with the columns of APPOINTMENT and REQUEST."""
    return Request(*row[6:]), appointment_of(row) if row[0] is not None else None


class RecordState(NamedTuple):
    """A request with its appointment, and the row numbers of request, appointment and conversation."""

    number: int
    appointment_number: int | None
    conversation: int
    request: Request
    appointment: Appointment | None

    @property
    def status(self) -> str:
        return (self.appointment or self.request).status

    def state(self) -> Json:
        """Return the values that a change may alter, in the form in which the history stores them."""
        a = self.appointment
        when = {"at": a.begins_at, "date": a.date, "time": a.time} if a else dict.fromkeys(("at", "date", "time"))
        return {"status": self.status, **when, **shapes.fields(self.request, "end_date", "end_time", *CONTACT)}


def state_of(connection: Connection, request_id: str) -> RecordState:
    """Read a request with its appointment and row numbers, within a unit. The request must exist."""
    row = connection.execute(
        f"""
        SELECT r.number, a.number, r.conversation, {APPOINTMENT}, {REQUEST}
        FROM requests r LEFT JOIN appointments a ON a.request = r.number WHERE r.id = ?
        """,
        (request_id,),
    ).fetchone()
    return RecordState(row[0], row[1], row[2], *record_of(row[3:]))


def _followed(connection: Connection, conversation: int, request: Request) -> Request:
    """Apply a visitor's change to the earlier request, or store it there until the team decides. Return the change to be stored."""
    row = connection.execute("SELECT id FROM requests WHERE id = ? AND conversation = ?", (request.follows, conversation)).fetchone()
    if row is None:
        return replace(request, follows=None, change=None)
    root = state_of(connection, row[0])
    change: Json = json.loads(request.change or "{}")
    decisions = [entry for entry in root.request.entries if entry["kind"] != NOTE]
    # Visitors may take their own cancellation back.
    was_canceled_by_visitor = bool(decisions) and (decisions[-1]["by"], decisions[-1]["kind"]) == (VISITOR, "cancel")
    if root.status in PENDING or (change["kind"] == "withdraw" and was_canceled_by_visitor):
        apply_change(connection, root, change, request.created_at, VISITOR)
        return replace(request, status="done", change=json.dumps({**change, "state": "applied"}, ensure_ascii=False))
    waiting = None if change["kind"] == "withdraw" else json.dumps(change, ensure_ascii=False)
    connection.execute(
        "UPDATE requests SET change = ?, status = CASE WHEN ? = 1 THEN 'new' ELSE status END, updated_at = ? WHERE number = ?",
        (waiting, int(waiting is not None), request.created_at, root.number),
    )
    return replace(request, change=json.dumps({**change, "state": "waiting" if waiting else "withdrawn"}, ensure_ascii=False))


def apply_change(connection: Connection, root: RecordState, change: Mapping[str, Any], now: int, by: str) -> None:
    """Apply `change` to a stored request and its appointment, and add the former state to the request's history."""
    kind, message, words = change["kind"], root.request.message, change.get("words")
    status, request_status = {"cancel": ("canceled", "dismissed"), "withdraw": (None, "new")}.get(str(kind), (None, None))
    if kind == "withdraw":
        entries = reversed(root.request.entries)
        change = next((entry["before"] for entry in entries if entry["by"] == VISITOR and entry["kind"] != "withdraw"), change)
        status = change.get("status")
    if kind == "amend" and words and words not in message:
        message = f"{message}\n{words}"
    # An appointment that is moved ends when the visitor says, or nobody knows when.
    ends = change if kind in ("move", "withdraw") else shapes.fields(root.request, "end_date", "end_time")
    set_appointment(connection, root, now, status, *map(change.get, ("date", "time", "at")))
    connection.execute(
        """
        UPDATE requests SET status = coalesce(?, status), visitor_name = coalesce(?, visitor_name),
            visitor_email = coalesce(?, visitor_email), visitor_phone = coalesce(?, visitor_phone), message = ?, updated_at = ?,
            end_date = ?, end_time = ?
        WHERE number = ?
        """,
        (request_status, *map(change.get, CONTACT), message[:MAX_MESSAGE], now, ends.get("end_date"), ends.get("end_time"), root.number),
    )
    remember(connection, root.number, {"at": now, "by": by, "kind": kind, "before": root.state()})


def set_appointment(connection: Connection, root: RecordState, now: int, *values: object) -> None:
    """Write status, date, time and instant (`values`) of a record's appointment, if any, within a unit. None keeps a column's value."""
    connection.execute(
        """
        UPDATE appointments SET status = coalesce(?, status), appointment_date = coalesce(?, appointment_date),
            appointment_time = coalesce(?, appointment_time), appointment_at = coalesce(?, appointment_at), updated_at = ?
        WHERE number = ?
        """,
        (*values, now, root.appointment_number),
    )


def remember(connection: Connection, number: int, *entries: Json) -> None:
    """Add entries to the history of a request within a unit. `number` is the request's row number."""
    (history,) = connection.execute("SELECT history FROM requests WHERE number = ?", (number,)).fetchone()
    changes = [*json.loads(history or '{"changes": []}')["changes"], *entries]
    if len(changes) > MOST_CHANGES:
        changes = [entry for entry in changes[:-MOST_CHANGES] if entry["kind"] == NOTE] + changes[-MOST_CHANGES:]
    connection.execute("UPDATE requests SET history = ? WHERE number = ?", (json.dumps({"changes": changes}, ensure_ascii=False), number))


def of_conversation(connection: Connection, conversation: int, limit: int) -> tuple[CapturedRecord, ...]:
    """Read a conversation's newest `limit` requests within a unit, the oldest of them first. `conversation` is its row number."""
    rows = connection.execute(
        f"""
        SELECT {APPOINTMENT}, {REQUEST} FROM requests r LEFT JOIN appointments a ON a.request = r.number
        WHERE r.conversation = ? AND r.follows IS NULL ORDER BY r.number DESC LIMIT ?
        """,
        (conversation, limit),
    ).fetchall()
    return tuple(as_captured(*record_of(row)) for row in reversed(rows))


class CaptureChange(NamedTuple):
    """Changes of a request or an appointment. None leaves a value. An empty text removes the notes, or the assignee (an operator's id)."""

    status: str | None = None
    note: str | None = None
    assignee: str | None = None


def change_request(connection: Connection, request_id: str, accounts: Accounts, change: CaptureChange, now: int, by: str = "") -> bool:
    """Change a request of these accounts within a unit, with `by` as the author of a note. Return False if there is no such request."""
    row = connection.execute(
        f"SELECT number, note, history, updated_at FROM requests WHERE id = ?2 AND {BOT_IN_SCOPE}", (listed(accounts), request_id)
    ).fetchone()
    if row is None:
        return False
    number, note, history, updated_at = row
    connection.execute(
        """
        UPDATE requests SET status = coalesce(?1, status),
            note = CASE WHEN ?2 IS NULL THEN note WHEN ?2 = '' THEN NULL ELSE coalesce(note || '\n\n', '') || ?2 END,
            assignee = CASE WHEN ?3 IS NULL THEN assignee ELSE nullif(?3, '') END, updated_at = ?4
        WHERE number = ?5
        """,
        (*change, now, number),
    )
    if change.status not in (None, "new"):
        settle_missed(connection, number)
    entries = json.loads(history)["changes"] if history else []
    if change.note:
        # A note of an earlier version has no author.
        is_unsigned = note and all(entry["kind"] != NOTE for entry in entries)
        unsigned = [{"at": updated_at, "by": "", "kind": NOTE, "text": note}] if is_unsigned else []
        remember(connection, number, *unsigned, {"at": now, "by": by, "kind": NOTE, "text": change.note})
    elif change.note is not None:
        remaining = json.dumps({"changes": [entry for entry in entries if entry["kind"] != NOTE]}, ensure_ascii=False)
        connection.execute("UPDATE requests SET history = ? WHERE number = ?", (remaining, number))
    return True


@writes
def set_request(
    connection: Connection, request_id: str, accounts: Accounts, change: CaptureChange, now: int, by: str = ""
) -> Request | None:
    """Change a request as `change_request` does. Return the changed request, or None if there is no such request."""
    return state_of(connection, request_id).request if change_request(connection, request_id, accounts, change, now, by) else None


def settle_missed(connection: Connection, number: int) -> None:
    """Clear the mark that the team missed a request's waiting visitor (`missed_at`), within a unit. `number` is the request's number."""
    missed = "UPDATE conversations SET missed_at = NULL WHERE number = (SELECT conversation FROM requests WHERE number = ?)"
    connection.execute(missed, (number,))
