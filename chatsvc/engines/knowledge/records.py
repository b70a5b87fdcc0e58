"""Requests and appointments that a conversation has recorded before: report, keep, cancel, move and correct them."""

from datetime import date, time
from typing import Any

from chatsvc.domain.captures import Captured, CapturedRecord, Change
from chatsvc.engines.knowledge import business
from chatsvc.engines.knowledge.answers import Answers
from chatsvc.engines.knowledge.forms import Field, contact_of
from chatsvc.engines.knowledge.state import RequestDraft
from chatsvc.language.contacts import in_local_form
from chatsvc.language.folding import words

_OPEN_STATUSES = ("pending", "confirmed", "new", "in_progress")
NOTED = "noted"  # line of the state that tells that something was noted just now


class Records(Answers):
    @property
    def current_record(self) -> CapturedRecord | None:
        """Return the record that a change is about: an open appointment, best on the day named, or else the newest open record."""
        open_records = [record for record in self.turn.captured if record.status in _OPEN_STATUSES]
        appointments = [record for record in open_records if record.kind == "appointment"]
        day = self.values.date
        of_day = [record for record in appointments if day and record.date == day.value]
        return next(reversed(of_day or appointments or open_records), None)

    @property
    def just_noted(self) -> CapturedRecord | None:
        return self.current_record if NOTED in self.state.lines else None

    def about_record(self, wish: str) -> str | None:
        """Change, cancel or report the current record. Return None if there is no record that the wish can be about."""
        record = self.current_record
        if record is None:
            if wish == "status" and self.turn.captured:
                return self._status(self.turn.captured[-1])
            return self.search(self.text) if wish in ("status", "keep") else None
        if wish == "status":
            return (self.search(self.text) if self._find(self.text).decision == "answer" else None) or self._status(record)
        if wish == "keep":
            self._change(record, date=record.date, time=record.time)
            return self.say("change.done.keep", appointment=self._named(record))
        if record.kind != "appointment":
            return self.add_to(record)
        day = self.values.date
        if wish == "cancel" and not (day and day.value != record.date):
            return self._ask_whether_to_cancel(record)
        return self.move(record)

    def _change(self, record: CapturedRecord, message: str = "", *, cancels: bool = False, corrects: bool = False, **values: Any) -> None:
        change, is_urgent = Change(record, cancels, corrects), business.is_urgent(self.text)
        self.captured = Captured("appointment", message or self.text, change=change, urgent=is_urgent, **values)

    def add_to(self, record: CapturedRecord, key: str = "change.done.detail") -> str:
        self._change(record, corrects=True)
        return self.say(key)

    def amended(self) -> str | None:
        """Correct the contact data of the record that was made just now. Return None if there is none."""
        record, contact = self.just_noted, contact_of(self.text, self.values)
        if record is None or self.does("book"):
            return None
        self.keep_contact(contact)
        self.state.settle()
        name = self.values.name.value if self.values.name else self.bare_name
        phone, email = contact.get("phone"), contact.get("email")
        pairs = (name, record.visitor_name), (phone, record.visitor_phone), (email, record.visitor_email)
        if all(given in (None, noted) for given, noted in pairs):
            return self.add_to(record) if words(self.values.rest) else self.line("smalltalk.noted")
        self._change(record, corrects=True, visitor_name=name, visitor_email=email, visitor_phone=phone)
        shown = filter(None, (name, phone and in_local_form(phone, self.bot.country), email))
        return self.say("change.done.contact", data=", ".join(shown))

    def name_given(self) -> str | None:
        """Store the name that the bot asked for after a note. Return None if the message is about something else."""
        self.state.settle()
        name = self.bare_name or self.possible_name
        if name is None and self.only("no", "skip"):
            return self.say("no.name")
        if name is None or (record := self.current_record) is None:
            return None
        self.state.contact["name"] = name
        self._change(record, corrects=True, visitor_name=name)
        return self.say("change.done.contact", data=name)

    def _status(self, record: CapturedRecord) -> str:
        if record.kind != "appointment":
            return self.say("status.request.open" if record.status in _OPEN_STATUSES else "status.request.done")
        lines = [self.say(f"status.{record.status}", appointment=self._named(record))]
        if record.change and record.change.kind in ("move", "cancel"):
            wanted = self._moment(record.change.date, record.change.time)
            lines.append(self.say(f"status.change.{record.change.kind}", wanted=wanted))
        return " ".join(lines)

    def _named(self, record: CapturedRecord) -> str:
        return self._moment(record.date, record.time) or self.say(f"kind.{record.request_type}")

    def _moment(self, day: date | None, clock: time | None) -> str:
        return ", ".join(filter(None, (self.say.date(day) if day else "", f"{clock:%H:%M}" if clock else "")))

    def move(self, record: CapturedRecord) -> str:
        """Record the wish to move an appointment to the day and time in the message, or ask for them."""
        draft = RequestDraft("appointment")
        form = self.form(draft)
        read = form.read(self.text, None)
        if self.state.pending == "move" or not (read.date or read.time):  # "could we make it 11 instead"
            read = form.read(self.text, Field("time", "time"))
        if not (read.date or read.time or self.state.pending):  # its words may be all that is wished: "change it to the 8 yard"
            detail = self.add_to(record)
            if form.read(self.text, Field("number", "number")).number:
                return detail
        day = record.date and record.date.isoformat()
        if read.time and not read.date and day:
            draft.values["date"] = day
        given, remarks = form.take(self.text, None, read)
        if record.time and "date" in given and not read.time:
            draft.values["time"] = f"{record.time:%H:%M}"
        is_refused = (read.date and "date" not in given) or (read.time and "time" not in given)
        if is_refused or not given & {"date", "time"} or (day and draft.values.get("date") == day and "time" not in given):
            self.state.pending, self.state.record = "move", record.id
            asked = self.say("change.other") if remarks else self.say("change.when", appointment=self._named(record))
            return " ".join([*remarks, asked])
        wanted_day = date.fromisoformat(draft.values["date"]) if "date" in draft.values else None
        wanted_time = time.fromisoformat(draft.values["time"]) if "time" in draft.values else None
        self._change(record, date=wanted_day, time=wanted_time)
        self.state.settle()
        key = "change.moved" if record.is_pending else "change.done.move"
        return " ".join([*remarks, self.say(key, wanted=self._moment(wanted_day, wanted_time), appointment=self._named(record))])

    def _ask_whether_to_cancel(self, record: CapturedRecord) -> str:
        self.state.pending, self.state.record, self.choices = "cancel", record.id, self.say.yes_no
        return self.say("change.cancel?", appointment=self._named(record))

    def cancel_answered(self) -> str | None:
        """Handle the answer to the question whether to cancel. Return None if the message is about something else."""
        record = self._asked_record()
        if record and self.does("yes", "cancel") and not self.does("no", "keep"):
            # The wish is in the message before the question: a bare "yes" tells the team nothing.
            self._change(record, self.text if self.does("cancel") else self.turn.spoken[-2:][0], cancels=True)
            self.state.settle()
            return self.say("change.canceled" if record.is_pending else "change.done.cancel", appointment=self._named(record))
        if record and self.does("no", "keep", "stop", "thank", "bye"):
            self.state.settle()
            return self.say("change.dropped")
        return self.move(record) if record and self.does("move") else None

    def move_answered(self) -> str | None:
        """Handle the answer to the question for another day or time. Return None if the message is about something else."""
        record = self._asked_record()
        if record is None:
            return None
        if self.does("cancel") and not self.does("move", "keep"):
            return self._ask_whether_to_cancel(record)
        if self.only("no", "stop", "thank", "bye", "keep", "skip"):
            self.state.settle()
            return self.say("change.dropped" if self.does("no", "stop", "keep") else "smalltalk.noted")
        is_other = not self.has_moment and (self.questions or self.only("ask", "tell"))
        return None if is_other else self.move(record)

    def _asked_record(self) -> CapturedRecord | None:
        return next((record for record in self.turn.captured if record.id == self.state.record), None)
