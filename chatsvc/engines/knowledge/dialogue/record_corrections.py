"""Corrections of a captured record. The name, telephone number, e-mail address, or a number of people or things.

Like a change of the appointment, a correction is captured as a request: the team corrects the record.
"""

from __future__ import annotations

from chatsvc.domain.captures import Captured, CapturedRecord, Change
from chatsvc.engines import Reply
from chatsvc.engines.knowledge.dialogue import corrections, hearing, texts
from chatsvc.engines.knowledge.dialogue.message import VisitorMessage
from chatsvc.language.contacts import in_local_form

_MOST_WORDS = 14  # of a correction
_FEW = 4  # words of a message that only names a number
_FRESH_MS = 2 * 3_600_000  # so long after a capture a bare number is about it
_FIELDS = ("phone", "email", "name")


def reply(message: VisitorMessage) -> Reply | None:
    """Capture a correction of the newest record; None for other messages."""
    turn = message.turn
    last = turn.captured[-1] if turn.captured else None
    if last is None or len(message.said) > _MOST_WORDS or _wishes_else(message):
        return None
    name, email, phone = _corrected(message, last)
    known = name or email or phone
    if not (name or (known and _names_field(message)) or (known and hearing.changes_value(message.line)) or _counts(message, last)):
        return None
    say = texts.of(turn.bot, message.tongue)
    if not turn.may_capture:
        return Reply(say("change.too_many"))
    told = {"name": name, "phone": in_local_form(phone, turn.bot.country) if phone else None, "email": email}
    data = ", ".join(f"{say(f'field.{kind}').lower()} {value}" for kind, value in told.items() if value)
    about = Change(_appointment_of(message, last), cancels=False, corrects=True)
    name, email, phone = name or last.visitor_name, email or last.visitor_email, phone or last.visitor_phone
    said = say("change.done.contact", data=data) if data else say("change.done.detail")
    return Reply(said, captured=Captured(last.request_type, message.text.strip(), name, email, phone, change=about))


def _counts(message: VisitorMessage, last: CapturedRecord) -> bool:
    """Return whether a statement soon after the capture names another number: "make it 7 people"."""
    fresh = message.turn.now_ms - last.created_at <= _FRESH_MS
    dated = message.heard.day or message.heard.clock or message.heard.question
    alone = message.heard.counts and len(message.said) <= _FEW
    counted = any(word.isdigit() for word in message.said) and message.heard.substance(2) and hearing.changes_value(message.line)
    return fresh and not dated and (alone or counted)


def _wishes_else(message: VisitorMessage) -> bool:
    """Return whether the message asks for something new."""
    clear = message.wish is not None and message.wish.clear
    return clear and not _names_field(message) and not hearing.changes_value(message.line)


def _names_field(message: VisitorMessage) -> bool:
    return message.heard.field(_FIELDS) is not None


def _corrected(message: VisitorMessage, last: CapturedRecord) -> tuple[str | None, str | None, str | None]:
    """Return name, e-mail address and telephone number as far as they differ from the record's."""
    heard, turn = message.heard, message.turn
    name = corrections.renamed(message.text, last.visitor_name, message.now, turn.bot.country)
    email = heard.email if heard.email != last.visitor_email else None
    return name, email, heard.phone if heard.phone != last.visitor_phone else None


def _appointment_of(message: VisitorMessage, last: CapturedRecord) -> CapturedRecord:
    """Return the newest appointment, which the newest record may be about, else the newest record."""
    known = [one for one in message.turn.captured if one.kind == "appointment"]
    return known[-1] if known and last.request_type == "appointment" else last
