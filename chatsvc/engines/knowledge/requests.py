"""Requests of visitors: forms that are offered, filled in and recorded, and earlier records that are moved, corrected or cancelled."""

from collections.abc import Sequence
from datetime import date, time
from typing import Any

from chatsvc.domain.captures import Captured, CapturedRecord, Change
from chatsvc.engines import hours
from chatsvc.engines.knowledge import acts, business, forms
from chatsvc.engines.knowledge.acts import Act
from chatsvc.engines.knowledge.forms import Field, RequestForm, contact_of
from chatsvc.engines.knowledge.state import RequestDraft
from chatsvc.engines.knowledge.turn import BESIDE, FEW_WORDS, DialogueTurn
from chatsvc.language.contacts import in_local_form
from chatsvc.language.folding import words
from chatsvc.language.values import Values

KINDS = {"book": "appointment", "call": "contact", "person": "contact", "complain": "support"}  # wish -> kind of request
_LEAVES = ("stop", "cancel", "thank", "bye")
_VALUES = {"name", "phone", "email", "date", "time", "nights"}
_MOST_ASIDES = 2  # questions in a row beside a form until it waits
_OPEN_STATUSES = ("pending", "confirmed", "new", "in_progress")
_NOTED = "noted"  # line of the state that tells that something was noted just now


class Requests(DialogueTurn):
    def begin(self, kind: str, opening: str, draft: RequestDraft | None = None) -> str:
        """Open a form with the values of the message, and ask for the first missing field."""
        draft = draft or self.draft(kind)
        form = self.form(draft)
        read = form.read(self.text, None)
        given, remarks = form.take(self.text, None, read)
        if self.bare_name:
            draft.values["name"] = self.bare_name
        if self.text != self.bare_name and self._has_words(read, given):
            draft.quote(self.text)
        if kind == "contact" and {"phone", "email"} & draft.values.keys() and "name" not in draft.values and draft.quotes:
            draft.skipped.append("name")  # it is noted at once, and the name asked for after it
        if self.wish and (result := self._find(self.text)).hits and result.confidence >= BESIDE:
            self.state.subject = result.hits[0].entry.question  # what is wished is what the questions beside the form are about
        self.state.settle()
        self.state.draft, self.state.earlier = draft, []
        lead = [self.say(opening)]
        if kind != "appointment" and read.date and hours.is_closed_on(self.bot, read.date.value):  # for a call back
            lead.append(business.hours_answer(self.bot, self.say, self.text[read.date.start : read.date.end], self.now))
        return self._next(form, [*lead, *remarks])

    def offer_answered(self) -> str | None:
        """Handle the answer to an offer, or to the question whether to continue a form. Return None if the message is no answer."""
        draft, read, wish = self.state.draft, self.values, self.wish
        if draft is None:
            return None
        resumes = self.state.pending == "resume"
        if not resumes and draft.kind == "contact" and (read.name or self.is_reachable) and (changed := self.amended()):
            return changed
        declines = forms.DECLINES.has_any(self.words[:1]) and not self.is_reachable
        leaves = self.does("no", "stop", "bye", "thank", "skip") and not self.does("yes", "book", "call", "person")
        if (declines or leaves) and not any(act.probability >= acts.SURE for act in self.questions):
            self.state.settle()
            self.state.earlier = []
            if answer := self.about_business(self.text.partition(" ")[2]) or self.answer_beside(self.questions):  # "no, what about ..."
                return answer
            return self.small_talk() if self.does("bye", "thank") else self.say("offer.declined")
        gives = bool(read.name or self.is_reachable or self.bare_name) and ("?" not in self.text or self.does("give", "call", "yes"))
        is_part = "?" not in self.text and len(self.words) <= FEW_WORDS and (forms.PARTS_OF_DAY.has_any(self.words) or self.has_moment)
        books = draft.kind == "appointment" and (is_part or (self.has_moment and not self.questions))
        wishes = wish in KINDS and (gives or (wish != "complain" and not (wish == "book" and self.plain_questions)))
        if not (wishes or gives or books or self.does("yes")):
            self.keep_earlier(draft.quotes)
            return None
        if wish in ("book", "call", "person") and draft.kind not in ("support", "quote"):
            draft.kind = KINDS[wish]
        if resumes:
            self.state.pending = "form"
            return self._next(self.form(draft), [self.say("noted")])
        text = self.begin(draft.kind, "open.volunteered" if gives and not wish else f"open.{draft.kind}", draft)
        return self._joined(self.answer_beside(self.questions) if self.does("yes") and not gives else None, text)

    def _next(self, form: RequestForm, lead: Sequence[str], *, short: bool = False, repeats: bool = False) -> str:
        field, parts = form.missing(), [part for part in lead if part]
        if field is None:
            return self._noted(form, parts) if form.draft.kind in ("contact", "support") else self._summary(form, parts)
        short = short or bool(self.state.asked and not repeats)
        self.state.pending, self.state.asked, self.choices = "form", field.key, field.choices()
        if field.key == "contact" and not repeats and (privacy := self.say("privacy")):
            parts.append(privacy)
        return " ".join([*parts, form.question(field, short=short)])

    def _summary(self, form: RequestForm, lead: Sequence[str]) -> str:
        self.state.pending, self.state.asked, self.choices = "confirm", "", self.say.yes_no
        shown = [" ".join(lead), f"{self.say('summary')}\n\n{form.summary()}", self.say("ask.confirm")]
        return "\n\n".join(filter(None, shown))

    def _noted(self, form: RequestForm, lead: Sequence[str] = ()) -> str:
        draft = form.draft
        self.captured = form.record()
        self._close(draft)
        self.state.add_line(_NOTED)
        openings = {self.say(f"open.{opening}") for opening in ("contact", "person", "volunteered")}
        done = " ".join([*(part for part in lead if part not in openings), self.say.first(f"done.{draft.kind}", "done")])
        if draft.kind == "appointment":
            return done
        if "name" not in draft.values and "name" not in draft.missed:
            self.state.pending = "name"
            return "\n\n".join((done, form.summary(), self.say("ask.name")))
        return "\n\n".join(filter(None, (done, form.summary())))

    def field_answered(self) -> str | None:
        """Handle a message while a form asks for a field: store its values, answer its questions, or end the form."""
        if self.state.draft is None or not self.turn.may_capture:
            return None
        is_instead = self.wish in ("call", "person") or (self.does("stop") and self.is_reachable)  # "forget it, just mail me at ..."
        if is_instead and self.state.draft.kind == "appointment":
            self.state.draft.kind = "contact"
            return self.begin("contact", f"open.{'person' if self.wish == 'person' else 'contact'}", self.state.draft)
        form = self.form(self.state.draft)
        draft, asked = form.draft, form.field(self.state.asked)
        asks = [act for act in self.questions if not form.read(act.text, asked).flexible]  # "any time" is no question for the hours
        about = [act for act in asks if business.kinds_of(act.text, self.bot.name) and self.business_answer(act.text)]
        rest = " ".join(act.text for act in self.acts if act not in about)
        given, remarks = self._take(form, asked, rest) if rest else (set[str](), list[str]())
        gives_contact = bool({"phone", "email"} & given)
        wanted = asked is not None and (asked.key in given or (asked.key == "contact" and gives_contact))
        is_any_day = asked is not None and asked.key in draft.skipped  # "any time. actually, forget it"
        leaves = (
            self.does("stop")
            or (is_any_day and self.does("cancel"))
            or (not wanted and self.does(*_LEAVES) and (self.does("bye") or not self._asked()))
        )
        if leaves and not gives_contact:
            return self._joined(self._left(draft), self.answer_beside(self._asked()))
        if asked and asked.key == "contact" and not gives_contact and (self.does("skip") or forms.refuses_contact(self.text)):
            return self._next(form, [self._without(draft, "contact")])
        answers = wanted or bool(remarks)
        beside = form.read(self.text, asked).rest
        questions = about or (self.asked_in(beside) if answers or given else self._asked())
        answer = self.answer_beside(questions)
        if questions and not (answer or (answers and len(words(beside)) <= FEW_WORDS + 2)) and (given or "?" in self.text):
            answer = self.say("unknown.noted")
        draft.asides = draft.asides + 1 if answer and not given else 0
        if answer and draft.asides >= _MOST_ASIDES:  # who goes on asking is not asked again
            self.choices = ()
            return answer
        if asked and asked.key in ("date", "time") and given and not answers:  # who gives other values has none of these
            draft.missed[asked.key] = draft.missed.get(asked.key, 0) + 1
            if draft.missed[asked.key] > 1:
                remarks = [self._without(draft, asked.key)]
        if asked is None or answer or remarks or (given and "phone.wrong" not in given):
            return self._joined(answer, self._next(form, remarks, short=True))
        return self._not_given(form, asked)

    def _take(self, form: RequestForm, asked: Field | None, text: str) -> tuple[set[str], list[str]]:
        """Store values and words of the message in the form. Return the keys of the fields that it gives, and remarks to the visitor."""
        read, wanted = form.read(text, asked), set[str]()
        if asked and asked.key == "message" and not self.does(*_LEAVES):
            form.draft.quote(self.text)
            form.draft.asks_when, wanted = False, {"message"}
        is_no_text = self.only("yes", "no", "skip", *_LEAVES) or "?" in self.text
        given, remarks = set[str](), list[str]()
        if not (asked and asked.own and asked.kind == "text" and is_no_text):
            given, remarks = form.take(text, asked, read)
        if self._has_words(read, given):
            form.draft.quote(self.text)
        return given | wanted, remarks

    def _has_words(self, read: Values, given: set[str]) -> bool:
        """Return whether a message has words for the team besides its values and a mere yes or no."""
        if len(self.words) <= FEW_WORDS + 1 and all(act.name in ("yes", "no", "greet", "thank", "bye") for act in self.acts):
            return False
        untaken = (read.date and "date" not in given) or (read.time and "time" not in given)  # in a form without a day, or a closed one
        if untaken or (given and given <= _VALUES):
            return bool(untaken or words(read.rest))
        return not (len(given) == 1 and next(iter(given)).startswith("x.") and len(self.words) <= FEW_WORDS)

    def _asked(self) -> list[Act]:
        return [act for act in self.questions if "?" in act.text or act.probability >= acts.SURE]

    def _joined(self, lead: str | None, text: str | None) -> str:
        return "\n\n".join(filter(None, (lead, text)))

    def _not_given(self, form: RequestForm, asked: Field) -> str:
        """Handle a message without the field that was asked for. Ask once more; the second time continue without the field."""
        draft, key = form.draft, asked.key
        refuses = self.does("skip", "no") or forms.WITHOUT.has_any(self.words)
        missed = key in draft.missed
        if key == "time" and forms.PARTS_OF_DAY.has_any(self.words):  # "in the afternoon" is for the team to read
            draft.skipped.append("time")
            return self._next(form, [self.say("noted")])
        if not (refuses or missed):
            return self._ask_again(form, key, f"hint.{key}")
        if key in ("date", "time") and not missed and not self.does("skip"):
            return self._ask_again(form, key, f"any.{key}")
        if key == "name" and missed and not refuses and self.possible_name:
            draft.values["name"] = self.possible_name
            return self._next(form, [self.say("noted")])
        without = self._without(draft, key)
        return self._next(form, [without if refuses else self.say("noted")])

    def _without(self, draft: RequestDraft, key: str) -> str:
        """Skip a field of the form. If it is the date, skip a missing time too. Return the remark to the visitor."""
        draft.skipped.append(key)
        if key == "date" and "time" not in draft.values:
            draft.skipped.append("time")
            return self.say("without.when")
        remarks = {"contact": "no.contact", "name": "no.name", "date": "without.date", "time": "without.time"}
        return self.say(remarks.get(key, "noted"))

    def _ask_again(self, form: RequestForm, key: str, hint: str) -> str:
        form.draft.missed[key] = 1
        sentence = self.say.first("sorry" if self.does("complain", "insult") else hint, "hint.field")
        return self._next(form, [sentence], short=True, repeats=True)

    def _close(self, draft: RequestDraft) -> None:
        self.keep_contact(draft.values)
        self.state.settle()
        self.state.earlier, self.choices = [], ()

    def _left(self, draft: RequestDraft) -> str:
        self._close(draft)
        if self.does("bye") and not self.does("stop", "cancel"):
            return self.say("smalltalk.goodbye.open")
        return f"{self.say('kind')} {self.say('cancelled')}" if self.does("thank") else self.say("cancelled")

    def confirmation_answered(self) -> str | None:
        if self.state.draft is None or not self.turn.may_capture:
            return None
        form = self.form(self.state.draft)
        draft = form.draft
        values, quotes = dict(draft.values), list(draft.quotes)
        _, remarks = self._take(form, None, self.text)
        is_changed, agrees = draft.values != values, self.does("yes") or forms.AGREES.has_any(self.words[:1])
        answer = self.answer_beside(questions := [] if is_changed else self._asked())
        if questions and (agrees or answer or "?" in self.text):
            answer = answer or self.say("unknown.noted")
            if agrees:
                return self._joined(answer, self._noted(form))
            self.choices = self.say.yes_no
            return self._joined(answer, self.say("ask.confirm"))
        if remarks or is_changed:
            return self._summary(form, remarks or [self.say("noted")])
        self.choices = self.say.yes_no
        if agrees and not self.does("no", "stop", "cancel"):
            return self._noted(form)
        if self.does("stop", "cancel") or (self.does("thank", "bye") and "confirm" in draft.missed):
            return self._left(draft)
        if self.does("thank", "bye"):
            draft.missed["confirm"] = 1
            return f"{self.say('not_sent')} {self.say('ask.confirm')}"
        if self.only("no"):
            self.state.pending, self.choices = "change", ()
            return self.say("ask.change")
        return self._summary(form, [self.say("noted")]) if draft.quotes != quotes else self.say("hint.confirm")

    @property
    def current_record(self) -> CapturedRecord | None:
        """Return the open record to change. It is the newest appointment on the day named, else the newest one, else the newest record."""
        open_records = [record for record in self.turn.captured if record.status in _OPEN_STATUSES]
        appointments = [record for record in open_records if record.kind == "appointment"]
        day = self.values.date
        of_day = [record for record in appointments if day and record.date == day.value]
        return next(reversed(of_day or appointments or open_records), None)

    @property
    def just_noted(self) -> CapturedRecord | None:
        return self.current_record if _NOTED in self.state.lines else None

    def about_record(self, wish: str) -> str | None:
        """Change, cancel or report the current record, as the visitor wishes. Return the reply, or None if the wish fits no record."""
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
        """Correct the contact data of the record just made. Return None if there is none, or the visitor wants an appointment."""
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
        """Store the name that the bot asked for after it noted a request. Return None if the message is about something else."""
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
        """Record that the visitor wants to move an appointment. If the message has no valid day or time for it, ask for one."""
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
