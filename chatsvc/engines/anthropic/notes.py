"""What is noted down while one message is answered: each call of a tool is checked here before the model hears that it is noted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import cached_property

from chatsvc.domain import opening_hours, times
from chatsvc.domain.captures import FURTHEST_DAYS, Captured, checked
from chatsvc.engines import Turn, language
from chatsvc.engines.anthropic import tools
from chatsvc.engines.anthropic.answer import Call
from chatsvc.engines.anthropic.tools import WrongArguments

MAX_ATTEMPTS = 8
"""How often a model may call a capture tool within one message, in vain or not."""

# The channel on which the visitor is reached where they write from: nothing need be typed for that.
_REACHED = frozenset({"whatsapp"})


class Notes:
    """The notes of one message: at most one request and one appointment, the appointment with its request."""

    def __init__(self, turn: Turn) -> None:
        self.captured: Captured | None = None
        self._turn = turn
        self._done: set[str] = set()
        self._attempts = 0

    @cached_property
    def _spoken(self) -> list[str]:
        return [past.content for past in self._turn.history if past.role == "user"] + [self._turn.message]

    @cached_property
    def _now(self) -> datetime:
        return times.local(self._turn.now_ms, self._turn.bot.timezone)

    def results(self, calls: Sequence[Call]) -> list[dict[str, object]]:
        """The tool_result blocks of these calls; none of them ever raises."""
        return [self._result(call) for call in calls]

    def _result(self, call: Call) -> dict[str, object]:
        try:
            told, failed = self._call(call), False
        except WrongArguments as fault:
            told, failed = f"Nothing was noted. {fault}", True
        result: dict[str, object] = {"type": "tool_result", "tool_use_id": call.id, "content": told}
        return {**result, "is_error": True} if failed else result

    def _call(self, call: Call) -> str:
        if call.name == tools.NO_ANSWER:
            return "Understood. Tell the visitor what was noted, if anything was, and what you do not know."
        if call.name not in (tools.CAPTURE_REQUEST, tools.CAPTURE_APPOINTMENT):
            known = ", ".join(str(tool["name"]) for tool in tools.TOOLS)
            raise WrongArguments(f"There is no such tool; the tools are {known}.")
        self._attempts += 1
        if self._attempts > MAX_ATTEMPTS:
            raise WrongArguments("That was tried too often. Answer the visitor now.")
        if call.name in self._done or tools.CAPTURE_APPOINTMENT in self._done:
            raise WrongArguments("One request and one appointment at most are noted from one message, and that is done. Answer now.")
        claimed = tools.captured(call.name, call.input)
        kept = checked(claimed, self._spoken, self._now, self._turn.bot.country)
        self._demand(claimed, kept)
        self._done.add(call.name)
        self.captured = kept if self.captured is None else _joined(self.captured, kept)
        return _told(claimed, kept)

    def _demand(self, claimed: Captured, kept: Captured) -> None:
        """Refuse what is of no use to the business: a wish of nobody who can be reached, an appointment that cannot be."""
        if claimed.date is not None:
            self._demand_moment(claimed)
        missing = []
        if claimed.date is not None and kept.visitor_name is None:
            missing.append("a name")
        if not (kept.visitor_email or kept.visitor_phone or self._turn.channel in _REACHED):
            missing.append("an e-mail address or a phone number")
        if missing:
            raise WrongArguments(f"The visitor's own messages hold no such thing as {' and '.join(missing)} that was passed. Ask for it.")

    def _demand_moment(self, claimed: Captured) -> None:
        if claimed.date is None or claimed.time is None:
            raise WrongArguments("An appointment has a date and a time.")
        moment, now = datetime.combine(claimed.date, claimed.time), self._now
        if moment <= now:
            raise WrongArguments(f"That is in the past; it is now {now:%Y-%m-%d %H:%M}. Ask for another day or time.")
        if moment > now + timedelta(days=FURTHEST_DAYS):
            raise WrongArguments(f"That is too far ahead; {now + timedelta(days=FURTHEST_DAYS):%Y-%m-%d} is the last day.")
        if not _is_open(self._turn.bot.opening_hours, moment):
            hours = self._turn.bot.opening_hours
            raise WrongArguments(f"The business is closed then. It is open {hours}. Tell the visitor and ask for another time.")


def _is_open(hours: str | None, moment: datetime) -> bool:
    try:
        week = opening_hours.parse(hours) if hours and hours.strip() else None
    except ValueError:
        week = None  # hours that only a person can read are for the business to judge
    if week is None:
        return True
    minute = moment.hour * 60 + moment.minute
    return any(opens <= minute < closes for opens, closes in week.get(opening_hours.DAYS[moment.weekday()], []))


def _joined(request: Captured, appointment: Captured) -> Captured:
    """A request and an appointment of the same message as the one record that they are, with nothing of either lost."""
    return replace(
        appointment,
        message=max(appointment.message, request.message, key=len),
        visitor_name=appointment.visitor_name or request.visitor_name,
        visitor_email=appointment.visitor_email or request.visitor_email,
        visitor_phone=appointment.visitor_phone or request.visitor_phone,
    )


def _told(claimed: Captured, kept: Captured) -> str:
    """What the model hears: what stands in the note, and what was thrown away, so that it can ask."""
    noted = [f"{kept.date:%Y-%m-%d} {kept.time:%H:%M}"] if kept.date and kept.time else []
    dropped = []
    for label, was, now in (
        ("name", claimed.visitor_name, kept.visitor_name),
        ("e-mail", claimed.visitor_email, kept.visitor_email),
        ("phone", claimed.visitor_phone, kept.visitor_phone),
    ):
        if now:
            noted.append(f"{label} {now}")
        elif was:
            dropped.append(label)
    told = f"Noted, and yet to be confirmed by the business: {', '.join(noted) or 'the request'}."
    if dropped:
        told += f" Not noted, since the visitor did not type it: {', '.join(dropped)}."
    return told


def confirmation(turn: Turn, captured: Captured) -> str:
    """The reply where something was noted and the model then found no words: what is written down must not be lost with them."""
    contact = ", ".join(filter(None, (captured.visitor_name, captured.visitor_email, captured.visitor_phone)))
    about = f" ({contact})" if contact else ""
    turkish = language.among(turn, ("tr", "en")) == "tr"
    if captured.date is None or captured.time is None:
        if turkish:
            return f"Talebinizi not aldım{about}. İşletme onaylayana kadar kesinleşmiş sayılmaz."
        return f"I have noted your request{about}. Nothing is settled until the business confirms it."
    day, clock = _written(captured.date, turkish=turkish), f"{captured.time:%H:%M}"
    if turkish:
        return f"{day} saat {clock} için randevu isteğinizi not aldım{about}. Randevu, işletme onaylayınca kesinleşir."
    return f"I have noted that you would like an appointment on {day} at {clock}{about}. It is not booked until the business confirms it."


def _written(day: date, *, turkish: bool) -> str:
    return f"{day:%d.%m.%Y}" if turkish else f"{day:%Y-%m-%d}"
