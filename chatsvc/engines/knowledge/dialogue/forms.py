"""One turn of an open form. Takes values, answers questions in between, accepts corrections, captures after a yes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from chatsvc.domain import contacts
from chatsvc.domain.profiles import FormField
from chatsvc.engines import Reply
from chatsvc.engines.knowledge.dialogue import (
    answers,
    corrections,
    drafts,
    fields,
    followups,
    hearing,
    hours,
    intents,
    knowing,
    lookup,
    records,
    smalltalk,
    taking_up,
    wishes,
)
from chatsvc.engines.knowledge.dialogue.drafts import RequestDraft
from chatsvc.engines.knowledge.dialogue.form_replies import FormReplies, local_time, with_values
from chatsvc.engines.knowledge.dialogue.message import VisitorMessage
from chatsvc.engines.knowledge.search import lexicon
from chatsvc.language.folding import words
from chatsvc.language.language_detection import is_word

_PART_OF_DAY = 4  # words of a message that only names one
_OF_PERSON = ("name", "contact", "phone", "email")
_NO_NAME = 3  # words that are no mistyped name
_LEAST_KNOWN = 2  # words of a detail of the matter that some list knows


@dataclass(frozen=True, slots=True)
class FormTurn(FormReplies):
    """One message of an open form; its public methods return the reply."""

    # Handlers by open question

    def on_summary(self) -> Reply:
        """Handle the reply to the summary: yes, no, or a correction."""
        draft, heard = self.draft, self.heard
        if renamed := self._renamed():
            return renamed
        if with_values(draft, heard) != draft:
            return self._with_values(heard).proceed(self._beside())
        field = heard.field(_changeable(draft))
        if field and (heard.objects or hearing.denies(self.turn.message)) and not heard.question:
            return self._ask(field)
        if heard.question:
            return self._answer_question()
        if (kept := self._with_when()) is not self:
            return kept._finish() if hearing.agrees(self.turn.message, heard) else kept.proceed(self.say("noted"))
        if hearing.agrees(self.turn.message, heard):
            return self._finish()
        if hearing.denies(self.turn.message):
            return self._name_corrected() or self._detail() or self._ask("change")
        return (
            self._name_corrected()
            or self._value_repeated()
            or self._small_talk()
            or self._answered()
            or self._detail()
            or self._misunderstood()
        )

    def on_postponed(self) -> Reply:
        """Let the visitor go for now; the form is offered again when they write."""
        return self._reply(self.draft, "resume", self.say("postponed"))

    def on_message(self) -> Reply:
        """Take the message as the request's text. Greetings, agreement and contact data are not taken."""
        heard = self.heard
        taken = self._with_values(heard)
        if heard.question and taken.draft != self.draft and heard.substance(1):  # "do you fit tyres? Jo, 07700 900123"
            asking = replace(taken.draft, opening=drafts.opening_of(self.turn.message))
            return replace(taken, draft=asking).proceed(self._answer() or self.say("unknown.noted"))
        if heard.question and (answered := taken._answered()):
            return answered
        if not heard.substance(1) and (kept := taken._with_when()) is not taken:
            return kept._repeat_question(self.say("noted"))
        if not heard.substance(1) or (hearing.is_nod(self.turn.message) and not heard.substance(2)):
            return taken.proceed() if taken.draft != self.draft else self._small_talk() or self._misunderstood()
        return replace(taken, draft=replace(taken.draft, opening=drafts.opening_of(self.turn.message))).proceed()

    def on_question(self) -> Reply:
        """Handle the answer to any other question."""
        draft, heard = self.draft, self.heard
        if renamed := self._renamed():
            return renamed
        if draft.request_type in ("contact", "other") and self._names_a_visit():
            return replace(self, draft=with_values(replace(draft, request_type="appointment"), heard)).proceed(self.say("noted"))
        if heard.has(draft.asked) or with_values(draft, heard) != draft:
            noted = "" if heard.has(draft.asked) else self.say("noted")
            lead = (self._beside() or (self._answer() if followups.naming_words(heard.left) else "") or "") if heard.question else noted
            return self._with_values(heard)._with_rest().proceed(lead)
        if draft.asked == "change":
            return self._on_change()
        if unsuitable := self._unsuitable():
            return unsuitable
        if heard.question:
            return self._wish_repeated() or self._greeted() or self._answer_question()
        if draft.asked in ("contact", "phone") and (number := hearing.written_number(self.turn.message)):
            return self._number_as_written(number)
        again = self._beside_fields() or self._name_corrected() or self._value_repeated() or self._refusal() or self._part_of_day()
        again = again or self._small_talk() or self._wish_repeated()
        if again is None and hearing.agrees(self.turn.message, heard) and not draft.missed:
            return self._misunderstood(self.say("noted"))
        return (
            again
            or (None if heard.garbled else self._answered())
            or self._insult()
            or self._named_again()
            or self._detail()
            or self._with_known_matter()._misunderstood()
        )

    def _unsuitable(self) -> Reply | None:
        """Handle an impossible day, any day, and one given up: "we can't make Thursday after all"."""
        draft = self.draft
        if draft.asked in ("date", "time") and (reason := self._reason_against_day()):
            return self._repeat_question(reason)
        if draft.day is not None and "cancel" in intents.of(self.turn.message):
            return replace(self, draft=replace(draft, day=None, clock=None))._ask("date", self.say("noted"))
        if draft.asked in ("date", "time") and self.heard.leaves_open:
            return self._misunderstood(self.say(f"any.{draft.asked}"))
        return None

    def _beside_fields(self) -> Reply | None:
        """Keep data that the form has no field for: when to call, how many come."""
        if taking_up.goes_ahead(VisitorMessage(self.turn)):  # "ok, let's go on with it"
            return replace(self, draft=replace(self.draft, asides=0))._repeat_question(self.say("noted"))
        if (kept := self._with_when()) is not self:
            return kept._repeat_question(self.say("noted"))
        return self._detail() if self.heard.counts else None

    def _number_as_written(self, number: str) -> Reply:
        """Ask once more for a number that cannot be right. The second time keep it as written, or ask for an e-mail address."""
        if not self.draft.missed:
            return self._misunderstood(self.say("hint.phone"))
        phone = contacts.own_phone(number, [self.turn.message], self.turn.bot.country)
        if phone is None:
            return self._ask("email", self.say("phone.short"))
        return replace(self, draft=replace(self.draft, phone=phone)).proceed(self.say("phone.as_written"))

    def _named_again(self) -> Reply | None:
        """Take an answer for the name that was not understood for one before. "sunny bunny"."""
        asked_again = self.draft.asked == "name" and self.draft.missed
        return self._settle_name() if asked_again and corrections.possible_name(self.turn.message, self.heard) else None

    def _part_of_day(self) -> Reply | None:
        """Ask for the hour where only a part of the day is named. "morning" is no greeting there."""
        named = self.draft.asked == "time" and len(self.heard.line.split()) <= _PART_OF_DAY and self.heard.part_of_day
        return self._repeat_question(self.say("noted")) if named else None

    def _detail(self) -> Reply | None:
        """Keep an addition to the matter instead of answering it. Example: "we are 6, one of us vegan"."""
        asked, heard = self.draft.asked, self.heard
        complains = "complaint" in intents.of(self.turn.message)
        if (
            heard.garbled
            or heard.refuses
            or not (heard.counts or complains or wishes.is_urgent(self.turn.message) or (heard.substance(2) and _known_words(heard.line)))
        ):
            return None
        tells = heard.tells and heard.substance(2)
        if asked in ("date", "time") and not (tells or any(word.isdigit() for word in heard.line.split())):
            return None
        detailed = replace(self, draft=drafts.with_more(self.draft, self.turn.message))
        lead = self.say("sorry" if complains else "noted")
        return detailed.proceed(lead) if asked == "confirm" else detailed._repeat_question(lead)

    def _on_change(self) -> Reply:
        """Ask for the field that is to be changed. Show the summary again if none is."""
        if field := self.heard.field(_changeable(self.draft)):
            return self._ask(field)
        if self.heard.question:
            return self._answer_question()
        if hearing.agrees(self.turn.message, self.heard) or " hicbir" in self.heard.line or " nothing " in self.heard.line:
            return self.proceed()
        return self._small_talk() or self._misunderstood()

    # Messages that are no answer

    def _answer(self) -> str | None:
        """Return the answer that the message would get outside of the form."""
        if self.turn.captured and self.heard.question and (told := records.status(VisitorMessage(self.turn))):
            return told.text
        if said := knowing.opening_hours(VisitorMessage(self.turn)):
            return said
        finding = lookup.find_in_form(self.turn, self.draft.opening, self.draft.more)
        known = answers.answer(self.turn, finding)
        if known is None and self.heard.question and (likely := lookup.likely(self.turn, finding)) is not None:
            known = answers.unsure(self.turn, likely)
        return known.text if known else None

    def _beside(self) -> str:
        """Return the answers to the questions that stand beside values: "thursday 11am. do you do lunch?"."""
        if not self.heard.question:
            return ""
        asked = [part for part in lookup.parts(self.turn.message) if hearing.asks(part) or f"{part}?" in self.turn.message]
        other = [part for part in asked if not self._holds_values(part)]
        found = [knowing.answer_in_context(self.turn, part) for part in other]
        if other and not any(found):
            return self.say("unknown")
        return "\n\n".join(dict.fromkeys(answer for answer in found if answer))

    def _holds_values(self, part: str) -> bool:
        heard = hearing.interpret(part, self.draft.asked, local_time(self.turn), self.turn.bot.country)
        empty = RequestDraft(self.draft.request_type, self.draft.language)
        return with_values(empty, heard) != empty

    def _with_known_matter(self) -> FormTurn:
        """Keep a remark that is no answer but may be part of the matter: "annem de gelecek"."""
        if self.draft.asked in _OF_PERSON and not self.heard.garbled and self.heard.substance(_NO_NAME):
            return replace(self, draft=drafts.with_more(self.draft, self.turn.message))
        asked = self.draft.asked in ("date", "time")
        return self._with_matter() if asked and not self.heard.garbled and _known_words(self.heard.line) else self

    def _with_rest(self) -> FormTurn:
        """Keep what stands beside name and contact data. Example: "Ann Hill, and please after six"."""
        told = self.heard.substance(1) or wishes.is_urgent(self.turn.message)
        if self.draft.asked in _OF_PERSON and told and not self.heard.question and not self.heard.refuses:
            return replace(self, draft=drafts.with_more(self.draft, self.turn.message))
        return self._with_matter()

    def _with_matter(self) -> FormTurn:
        """Keep a message that says more of the matter than the values asked for."""
        asks = self.heard.question and not self.heard.counts  # "can you do 12 of us on the 5th?"
        if asks or not (self.heard.substance(2) or self.heard.counts) or hearing.is_nod(self.turn.message):
            return self._with_when()
        return replace(self, draft=drafts.with_more(self.draft, self.turn.message))

    def _renamed(self) -> Reply | None:
        """Replace a known name by the corrected one: "Tekin değil Tekiner"."""
        name = corrections.renamed(self.turn.message, self.draft.name, local_time(self.turn), self.turn.bot.country)
        if name is None:
            return None
        heard = replace(self.heard, name=None)
        return replace(self, draft=replace(with_values(self.draft, heard), name=name), heard=heard).proceed(self.say("noted"))

    def _answered(self) -> Reply | None:
        # "yes that's right" is no question, though the search may find an entry for it
        answer = None if hearing.is_nod(self.turn.message) and not self.heard.question else self._answer()
        return self._with_matter()._repeat_question(answer, apart=True) if answer else None

    def _answer_question(self) -> Reply:
        """Answer a question from the knowledge, and repeat the open question. Without an answer, say so."""
        if self.heard.puzzled:
            return self._misunderstood()
        if self.heard.doubts and not self.heard.objects:
            other = self._answered() if followups.naming_words(self.turn.message) else None  # "is a diploma necessary?"
            return other or self._repeat_question(self.say("why"))
        if (way := self.heard.proposes_contact) and self.draft.asked in ("contact", "phone", "email"):
            return self._ask(way, self.say("noted"))
        if self._asks_after_request():
            return self.proceed(self.say("not_sent")) if self.draft.asked == "confirm" else self._repeat_question(self.say("not_sent"))
        if known := self._answered():
            return known
        week = hours.week_of(self.turn.bot.opening_hours)
        if week and self.draft.asked in ("date", "time") and self.heard.about_times and self.heard.asks_times_alone:
            return self._repeat_question(self.say("hours", hours=self._hours(week)))
        if not self.draft.is_appointment and self.heard.substance(2):  # the team can answer it
            return replace(self, draft=drafts.with_more(self.draft, self.turn.message))._repeat_question(self.say("unknown.noted"))
        return self._repeat_question(self.say("unknown"))

    def _asks_after_request(self) -> bool:
        """Return whether the visitor takes the request for sent. "ne zamandı randevum?"."""
        wanted = intents.of(self.turn.message)
        return not self.turn.captured and ("own" in wanted or ("status" in wanted and self.draft.asked == "confirm"))

    def _small_talk(self) -> Reply | None:
        recognised = smalltalk.kind_of(self.turn)
        if recognised is None:
            return None
        if recognised[0] == "goodbye":
            return self._reply(self.draft, "resume", self.say("smalltalk.goodbye.open"))
        said = self.say({"greeting": "hello", "thanks": "kind"}.get(recognised[0], "noted"))
        if recognised[0] == "noted":
            return self._misunderstood("" if self.draft.missed else said)
        return self._repeat_question(said)

    def _greeted(self) -> Reply | None:
        """Return the greeting that a question like "hello?" deserves."""
        recognised = smalltalk.kind_of(self.turn)
        return self._small_talk() if recognised and recognised[0] == "greeting" else None

    def _insult(self) -> Reply | None:
        if "insult" not in intents.of(self.turn.message):
            return None
        return self._misunderstood(self.say("insult.short"))

    def _refusal(self) -> Reply | None:
        """Handle refused contact data: one of phone and e-mail is enough; a name is required."""
        draft, heard = self.draft, self.heard
        if not heard.refuses and not (hearing.denies(self.turn.message) and draft.asked in ("name", "contact", "phone", "email")):
            return None
        field = heard.field(("email", "phone", "name"))
        if field == "email" and heard.field(("phone",)) and not re.search(r" (?:var|have an?|give you) ", heard.line):
            field = "contact"
        if field is None and draft.asked in ("contact", "phone", "email", "name"):
            field = draft.asked
        if field in ("email", "phone"):
            other = "phone" if field == "email" else "email"
            if getattr(draft, other):
                return self.proceed(self.say(f"no.{field}"))
            if draft.asked == "contact":
                return self._ask(other, self.say(f"no.{field}"))
            if draft.asked == field:  # the other one was refused before, or it would be known
                again = replace(draft, asked="contact")
                return replace(self, draft=again)._repeat_question(self.say("need.contact"), missed=True)
            return self._repeat_question(self.say("noted"))
        if field in ("contact", "name") and (field == "contact" or draft.asked == "name"):
            return self._repeat_question(self.say(f"need.{field}"), missed=True)
        return None

    def _name_corrected(self) -> Reply | None:
        """Replace the name by one given where something else was asked for."""
        draft, name = self.draft, hearing.bare_name(self.turn.message, self.draft.name)
        if name is None or draft.asked == "name":
            return None
        return replace(self, draft=replace(draft, name=name)).proceed(self.say("noted"))

    def _value_repeated(self) -> Reply | None:
        """Acknowledge a value that is known already: "Monday" again is no question about Mondays."""
        draft, heard = self.draft, self.heard
        said = words(self.turn.message)
        if draft.name and set(words(draft.name)) <= set(said) and corrections.only_names(self.turn.message, draft.name):
            return self._repeat_question(self.say("noted"))
        if not (heard.name or heard.email or heard.phone or (draft.is_appointment and (heard.day or heard.clock))):
            return None
        return self.proceed() if draft.asked == "confirm" else self._repeat_question(self.say("noted"))

    def _wish_repeated(self) -> Reply | None:
        """Handle the same wish again, or another one, which replaces the first."""
        wish, draft = wishes.of(self.turn.message, self.heard), self.draft
        if "person" in intents.of(self.turn.message) and draft.request_type != "contact":
            wish = wishes.Wish("contact", draft.language, clear=True)
        if wish is None or not wish.clear:
            return None
        if wish.request_type == draft.request_type or (wish.request_type == "other" and not self.heard.substance(2)):
            return self._repeat_question(self.say("noted"))
        about = wish.request_type == "appointment" or self.heard.substance(2)
        opening = drafts.opening_of(self.turn.message) if about else ""
        other = replace(draft, request_type=wish.request_type, opening=opening or draft.opening)
        other = with_values(drafts.with_more(other, draft.opening) if hearing.has_substance(draft.opening) else other, self.heard)
        return replace(self, draft=other).proceed(self.say(f"open.{wish.request_type}"))

    def on_field(self, field: FormField) -> Reply:
        """Handle the answer to a question for a field of the owner's form."""
        if self.heard.question and (answered := self._answered()):
            return answered
        value = fields.read(field, self.heard, self.turn.message)
        if value is None:
            return self._small_talk() or self._misunderstood(self.say("hint.field"))
        heard = self.heard
        if field.kind == "choice" and heard.name and set(words(heard.name)) <= set(words(value)):
            heard = replace(heard, name=None)  # of a person to choose, not the visitor's own
        return replace(self, draft=with_values(self.draft, heard)).choose(field, value)

    def choose(self, field: FormField, value: str) -> Reply:
        """Take the value of a field of the owner's form."""
        extra = (*((name, one) for name, one in self.draft.extra if name != field.name), (field.name, value))
        return replace(self, draft=replace(self.draft, extra=extra)).proceed()


def _known_words(line: str) -> bool:
    """Return whether a message is made of words of a language, worth keeping."""
    return sum(word.isdigit() or is_word(word) or bool(lexicon.of_word(word)) for word in line.split()) >= _LEAST_KNOWN


def _changeable(draft: RequestDraft) -> tuple[str, ...]:
    return ("date", "time", "phone", "email", "name") if draft.is_appointment else ("message", "phone", "email", "name")
