"""Execution of the tool calls of one message: searches and notes. Notes are checked before the model gets their result.

The result of a note is the record as the team will read it, and the values that were left out, with the reason.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING

from chatsvc.domain import profiles, times
from chatsvc.domain.captures import CONTACT, FURTHEST_DAYS, Captured, Change, change_message, checked
from chatsvc.domain.channels import REACHING
from chatsvc.domain.folding import among
from chatsvc.engines import Hit, Turn, hours
from chatsvc.engines.anthropic import prompt, quotes, tools
from chatsvc.engines.anthropic.answer import ModelAnswer, ToolCall
from chatsvc.engines.anthropic.tools import NoteCall, WrongArguments
from chatsvc.language.language_detection import spoken

if TYPE_CHECKING:
    from anthropic.types import ToolResultBlockParam

MAX_ATTEMPTS = 8  # calls of tools that note something within one message, successful or not
MAX_SEARCHES = 3  # searches of the knowledge within one message
SEARCHED_CHARS = 4_000  # characters of entries that one search returns, or a little more
FLOOR = 0.5  # share of the best entry's score below which an entry that a search found does not answer the query
CHANGEABLE = frozenset({"pending", "confirmed", "new", "in_progress"})  # statuses of records that can be changed
TAKEN_BACK = CHANGEABLE | {"canceled", "dismissed"}  # statuses of records whose last change can be taken back: a cancellation, too
_LABELS = {"visitor_name": "name", "visitor_email": "e-mail", "visitor_phone": "phone"}
_LABELS |= {"end_date": "end date", "end_time": "end time", "item": "item"}
_NOON = time(12)
_WAITING = "It is confirmed and stays as it is until the team accepts the change."
_STANDS = {
    "move": "That is what stands now; the business still has to confirm it.",
    "cancel": "It is canceled now.",
    "amend": "The record has that now. They will see it.",
    "withdraw": "What was noted before stands again.",
}


class Notes:
    """Records that the model noted for one message, and entries that it found. At most a request and an appointment, or a change."""

    def __init__(self, turn: Turn, offered: tuple[str, ...], hits: list[Hit]) -> None:
        self.captured: Captured | None = None
        self.offered, self.hits = offered, hits
        self._turn, self._now = turn, times.local(turn.now_ms, turn.bot.timezone)
        self._notes: dict[str, Captured] = {}
        self._attempts = 0
        self._searches = 0

    def results(self, message: ModelAnswer, _: Turn) -> list[ToolResultBlockParam]:
        """Execute the calls of a message and build their tool_result blocks; invalid calls get an error as their result."""
        return [self._result(call, is_cut_off=message.stop == "max_tokens") for call in message.calls]

    def _result(self, call: ToolCall, *, is_cut_off: bool) -> ToolResultBlockParam:
        try:
            if is_cut_off:  # truncated arguments may look complete
                raise WrongArguments("The call was cut off. Call again with less text, or answer the visitor.")
            text, failed = self._call(call), False
        except WrongArguments as fault:
            text, failed = f"Nothing was {'found' if call.name == tools.SEARCH else 'noted'}. {fault}", True
        result: ToolResultBlockParam = {"type": "tool_result", "tool_use_id": call.id, "content": text}
        return {**result, "is_error": True} if failed else result

    def _call(self, call: ToolCall) -> str:
        if call.name == tools.NO_ANSWER:
            return "Understood. Tell the visitor what was noted, if anything was, and what you do not know."
        if call.name not in self.offered:
            raise WrongArguments(f"There is no such tool; the tools are {', '.join(self.offered)}.")
        if call.name == tools.SEARCH:
            return self._search(call)
        self._attempts += 1
        if self._attempts > MAX_ATTEMPTS:
            raise WrongArguments("That was tried too often. Answer the visitor now.")
        wanted = tools.note(call.name, call.input)
        return self._change(wanted) if wanted.kind in tools.CHANGES else self._note(call.name, wanted)

    def _search(self, call: ToolCall) -> str:
        self._searches += 1
        if self._searches > MAX_SEARCHES:
            raise WrongArguments("That was searched too often. Answer the visitor now.")
        result = self._turn.knowledge.search(tools.query(call.input), spoken=spoken(self._turn.message, self._turn.history))
        above = {hit.entry.id for hit in self.hits}
        hits = [hit for hit in result.hits if hit.score >= FLOOR * result.hits[0].score] if result.decision != "abstain" else []
        new, used = list[Hit](), 0
        for hit in hits:
            if hit.entry.id not in above and used < SEARCHED_CHARS:
                new.append(hit)
                used += len(hit.entry.question) + len(hit.entry.answer)
        self.hits += new
        if new:
            return prompt.entries_told([hit.entry for hit in new], "Found")
        known = "; ".join(f"“{hit.entry.question}”" for hit in hits[:3])
        return f"Nothing beyond what stands above was found{f': see {known} there' if known else ''}."

    def _note(self, tool: str, wanted: NoteCall) -> str:
        if any(noted.change for noted in self._notes.values()):
            raise WrongArguments("A change was noted from this message; that is enough. Answer now.")
        matches = self._quoted(wanted)
        claimed = replace(wanted.claimed, message="\n".join(matches.verbatim), time=self._clock_of(wanted.claimed))
        record = checked(claimed, self._turn.spoken, self._now, self._turn.bot.country)
        self._demand(wanted, claimed, record)
        again = tool in self._notes
        self._notes[tool] = record
        self.captured = _joined(list(self._notes.values()))
        parts = ["Noted in place of what this message noted before." if again else "Noted."]
        parts.append(f"The team reads: {prompt.described(record)}")
        parts.append("Nothing is booked until they confirm it." if record.date else "They will see it.")
        if claimed.date and claimed.time and not hours.is_open(self._turn.bot, datetime.combine(claimed.date, claimed.time)):
            parts.append("The business is closed then: tell the visitor that it may not be possible.")
        return " ".join((*parts, *self._left_out(wanted, record, matches)))

    def _clock_of(self, claimed: Captured) -> time | None:
        """Return the time of an appointment. If only days are booked, return when the business opens, or else noon."""
        if claimed.time is not None or claimed.date is None:
            return claimed.time
        if profiles.load(self._turn.bot.profile).form("appointment").appointment == "time":
            raise WrongArguments("time is missing. Ask the visitor for it if they have not told it.")
        opening = hours.next_opening(self._turn.bot, datetime.combine(claimed.date, time()) - timedelta(minutes=1))
        return opening.time() if opening is not None and opening.date() == claimed.date else _NOON

    def _quoted(self, wanted: NoteCall) -> quotes.Quotes:
        """Check the quotes against the visitor's messages. If no quote is found, take all messages that are in no record."""
        matches = quotes.check(wanted.quotes, self._turn.spoken)
        noted = [record.message for record in self._turn.captured]
        return matches if matches.verbatim else quotes.Quotes(quotes.without(self._turn.spoken, noted), matches.dropped)

    def _change(self, wanted: NoteCall) -> str:
        """Note a change that the visitor wants of a record of this conversation. Return the result for the model."""
        if self._notes and not all(noted.change for noted in self._notes.values()):
            raise WrongArguments("A request was noted from this message; that is enough. Answer now.")
        statuses = TAKEN_BACK if wanted.kind == "withdraw" else CHANGEABLE
        open_records = [record for record in self._turn.captured if record.status in statuses]
        record = next((record for record in open_records if record.id == wanted.record_id), None)
        if record is None:
            ids = ", ".join(record.id for record in open_records)
            raise WrongArguments(f"There is no such record that can be changed; the noted ones are: {ids or 'none'}.")
        if wanted.kind == "move" and record.kind != "appointment":
            raise WrongArguments("Only an appointment is moved. Amend a request.")
        matches = self._quoted(wanted)
        corrects = wanted.kind == "amend" or record.kind != "appointment"
        change = Change(record, cancels=wanted.kind == "cancel", corrects=corrects)
        claimed = replace(wanted.claimed, request_type="appointment", message="\n".join(matches.verbatim), change=change)
        outside = False
        if wanted.kind == "withdraw":
            claimed = replace(claimed, date=record.date, time=record.time)
        if wanted.kind != "move":
            claimed = replace(claimed, end_date=None, end_time=None)
        elif claimed.date or claimed.time:
            outside = self._demand_moment(claimed.date or record.date, claimed.time or record.time)
        self.captured = self._notes[tools.CHANGE_RECORD] = changed = checked(claimed, self._turn.spoken, self._now, self._turn.bot.country)
        parts = [f"Passed on. The team reads: {change_message(changed, change, self._turn.bot.language)}"]
        is_waiting = record.status == "confirmed" and wanted.kind != "withdraw"
        parts.append(_WAITING if is_waiting else _STANDS[wanted.kind])
        if outside:
            parts.append("The business is closed then: tell the visitor that it may not be possible.")
        return " ".join((*parts, *self._left_out(wanted, changed, matches)))

    def _left_out(self, wanted: NoteCall, record: Captured, matches: quotes.Quotes) -> list[str]:
        """Return sentences for the model on values that were left out, and why. It must not call these values noted."""
        lost = [name for name in _LABELS if getattr(wanted.claimed, name) and not getattr(record, name)]
        dropped = [_LABELS[name] for name in lost if name in CONTACT]
        more = [_LABELS[name] for name in lost if name not in CONTACT]
        left = [f"Left out, since the visitor did not type it: {', '.join(dropped)}."] if dropped else []
        if matches.dropped and wanted.quotes:
            quoted = ", ".join(f"“{quote[:80]}”" for quote in matches.dropped[:3])
            left.append(f"Left out, since it is no quote of the visitor's: {quoted}.")
        if more:
            left.append(f"Without a field of its own, only in the quotes: {', '.join(more)}.")
        return left

    def _demand(self, wanted: NoteCall, claimed: Captured, record: Captured) -> None:
        """Raise WrongArguments if contact data is missing, or an appointment has no name or an impossible time."""
        if wanted.kind == "appointment":
            self._demand_moment(claimed.date, claimed.time)
        missing = []
        if wanted.kind == "appointment" and record.visitor_name is None:
            missing.append("a name")
        if not (record.visitor_email or record.visitor_phone or self._turn.channel in REACHING):
            missing.append("an e-mail address or a phone number")
        if missing:
            raise WrongArguments(f"The visitor's own messages hold no such thing as {' and '.join(missing)} that was passed. Ask for it.")

    def _demand_moment(self, day: date | None, clock: time | None) -> bool:
        """Raise WrongArguments for an impossible time. Return whether the business is closed at that time."""
        if day is None or clock is None:
            raise WrongArguments("An appointment has a date and a time.")
        moment, now = datetime.combine(day, clock), self._now
        if moment <= now:
            raise WrongArguments(f"That is in the past; it is now {now:%Y-%m-%d %H:%M}. Ask for another day or time.")
        if moment > now + timedelta(days=FURTHEST_DAYS):
            raise WrongArguments(f"That is too far ahead; {now + timedelta(days=FURTHEST_DAYS):%Y-%m-%d} is the last day.")
        return not hours.is_open(self._turn.bot, moment)


def _joined(notes: list[Captured]) -> Captured:
    """Merge a request and an appointment of the same message into one record, with the words of both."""
    first, *others = sorted(notes, key=lambda noted: noted.date is None)
    for other in others:
        words = dict.fromkeys([*first.message.splitlines(), *other.message.splitlines()])
        contact = {name: getattr(first, name) or getattr(other, name) for name in CONTACT}
        first = replace(first, message="\n".join(words), urgent=first.urgent or other.urgent, **contact)
    return first


def confirmation(turn: Turn, captured: Captured) -> str:
    """Return a fixed reply that confirms what was captured. It is used if the model failed after that."""
    contact = ", ".join(filter(None, (captured.visitor_name, captured.visitor_email, captured.visitor_phone)))
    about = f" ({contact})" if contact else ""
    turkish = among(("tr", "en"), turn.language, spoken(turn.message, turn.history), turn.bot.language) == "tr"
    if (change := captured.change) is not None:
        if change.corrects or change.appointment.is_pending:
            return "Bunu da not aldım; ekibimiz görecek." if turkish else "I have noted that as well; the team will see it."
        if turkish:
            wish = "iptal" if change.cancels else "değişiklik"
            return f"Randevunuz için {wish} isteğinizi not aldım. İşletme değiştirene kadar randevunuz olduğu gibi kalır."
        wish = "cancel" if change.cancels else "move"
        return f"I have noted that you would like to {wish} your appointment. It stays as it is until the business changes it."
    if captured.date is None or captured.time is None:
        if turkish:
            return f"Talebinizi not aldım{about}. Ekibimiz görecek."
        return f"I have noted your request{about}. The team will see it."
    day, clock = f"{captured.date:%d.%m.%Y}" if turkish else f"{captured.date:%Y-%m-%d}", f"{captured.time:%H:%M}"
    if turkish:
        return f"{day} saat {clock} için randevu isteğinizi not aldım{about}. Randevu, işletme onaylayınca kesinleşir."
    return f"I have noted that you would like an appointment on {day} at {clock}{about}. It is not booked until the business confirms it."
