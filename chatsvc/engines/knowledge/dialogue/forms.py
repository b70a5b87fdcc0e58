"""One turn of an open form: asks for missing values one at a time, answers questions in between, confirms, captures."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime, time

from chatsvc.domain import times
from chatsvc.domain.profiles import Form, FormField
from chatsvc.engines import Reply, Turn
from chatsvc.engines.knowledge.dialogue import (
    answers,
    corrections,
    drafts,
    fields,
    hearing,
    hours,
    intents,
    knowing,
    lookup,
    smalltalk,
    texts,
    wishes,
)
from chatsvc.engines.knowledge.dialogue.drafts import RequestDraft
from chatsvc.engines.knowledge.dialogue.hearing import Utterance
from chatsvc.engines.knowledge.dialogue.message import VisitorMessage
from chatsvc.engines.knowledge.dialogue.wording import ask, field_names, summary

_NOON = time(12)
_OFFERS_WAY_OUT = 2  # misunderstood answers in a row, from which on the bot says how to leave the form
_GIVES_UP = 4  # and from which on it closes the form


def local_time(turn: Turn) -> datetime:
    """Return the wall time of the turn in the bot's time zone."""
    return times.local(turn.now_ms, turn.bot.timezone)


def with_values(draft: RequestDraft, heard: Utterance) -> RequestDraft:
    """Return the draft with the values of an utterance in place of its own."""
    return replace(
        draft,
        day=(heard.day or draft.day) if draft.is_appointment else None,
        clock=(draft.clock if heard.clock is None else heard.clock) if draft.is_appointment else None,
        name=heard.name or draft.name,
        email=heard.email or draft.email,
        phone=heard.phone or draft.phone,
    )


@dataclass(frozen=True, slots=True)
class FormTurn:
    """One message of an open form; its methods return the reply."""

    turn: Turn
    draft: RequestDraft
    heard: Utterance

    @property
    def say(self) -> texts.Say:
        """The bot's sentences in the language of the draft."""
        return texts.of(self.turn.bot, self.draft.language)

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
        if hearing.agrees(self.turn.message, heard):
            return self._finish()
        if hearing.denies(self.turn.message):
            return self._ask("change")
        return self._name_corrected() or self._value_repeated() or self._small_talk() or self._answered() or self._misunderstood()

    def on_message(self) -> Reply:
        """Take the message as the request's text unless it only greets, agrees or gives contact data."""
        heard = self.heard
        if heard.question and (answered := self._answered()):
            return answered
        taken = self._with_values(heard)
        if not heard.substance(1) or hearing.is_nod(self.turn.message):
            return taken.proceed() if taken.draft != self.draft else self._small_talk() or self._misunderstood()
        return replace(taken, draft=replace(taken.draft, opening=drafts.opening_of(self.turn.message))).proceed()

    def on_question(self) -> Reply:
        """Handle the answer to any other question."""
        draft, heard = self.draft, self.heard
        if renamed := self._renamed():
            return renamed
        if heard.has(draft.asked) or with_values(draft, heard) != draft:
            noted = "" if heard.has(draft.asked) else self.say("noted")
            lead = (self._beside() or self._answer() or "") if heard.question else noted
            return self._with_values(heard)._with_matter().proceed(lead)
        if draft.asked == "change":
            return self._on_change()
        if draft.asked in ("date", "time") and (reason := self._reason_against_day()):
            return self._repeat_question(reason)
        if draft.asked in ("date", "time") and heard.leaves_open:
            return self._misunderstood(self.say(f"any.{draft.asked}"))
        if heard.question:
            return self._answer_question()
        again = self._name_corrected() or self._value_repeated() or self._refusal() or self._small_talk() or self._wish_repeated()
        return again or (None if heard.garbled else self._answered()) or self._insult() or self._misunderstood()

    def _on_change(self) -> Reply:
        """Ask for the field that is to be changed; show the summary again if none is."""
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
        if said := knowing.opening_hours(VisitorMessage(self.turn)):
            return said
        finding = VisitorMessage(self.turn).finding
        known = answers.answer(self.turn, finding)
        if known is None and finding.hedged and self.heard.question:
            known = answers.unsure(self.turn, finding)
        return known.text if known else None

    def _beside(self) -> str:
        """Return the answers to the questions that stand beside values: "thursday 11am. do you do lunch?"."""
        if not self.heard.question:
            return ""
        asked = [part for part in lookup.parts(self.turn.message) if hearing.asks(part) or f"{part}?" in self.turn.message]
        other = [part for part in asked if not self._holds_values(part)]
        found = [knowing.answer_of(self.turn, part) for part in other]
        if other and not any(found):
            return self.say("unknown")
        return "\n\n".join(dict.fromkeys(answer for answer in found if answer))

    def _holds_values(self, part: str) -> bool:
        heard = hearing.interpret(part, self.draft.asked, local_time(self.turn), self.turn.bot.country)
        empty = RequestDraft(self.draft.request_type, self.draft.language)
        return with_values(empty, heard) != empty

    def _with_matter(self) -> FormTurn:
        """Keep a message that says more of the matter than the values asked for."""
        if self.heard.question or not self.heard.substance(3 if self.draft.is_appointment else 2) or hearing.is_nod(self.turn.message):
            return self
        return replace(self, draft=drafts.with_more(self.draft, self.turn.message))

    def _renamed(self) -> Reply | None:
        """Replace a known name by the corrected one: "Tekin değil Tekiner"."""
        name = corrections.corrected(self.turn.message, self.draft.name)
        if name is None:
            return None
        heard = replace(self.heard, name=None)
        return replace(self, draft=replace(with_values(self.draft, heard), name=name), heard=heard).proceed(self.say("noted"))

    def _answered(self) -> Reply | None:
        # "yes that's right" is no question, though the search may find an entry for it
        answer = None if hearing.is_nod(self.turn.message) else self._answer()
        return self._repeat_question(answer, apart=True) if answer else None

    def _answer_question(self) -> Reply:
        """Answer a question from the knowledge, or say that there is no answer, and repeat the open question."""
        if self.heard.doubts and not self.heard.objects:
            return self._repeat_question(self.say("why"))
        if known := self._answered():
            return known
        week = hours.week_of(self.turn.bot.opening_hours)
        if week and self.draft.asked in ("date", "time"):
            return self._repeat_question(self.say("hours", hours=self._hours(week)))
        return self._repeat_question(self.say("unknown"))

    def _small_talk(self) -> Reply | None:
        recognised = smalltalk.kind_of(self.turn)
        if recognised is None:
            return None
        if recognised[0] == "goodbye":
            return self._reply(self.draft, "resume", self.say("smalltalk.goodbye.open"))
        said = self.say({"greeting": "hello", "thanks": "kind"}.get(recognised[0], "noted"))
        return self._misunderstood(said) if recognised[0] == "noted" else self._repeat_question(said)

    def _insult(self) -> Reply | None:
        if "insult" not in intents.of(self.turn.message):
            return None
        return self._misunderstood(self.say("insult.short"))

    def _refusal(self) -> Reply | None:
        """Handle refused contact data: one of phone and e-mail is enough; a name is required."""
        draft, heard = self.draft, self.heard
        if not heard.refuses:
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
        if not (heard.name or heard.email or heard.phone or (draft.is_appointment and (heard.day or heard.clock))):
            return None
        return self.proceed() if draft.asked == "confirm" else self._repeat_question(self.say("noted"))

    def _wish_repeated(self) -> Reply | None:
        """Handle the same wish again, or another one, which replaces the first."""
        wish = wishes.recognise(self.turn.message)
        draft = self.draft
        if "person" in intents.of(self.turn.message) and draft.request_type != "contact":
            wish = wishes.Wish("contact", draft.language, clear=True)
        if wish is None or not wish.clear:
            return None
        if wish.request_type == draft.request_type:
            return self._repeat_question(self.say("noted"))
        about = wish.request_type == "appointment" or self.heard.substance(2)
        opening = drafts.opening_of(self.turn.message) if about else ""
        other = replace(draft, request_type=wish.request_type, opening=opening)
        return replace(self, draft=other).proceed(self.say(f"open.{wish.request_type}"))

    # Building of replies

    def _with_values(self, heard: Utterance) -> FormTurn:
        return replace(self, draft=with_values(self.draft, heard))

    @property
    def _form(self) -> Form:
        return self.say.profile.form(self.draft.request_type)

    def proceed(self, lead: str = "") -> Reply:
        """Ask for the next missing value, or show the summary."""
        draft, problems = self._without_impossible()
        if draft.missing(self._form) is None:
            typed = drafts.typed(draft, self._spoken(), self.turn.bot.country)
            if typed.missing(self._form) is not None:
                problems.append(self.say("lost"))
            draft = typed
        if self.heard.garbled and draft.missing(self._form) == "contact":
            problems.append(self.say("hint.contact"))
        asked = draft.missing(self._form) or "confirm"
        if asked == "date" and not problems:
            problems.append(self._reason_against_day())
        if asked == "contact" and draft.asked != "contact":
            problems.append(self.say("privacy"))
        said = [text for text in (lead, *problems) if text]
        if asked == "confirm":
            about = summary(draft, self.turn.bot.country, drafts.message_of(draft, self._spoken()), self.say)
            return self._reply(draft, asked, "\n\n".join(filter(None, [" ".join(said), about, self.say("ask.confirm")])))
        return self._reply(draft, asked, " ".join([*said, self._question(asked, draft)]))

    def _question(self, asked: str, draft: RequestDraft) -> str:
        field = fields.of(self._form, asked)
        return fields.question(field, self.say) if field else ask(asked, draft, self.say)

    def on_field(self, field: FormField) -> Reply:
        """Handle the answer to a question for a field of the owner's form."""
        if self.heard.question and (answered := self._answered()):
            return answered
        value = fields.read(field, self.heard, self.turn.message)
        if value is None:
            return self._small_talk() or self._misunderstood(self.say("hint.field"))
        extra = (*((name, one) for name, one in self.draft.extra if name != field.name), (field.name, value))
        return replace(self, draft=replace(self.draft, extra=extra)).proceed()

    def _without_impossible(self) -> tuple[RequestDraft, list[str]]:
        """Return the draft without an impossible day or time, and the reasons."""
        draft, now, week = self.draft, local_time(self.turn), hours.week_of(self.turn.bot.opening_hours)
        problems: list[str] = []
        closed = draft.day is not None and self.say.profile.is_closed(draft.day)
        if draft.day is not None and (reason := hours.refused_day(draft.day, now, week, closed=closed)):
            problems.append(self.say(f"{reason}.date" if week or reason != "closed" else "closed.day", hours=self._hours(week)))
            draft = replace(draft, day=None)
        # the opening hours are given once: an impossible time waits for its day
        if not problems and draft.clock is not None and (reason := hours.refused_time(draft.clock, draft.day, now, week)):
            problems.append(self.say(f"{reason}.time", hours=self._hours(week), time=f"{draft.clock:%H:%M}"))
            draft = replace(draft, clock=None)
        return draft, problems

    def _reason_against_day(self) -> str:
        """Return why the day named cannot be taken; "" if none was named."""
        reason = "past" if self.heard.past else "never" if self.heard.never else ""
        return self.say(f"{reason}.date") if reason else ""

    def _hours(self, week: hours.Week) -> str:
        return hours.in_words(week, self.say.days)

    def _ask(self, asked: str, lead: str = "") -> Reply:
        return self._reply(self.draft, asked, f"{lead} {self._question(asked, self.draft)}".strip())

    def _repeat_question(self, lead: str, *, missed: bool = False, apart: bool = False) -> Reply:
        """Say `lead`, then repeat the open question."""
        draft, asked = self.draft, self.draft.asked
        question = self._question(asked, draft)
        if missed:
            return self._misunderstood(lead)
        between = "\n\n" if apart else " "
        return self._reply(draft, asked, f"{lead}{between}{question}", missed=draft.missed)

    def _misunderstood(self, hint: str = "") -> Reply:
        """Give an example; the second time also another way to answer and the way out; in the end close the form."""
        draft, missed = self.draft, self.draft.missed + 1
        if missed >= _GIVES_UP:
            return Reply(self.say("given_up"))
        asked, told = draft.asked, field_names(draft, self.say)
        said = [hint or self.say(f"hint.{asked}", fields=told)]
        if missed >= _OFFERS_WAY_OUT and not hint:
            said += [self.say(f"way.{asked}", fields=told), self.say("way.out")]
        return self._reply(draft, asked, " ".join([*said, self._question(asked, draft)]), missed=missed)

    def _reply(self, draft: RequestDraft, asked: str, text: str, missed: int = 0) -> Reply:
        return Reply(text, dialogue=drafts.dump(replace(draft, asked=asked, missed=missed), self.turn.now_ms))

    def _finish(self) -> Reply:
        """Capture the request if the values are still valid: hours may have passed since the summary."""
        draft, spoken = self._without_impossible()[0], self._spoken()
        if drafts.typed(draft, spoken, self.turn.bot.country).missing(self._form) is not None:
            return self.proceed()
        spans = hours.spans_of(hours.week_of(self.turn.bot.opening_hours), draft.day) if draft.day else []
        clock = time(*divmod(spans[0][0], 60)) if spans else _NOON  # of an appointment that has a day alone
        caught = drafts.captured(draft, spoken, local_time(self.turn), self.turn.bot.country, clock)
        return Reply(self.say("done.appointment" if draft.is_appointment else "done"), captured=caught)

    def _spoken(self) -> list[str]:
        return [message.content for message in self.turn.history if message.role == "user"] + [self.turn.message]


def _changeable(draft: RequestDraft) -> tuple[str, ...]:
    return ("date", "time", "phone", "email", "name") if draft.is_appointment else ("message", "phone", "email", "name")
