"""Questions about captured records, and wishes to move or cancel them.

A change is captured as a request (DECISIONS.md section 2): the appointment stays as it is until the team changes it.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import date, datetime, time

from chatsvc.domain.captures import Captured, CapturedRecord, Change, wanted_change
from chatsvc.domain.times import DAY_MS
from chatsvc.engines import Reply, Turn
from chatsvc.engines.knowledge.dialogue import hearing, hours, record_corrections, texts
from chatsvc.engines.knowledge.dialogue.message import VisitorMessage

_VERSION = 1
_MAX_CHARACTERS = 500
_OPEN = ("pending", "confirmed", "new", "in_progress")
_NOON = 12
_BARE_WORDS = 7  # a longer message with a day in it is no bare new time
_SAME_TIME = re.compile(r" (?:same time|ayni saat\w*) ")
_CANCELS_OUTRIGHT = re.compile(r" (?:iptal\w*|cancel\w*|vazgec\w*|delete|remove) ")
_POINTS = re.compile(r" (?:it|that|this|mine|bunu|onu|bu|o|them) ")
_ASKS_LEAVE = re.compile(r" (?:can i|could i|may i|can we|could we|can you|could you|is it possible|edebilir m\w+|olur mu|mumkun mu) ")
_FRESH_MS = 2 * 3_600_000  # so long after a capture a bare "cancel it" or "when is it" is about it


@dataclass(frozen=True, slots=True)
class PendingChange:
    """A change that the visitor has begun. Of which appointment, and what is known of the new time."""

    appointment_id: str
    cancels: bool
    day: date | None = None
    clock: time | None = None

    def dump(self, now_ms: int) -> str:
        """Serialise it, as `Reply.dialogue`."""
        kept = {
            "v": _VERSION,
            "at": now_ms,
            "change": self.appointment_id,
            "c": self.cancels,
            "d": self.day.isoformat() if self.day else None,
            "t": f"{self.clock:%H:%M}" if self.clock else None,
        }
        return json.dumps(kept, separators=(",", ":"))


def load(turn: Turn) -> PendingChange | None:
    """Deserialise the change begun by the last reply. None for anything else, or one older than a day."""
    if not turn.dialogue or len(turn.dialogue) > _MAX_CHARACTERS:
        return None
    try:
        kept = json.loads(turn.dialogue)
        if not isinstance(kept, dict) or kept.get("v") != _VERSION or abs(turn.now_ms - kept["at"]) >= DAY_MS:
            return None
        day, clock = kept["d"], kept["t"]
        change = PendingChange(
            str(kept["change"]),
            bool(kept["c"]),
            date.fromisoformat(day) if day else None,
            time.fromisoformat(clock) if clock else None,
        )
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return change if appointment(turn, change.appointment_id) else None


def appointment(turn: Turn, identity: str | None = None) -> CapturedRecord | None:
    """Return the appointment of that id, else the newest that is not over."""
    known = [one for one in turn.captured if one.kind == "appointment" and one.date and one.time]
    if identity is not None:
        return next((one for one in known if one.id == identity), None)
    live = [one for one in known if one.status in _OPEN]
    return live[-1] if live else known[-1] if known else None


def newest(turn: Turn) -> CapturedRecord | None:
    """Return the newest record."""
    return turn.captured[-1] if turn.captured else None


def reply(message: VisitorMessage) -> Reply | None:
    """Reply to a question about a captured record or a wish to change it. None for other messages or without a record."""
    turn = message.turn
    if not turn.captured:
        return None
    message = _with_bare_hour(message)
    booked, wanted = appointment(turn), message.intents
    if message.has_contact and (corrected := record_corrections.reply(message)):
        return corrected
    moves = _moves(message) and ("cancel" not in wanted or not _CANCELS_OUTRIGHT.search(message.line))
    if booked is not None and ("move" in wanted or moves):
        return _move(message, booked, PendingChange(booked.id, cancels=False))
    if "cancel" in wanted or ("lets_go" in wanted and _is_fresh(turn) and _POINTS.search(message.line)):
        return _cancel(message, booked)
    if "answered" in wanted and booked is None:
        return Reply(_say(message)("status.request.when"))
    return record_corrections.reply(message) or status(message)


def status(message: VisitorMessage) -> Reply | None:
    """Reply to a question about a captured record; None for other messages."""
    if message.intents & {"own", "status"} and not (message.wish and message.wish.clear):
        return _status(message)
    return None


def asks_leave(message: VisitorMessage) -> bool:
    """Return whether a question asks for a change to be made, and not about changes."""
    return bool(_ASKS_LEAVE.search(message.line))


def proceed(message: VisitorMessage, change: PendingChange) -> Reply | None:
    """Reply to the answer to an open question of a change. None if the message is about something else."""
    booked = appointment(message.turn, change.appointment_id)
    if booked is None:
        return None
    heard = hearing.interpret(message.text, "time" if change.day else "date", message.now, message.turn.bot.country)
    if hearing.denies(message.text) and not (heard.day or heard.clock):
        return Reply(_say(message)("change.dropped"))
    if change.cancels:
        return _captured(message, booked, change) if hearing.agrees(message.text, heard) else None
    if not (heard.day or heard.clock or hearing.agrees(message.text, heard)) or heard.question:
        return None
    return _move(replace_heard(message, heard), booked, change)


def replace_heard(message: VisitorMessage, heard: hearing.Utterance) -> VisitorMessage:
    """Return the message with other values read in it."""
    other = VisitorMessage(message.turn)
    other.__dict__["heard"] = heard
    return other


def _with_bare_hour(message: VisitorMessage) -> VisitorMessage:
    """Return the message with the bare hour read that a value becomes. Example: "can we make it 10"."""
    if message.heard.names_when or message.has_contact or not hearing.changes_value(message.line):
        return message
    heard = hearing.interpret(message.text, "confirm", message.now, message.turn.bot.country)
    return message if heard.clock is None else replace_heard(message, replace(message.heard, clock=heard.clock))


def _moves(message: VisitorMessage) -> bool:
    """Return whether a message soon after the capture moves it. Examples: "pazara alsak", "make it 5"."""
    heard = message.heard
    named = heard.day is not None or heard.clock is not None or _SAME_TIME.search(message.line)
    return bool(named) and _is_fresh(message.turn) and bool(hearing.changes_value(message.line)) and len(message.said) <= _BARE_WORDS + 3


def _is_fresh(turn: Turn) -> bool:
    last = newest(turn)
    return last is not None and turn.now_ms - last.created_at <= _FRESH_MS


def _move(message: VisitorMessage, booked: CapturedRecord, change: PendingChange) -> Reply:
    say, heard, now = _say(message), message.heard, message.now
    week = hours.week_of(message.turn.bot.opening_hours)
    day, clock = heard.day or change.day, _meant_clock(message, heard.day or change.day or booked.date, week) or change.clock
    if day is None and clock is None:
        return Reply(say("change.when", appointment=_moment(message, booked)), dialogue=change.dump(message.turn.now_ms))
    wanted = replace(change, day=day or booked.date, clock=clock or booked.time)
    if (wanted.day, wanted.clock) == (booked.date, booked.time):  # no other time was understood
        return Reply(say("change.when", appointment=_moment(message, booked)), dialogue=change.dump(message.turn.now_ms))
    refused = _refused(wanted, now, week, say)
    if refused:
        kept = replace(change, day=None if refused[0] == "date" else wanted.day, clock=clock)
        told = say(refused[1], hours=hours.in_words(week, say.days), time=f"{wanted.clock:%H:%M}" if wanted.clock else "")
        return Reply(f"{told} {say('change.other')}", dialogue=kept.dump(message.turn.now_ms))
    return _captured(message, booked, wanted)


def _meant_clock(message: VisitorMessage, day: date | None, week: hours.Week) -> time | None:
    """Return the time named. A bare hour is in the evening if the business is closed in the morning: "push it to 8.30"."""
    clock, now = message.heard.clock, message.now
    if clock is None or clock.hour >= _NOON or hearing.names_morning(message.text) or not hours.refused_time(clock, day, now, week):
        return clock
    later = clock.replace(hour=clock.hour + _NOON)
    return clock if hours.refused_time(later, day, now, week) else later


def _refused(wanted: PendingChange, now: datetime, week: hours.Week, say: texts.Say) -> tuple[str, str] | None:
    if wanted.day and (reason := hours.refused_day(wanted.day, now, week, closed=say.profile.is_closed(wanted.day))):
        return "date", f"{reason}.date" if week or reason != "closed" else "closed.day"
    if wanted.clock and (reason := hours.refused_time(wanted.clock, wanted.day, now, week)):
        return "time", f"{reason}.time"
    return None


def _cancel(message: VisitorMessage, booked: CapturedRecord | None) -> Reply | None:
    say, turn = _say(message), message.turn
    if booked is None:
        return _withdrawn(message)
    if booked.status == "canceled":
        return Reply(say("status.canceled", appointment=_moment(message, booked)))
    change = PendingChange(booked.id, cancels=True)
    if message.heard.question or asks_leave(message):
        return Reply(say("change.cancel?", appointment=_moment(message, booked)), dialogue=change.dump(turn.now_ms), choices=say.yes_no)
    return _captured(message, booked, change)


def _withdrawn(message: VisitorMessage) -> Reply | None:
    """Capture that the visitor withdraws a request that is no appointment."""
    last, say = newest(message.turn), _say(message)
    if last is None:
        return None
    if not message.turn.may_capture:
        return Reply(say("change.too_many"))
    about = f"{message.text.strip()}\n{last.message}"
    caught = Captured(last.request_type, about, last.visitor_name, last.visitor_email, last.visitor_phone)
    return Reply(say("change.withdrawn"), captured=caught)


def _captured(message: VisitorMessage, booked: CapturedRecord, change: PendingChange) -> Reply:
    say, turn = _say(message), message.turn
    if not turn.may_capture:
        return Reply(say("change.too_many"))
    caught = Captured("appointment", message.text.strip(), date=change.day, time=change.clock, change=Change(booked, change.cancels))
    moment = _moment(message, booked)
    if change.cancels:
        return Reply(say("change.done.cancel", appointment=moment), captured=caught)
    wanted = f"{say.date(change.day)}, {change.clock:%H:%M}" if change.day and change.clock else ""
    return Reply(say("change.done.move", appointment=moment, wanted=wanted), captured=caught)


def _status(message: VisitorMessage) -> Reply:
    """Tell date, time and status of the appointment, and a change asked for since."""
    say, turn = _say(message), message.turn
    booked = appointment(turn)
    if booked is None:
        last = turn.captured[-1]
        return Reply(say(f"status.request.{'open' if last.status in _OPEN else 'done'}"))
    told = say(f"status.{booked.status}", appointment=_moment(message, booked))
    wishes = [change for record in turn.captured if (change := wanted_change(record)) and change[0] == booked.id]
    if wishes and booked.status in _OPEN:
        _, day, clock = wishes[-1]
        wanted = f"{say.date(day)}, {clock:%H:%M}" if day and clock else ""
        told += " " + say("status.change.move" if wanted else "status.change.cancel", wanted=wanted)
    return Reply(told)


def _moment(message: VisitorMessage, booked: CapturedRecord) -> str:
    say = _say(message)
    return f"{say.date(booked.date)}, {booked.time:%H:%M}" if booked.date and booked.time else ""


def _say(message: VisitorMessage) -> texts.Say:
    return texts.of(message.turn.bot, message.tongue)
