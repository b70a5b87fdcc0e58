"""Execution of the tool calls of one message. Searches, and captures that are checked before the model is told of them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import cached_property

from chatsvc.domain import opening_hours, times
from chatsvc.domain.captures import FURTHEST_DAYS, Captured, Change, checked
from chatsvc.domain.channels import REACHING
from chatsvc.engines import Hit, Turn, language
from chatsvc.engines.anthropic import stable, tools
from chatsvc.engines.anthropic.answer import ToolCall
from chatsvc.engines.anthropic.tools import WrongArguments

MAX_ATTEMPTS = 8
"""Calls of capture tools within one message, successful or not."""

MAX_SEARCHES = 3
"""Searches of the knowledge within one message."""

SEARCHED_CHARS = 4_000
"""Characters of entries that one search returns, or a little more."""

CHANGEABLE = frozenset({"pending", "confirmed"})
"""Statuses of appointments that can be moved or canceled."""


class Notes:
    """Captures of one message. At most one request and one appointment, or one change; and the entries found by searches."""

    def __init__(self, turn: Turn, offered: tuple[str, ...]) -> None:
        self.captured: Captured | None = None
        self._offered = offered
        self._turn = turn
        self._done: set[str] = set()
        self._attempts = 0
        self._searches = 0
        self.hits: list[Hit] = []

    @cached_property
    def _spoken(self) -> list[str]:
        return [past.content for past in self._turn.history if past.role == "user"] + [self._turn.message]

    @cached_property
    def _now(self) -> datetime:
        return times.local(self._turn.now_ms, self._turn.bot.timezone)

    def results(self, calls: Sequence[ToolCall]) -> list[dict[str, object]]:
        """Execute calls and build their tool_result blocks; invalid calls get an error as their result."""
        return [self._result(call) for call in calls]

    def _result(self, call: ToolCall) -> dict[str, object]:
        try:
            told, failed = self._call(call), False
        except WrongArguments as fault:
            told, failed = f"Nothing was {'found' if call.name == tools.SEARCH else 'noted'}. {fault}", True
        result: dict[str, object] = {"type": "tool_result", "tool_use_id": call.id, "content": told}
        return {**result, "is_error": True} if failed else result

    def _call(self, call: ToolCall) -> str:
        if call.name == tools.NO_ANSWER:
            return "Understood. Tell the visitor what was noted, if anything was, and what you do not know."
        if call.name not in self._offered:
            raise WrongArguments(f"There is no such tool; the tools are {', '.join(self._offered)}.")
        if call.name == tools.SEARCH:
            return self._search(call)
        self._attempts += 1
        if self._attempts > MAX_ATTEMPTS:
            raise WrongArguments("That was tried too often. Answer the visitor now.")
        if call.name in self._done or self._done & {tools.CAPTURE_APPOINTMENT, tools.CHANGE_APPOINTMENT}:
            raise WrongArguments("One request and one appointment at most are noted from one message, and that is done. Answer now.")
        if call.name == tools.CHANGE_APPOINTMENT:
            if self._done:
                raise WrongArguments("A request was noted from this message; that is enough. Answer now.")
            return self._change(tools.wanted_change(call.input))
        claimed = tools.captured(call.name, call.input)
        kept = checked(claimed, self._spoken, self._now, self._turn.bot.country)
        self._demand(claimed, kept)
        self._done.add(call.name)
        self.captured = kept if self.captured is None else _joined(self.captured, kept)
        return _told(claimed, kept)

    def _search(self, call: ToolCall) -> str:
        self._searches += 1
        if self._searches > MAX_SEARCHES:
            raise WrongArguments("That was searched too often. Answer the visitor now.")
        found = self._turn.knowledge.search(tools.query(call.input), spoken=language.detected(self._turn)).hits
        known = {hit.entry.id for hit in self.hits}
        new, used = list[Hit](), 0
        for hit in found:
            if hit.entry.id not in known and used < SEARCHED_CHARS:
                new.append(hit)
                used += len(hit.entry.question) + len(hit.entry.answer)
        self.hits += new
        return stable.entries_told([hit.entry for hit in new], "Found")

    def _change(self, wanted: tools.WantedChange) -> str:
        """Capture the wish to move or cancel an appointment of this conversation."""
        open_ones = [record for record in self._turn.captured if record.kind == "appointment" and record.status in CHANGEABLE]
        record = next((record for record in open_ones if record.id == wanted.appointment_id), None)
        if record is None:
            ids = ", ".join(record.id for record in open_ones)
            raise WrongArguments(f"There is no such appointment; the noted ones are: {ids or 'none'}.")
        claimed = Captured("appointment", wanted.message, date=wanted.date, time=wanted.time, change=Change(record, wanted.cancels))
        if not wanted.cancels and (wanted.date or wanted.time):
            self._demand_moment(replace(claimed, date=wanted.date or record.date, time=wanted.time or record.time))
        self.captured = checked(claimed, self._spoken, self._now, self._turn.bot.country)
        self._done.add(tools.CHANGE_APPOINTMENT)
        what = "cancel it" if wanted.cancels else "move it"
        if self.captured.date and self.captured.time:
            what += f" to {self.captured.date:%Y-%m-%d} {self.captured.time:%H:%M}"
        return f"Passed on to the business as a wish: {what}. The appointment stays as it is until the business changes it; say so."

    def _demand(self, claimed: Captured, kept: Captured) -> None:
        """Refuse a request without contact data, and an appointment at an impossible time."""
        if claimed.date is not None:
            self._demand_moment(claimed)
        missing = []
        if claimed.date is not None and kept.visitor_name is None:
            missing.append("a name")
        if not (kept.visitor_email or kept.visitor_phone or self._turn.channel in REACHING):
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
    """Merge a request and an appointment of the same message into one capture."""
    return replace(
        appointment,
        message=max(appointment.message, request.message, key=len),
        visitor_name=appointment.visitor_name or request.visitor_name,
        visitor_email=appointment.visitor_email or request.visitor_email,
        visitor_phone=appointment.visitor_phone or request.visitor_phone,
    )


def _told(claimed: Captured, kept: Captured) -> str:
    """Write the result for the model. What was noted, and what was dropped, so that it can ask."""
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
    """Write the reply where something was captured and the model then failed. The capture is kept."""
    contact = ", ".join(filter(None, (captured.visitor_name, captured.visitor_email, captured.visitor_phone)))
    about = f" ({contact})" if contact else ""
    turkish = language.among(turn, ("tr", "en")) == "tr"
    if captured.change is not None:
        return _change_confirmation(captured.change, turkish=turkish)
    if captured.date is None or captured.time is None:
        if turkish:
            return f"Talebinizi not aldım{about}. İşletme onaylayana kadar kesinleşmiş sayılmaz."
        return f"I have noted your request{about}. Nothing is settled until the business confirms it."
    day, clock = _written(captured.date, turkish=turkish), f"{captured.time:%H:%M}"
    if turkish:
        return f"{day} saat {clock} için randevu isteğinizi not aldım{about}. Randevu, işletme onaylayınca kesinleşir."
    return f"I have noted that you would like an appointment on {day} at {clock}{about}. It is not booked until the business confirms it."


def _change_confirmation(change: Change, *, turkish: bool) -> str:
    if turkish:
        wanted = "iptal" if change.cancels else "değişiklik"
        return f"Randevunuz için {wanted} isteğinizi not aldım. İşletme değiştirene kadar randevunuz olduğu gibi kalır."
    wanted = "cancel" if change.cancels else "move"
    return f"I have noted that you would like to {wanted} your appointment. It stays as it is until the business changes it."


def _written(day: date, *, turkish: bool) -> str:
    return f"{day:%d.%m.%Y}" if turkish else f"{day:%Y-%m-%d}"
