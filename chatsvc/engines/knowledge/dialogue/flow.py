"""Takes a request or an appointment down: asks for what is missing, one thing at a time, answers questions in between, confirms.

Nothing is kept but in the `dialogue` that comes with the turn, and nothing is captured before the visitor has said yes to a summary.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime

from chatsvc.domain import times
from chatsvc.engines import Reply, Turn, language
from chatsvc.engines.knowledge.dialogue import drafts, hearing, hours, lookup, smalltalk, wishes
from chatsvc.engines.knowledge.dialogue.drafts import Draft
from chatsvc.engines.knowledge.dialogue.hearing import Heard
from chatsvc.engines.knowledge.dialogue.wishes import Wish
from chatsvc.engines.knowledge.dialogue.wording import ask, days, fields, say, summary
from chatsvc.engines.reading.folding import words

_OFFERS_A_WAY_OUT = 2  # misunderstandings of one question in a row, from which on the visitor is told how to leave
_MOST_SENTENCES = 4  # of a message that are looked at one by one
_GIVES_UP = 5  # and from which on the bot itself leaves it: nobody is held in a loop


def wish_of(turn: Turn) -> Wish | None:
    """The wish in a message that opens a dialogue; None where nothing may be captured or nothing is wished for."""
    if not turn.may_capture:
        return None
    wish = wishes.recognise(turn.message)
    if wish is None or not wish.clear:  # a question in the next sentence takes nothing from it
        told = (wishes.recognise(part) for part in lookup.parts(turn.message)[:_MOST_SENTENCES])
        wish = next((one for one in told if one is not None and one.clear), wish)
    if (wish is not None and wish.clear) or not wishes.names_an_appointment(turn.message):
        return wish
    heard = hearing.listen(turn.message, "", _now(turn), turn.bot.country)
    return wishes.recognise(turn.message, dated=heard.day is not None or heard.clock is not None)


def opened(turn: Turn) -> Draft | None:
    """The dialogue that is under way, if there is one."""
    return drafts.load(turn.dialogue, turn.now_ms) if turn.may_capture else None


def begin(turn: Turn, wish: Wish) -> Reply:
    """The first reply to a wish: everything that its message holds is taken, the first thing that is missing asked for."""
    heard = hearing.listen(turn.message, "", _now(turn), turn.bot.country)
    about = wish.request_type == "appointment" or heard.substance(2) or wishes.changes(turn.message)
    draft = Draft(wish.request_type, _language(turn, wish), drafts.opening_of(turn.message) if about else "")
    said = _Said(turn, _with(draft, heard), heard)
    opening = say(f"open.{wish.request_type}", draft.language)
    return said.go_on("\n\n".join([*_asked_beside(turn), opening]))


def _asked_beside(turn: Turn) -> list[str]:
    """The answers to what a message asks besides its wish: "I'd like an appointment. Do you take cards?"."""
    sentences = [clause for part in lookup.parts(turn.message) for clause in part.split(", ")][:_MOST_SENTENCES]
    asked = [one for one in sentences if hearing.asks(one) and wishes.recognise(one) is None]
    findings = [lookup.search(turn, one) for one in asked]
    return list(dict.fromkeys(one.hits[0].entry.answer for one in findings if one.decision == "answer"))


def proceed(turn: Turn, draft: Draft) -> Reply:
    """The reply to a message while a dialogue is open; there always is one."""
    if turn.language:
        draft = replace(draft, language=language.among(turn, drafts.LANGUAGES, draft.language))
    heard = hearing.listen(turn.message, draft.asked, _now(turn), turn.bot.country)
    if hearing.gives_up(turn.message, heard, draft.asked):
        return Reply(say("cancelled", draft.language))
    said = _Said(turn, draft, heard)
    if draft.asked == "confirm":
        return said.on_summary()
    if draft.asked == "message":
        return said.on_message()
    return said.on_question()


def _now(turn: Turn) -> datetime:
    return times.local(turn.now_ms, turn.bot.timezone)


def _language(turn: Turn, wish: Wish) -> str:
    """The caller's, else the visitor's: where letters and small words do not tell, the words of the wish do."""
    shown = language.guess(turn.message)
    return language.among(turn, drafts.LANGUAGES, shown if shown in drafts.LANGUAGES else wish.language)


def _with(draft: Draft, heard: Heard) -> Draft:
    """The draft with what was heard in place of what it held."""
    return replace(
        draft,
        day=(heard.day or draft.day) if draft.is_appointment else None,
        clock=(draft.clock if heard.clock is None else heard.clock) if draft.is_appointment else None,
        name=heard.name or draft.name,
        email=heard.email or draft.email,
        phone=heard.phone or draft.phone,
    )


@dataclass(frozen=True, slots=True)
class _Said:
    """One message of an open dialogue, with all that it takes to answer it."""

    turn: Turn
    draft: Draft
    heard: Heard

    # The three situations

    def on_summary(self) -> Reply:
        """Yes, no, or something else than what the summary says."""
        draft, heard = self.draft, self.heard
        if _with(draft, heard) != draft:
            return self._taking(heard).go_on()
        field = heard.field(_changeable(draft))
        if field and (heard.objects or hearing.denies(self.turn.message)) and not heard.question:
            return self._ask(field)
        if heard.question:
            return self._aside()
        if hearing.agrees(self.turn.message, heard):
            return self._finish()
        if hearing.denies(self.turn.message):
            return self._ask("change")
        return self._corrected() or self._said_again() or self._courtesy() or self._known() or self._missed()

    def on_message(self) -> Reply:
        """What it is about, in the visitor's own words; what only greets, nods or gives contact data is not that."""
        heard = self.heard
        if heard.question and (answered := self._known()):
            return answered
        taken = self._taking(heard)
        if not heard.substance(1) or hearing.is_nod(self.turn.message):
            return taken.go_on() if taken.draft != self.draft else self._courtesy() or self._missed()
        return replace(taken, draft=replace(taken.draft, opening=drafts.opening_of(self.turn.message))).go_on()

    def on_question(self) -> Reply:
        """The answer to an open question, or whatever was said instead."""
        draft, heard = self.draft, self.heard
        if heard.has(draft.asked) or _with(draft, heard) != draft:
            noted = "" if heard.has(draft.asked) else say("noted", draft.language)
            lead = (self._answer() or "") if noted and heard.question else noted
            return self._taking(heard).go_on(lead)
        if draft.asked == "change":
            return self._on_change()
        if draft.asked in ("date", "time") and (why := self._no_day()):
            return self._again(why)
        if draft.asked in ("date", "time") and heard.leaves_open:
            return self._missed(say(f"any.{draft.asked}", draft.language))
        if heard.question:
            return self._aside()
        again = self._corrected() or self._said_again() or self._refusal() or self._courtesy() or self._restated()
        return again or (None if heard.garbled else self._known()) or self._missed()

    def _on_change(self) -> Reply:
        """What is to be changed, by its name; nothing at all brings the summary back."""
        if field := self.heard.field(_changeable(self.draft)):
            return self._ask(field)
        if self.heard.question:
            return self._aside()
        if hearing.agrees(self.turn.message, self.heard) or " hicbir" in self.heard.line or " nothing " in self.heard.line:
            return self.go_on()
        return self._courtesy() or self._missed()

    # What is said in between

    def _answer(self) -> str | None:
        finding = lookup.search(self.turn, self.turn.message)
        return finding.hits[0].entry.answer if finding.decision == "answer" else None

    def _known(self) -> Reply | None:
        # "yes that's right" is no question, though the knowledge may think of something
        answer = None if hearing.is_nod(self.turn.message) else self._answer()
        return self._again(answer, apart=True) if answer else None

    def _aside(self) -> Reply:
        """A question: answered where the knowledge has an answer, honestly not where it has none, and the open one asked again."""
        if self.heard.doubts:
            return self._again(say("why", self.draft.language))
        if known := self._known():
            return known
        week = hours.week_of(self.turn.bot.opening_hours)
        if week and self.draft.asked in ("date", "time"):
            return self._again(say("hours", self.draft.language, hours=self._hours(week)))
        return self._again(say("unknown", self.draft.language))

    def _courtesy(self) -> Reply | None:
        recognised = smalltalk.kind(words(self.turn.message), self.turn.bot.name)
        if recognised is None:
            return None
        if recognised[0] == "goodbye":
            return Reply(say("cancelled", self.draft.language))
        return self._again(say({"greeting": "hello", "thanks": "kind"}.get(recognised[0], "noted"), self.draft.language))

    def _refusal(self) -> Reply | None:
        """Contact data that will not be given: one of the two is enough, none is not; and some name is needed."""
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
                return self.go_on(say(f"no.{field}", draft.language))
            if draft.asked == "contact":
                return self._ask(other, say(f"no.{field}", draft.language))
            if draft.asked == field:  # and the other one was refused before, or there would be one
                again = replace(draft, asked="contact")
                return replace(self, draft=again)._again(say("need.contact", draft.language), missed=True)
            return self._again(say("noted", draft.language))
        if field in ("contact", "name") and (field == "contact" or draft.asked == "name"):
            return self._again(say(f"need.{field}", draft.language), missed=True)
        return None

    def _corrected(self) -> Reply | None:
        """A name where something else was asked for: it takes the place of the one given before."""
        draft, name = self.draft, hearing.bare_name(self.turn.message, self.draft.name)
        if name is None or draft.asked == "name":
            return None
        return replace(self, draft=replace(draft, name=name)).go_on(say("noted", draft.language))

    def _said_again(self) -> Reply | None:
        """What is known already: "Monday" once more is no question about Mondays."""
        draft, heard = self.draft, self.heard
        if not (heard.name or heard.email or heard.phone or (draft.is_appointment and (heard.day or heard.clock))):
            return None
        return self.go_on() if draft.asked == "confirm" else self._again(say("noted", draft.language))

    def _restated(self) -> Reply | None:
        """The wish once more, or another one, which takes the place of the first."""
        wish = wishes.recognise(self.turn.message)
        draft = self.draft
        if wish is None or not wish.clear or draft.asked in ("contact", "phone", "email"):
            return None
        if wish.request_type == draft.request_type:
            return self._again(say("noted", draft.language))
        about = wish.request_type == "appointment" or self.heard.substance(2)
        opening = drafts.opening_of(self.turn.message) if about else ""
        other = replace(draft, request_type=wish.request_type, opening=opening)
        return replace(self, draft=other).go_on(say(f"open.{wish.request_type}", draft.language))

    # How it goes on

    def _taking(self, heard: Heard) -> _Said:
        return replace(self, draft=_with(self.draft, heard))

    def go_on(self, lead: str = "") -> Reply:
        """Ask for the next thing; where nothing is missing, show the summary."""
        draft, troubles = self._possible()
        if draft.missing() is None:
            typed = drafts.typed(draft, self._spoken(), self.turn.bot.country)
            if typed.missing() is not None:
                troubles.append(say("lost", draft.language))
            draft = typed
        if self.heard.garbled and draft.missing() == "contact":
            troubles.append(say("hint.contact", draft.language))
        asked = draft.missing() or "confirm"
        if asked == "date" and not troubles:
            troubles.append(self._no_day())
        said = [text for text in (lead, *troubles) if text]
        if asked == "confirm":
            return self._reply(
                draft, asked, "\n\n".join(filter(None, [" ".join(said), summary(draft), say("ask.confirm", draft.language)]))
            )
        return self._reply(draft, asked, " ".join([*said, ask(asked, draft)]))

    def _possible(self) -> tuple[Draft, list[str]]:
        """The draft without a day or a time that cannot be had, and why."""
        draft, now, week = self.draft, _now(self.turn), hours.week_of(self.turn.bot.opening_hours)
        troubles: list[str] = []
        if draft.day is not None and (why := hours.refused_day(draft.day, now, week)):
            troubles.append(say(f"{why}.date", draft.language, hours=self._hours(week)))
            draft = replace(draft, day=None)
        # the hours are told once: a time that does not fit them either has to wait for its day
        if not troubles and draft.clock is not None and (why := hours.refused_time(draft.clock, draft.day, now, week)):
            troubles.append(say(f"{why}.time", draft.language, hours=self._hours(week), time=f"{draft.clock:%H:%M}"))
            draft = replace(draft, clock=None)
        return draft, troubles

    def _no_day(self) -> str:
        """Why the day that was spoken of is none that could be had; "" where none was."""
        why = "past" if self.heard.past else "never" if self.heard.never else ""
        return say(f"{why}.date", self.draft.language) if why else ""

    def _hours(self, week: hours.Week) -> str:
        return hours.told(week, days(self.draft.language))

    def _ask(self, asked: str, lead: str = "") -> Reply:
        return self._reply(self.draft, asked, f"{lead} {ask(asked, self.draft)}".strip())

    def _again(self, lead: str, *, missed: bool = False, apart: bool = False) -> Reply:
        """Something else first, then the open question once more."""
        draft, asked = self.draft, self.draft.asked
        question = ask(asked, draft)
        if missed:
            return self._missed(lead)
        between = "\n\n" if apart else " "
        return self._reply(draft, asked, f"{lead}{between}{question}", missed=draft.missed)

    def _missed(self, hint: str = "") -> Reply:
        """Not understood: an example; the second time another way, and the way out; in the end the bot leaves it."""
        draft, missed = self.draft, self.draft.missed + 1
        if missed >= _GIVES_UP:
            return Reply(say("given_up", draft.language))
        asked, told = draft.asked, fields(draft)
        said = [hint or say(f"hint.{asked}", draft.language, fields=told)]
        if missed >= _OFFERS_A_WAY_OUT and not hint:
            said += [say(f"way.{asked}", draft.language, fields=told), say("way.out", draft.language)]
        return self._reply(draft, asked, " ".join([*said, ask(asked, draft)]), missed=missed)

    def _reply(self, draft: Draft, asked: str, text: str, missed: int = 0) -> Reply:
        return Reply(text, dialogue=drafts.dump(replace(draft, asked=asked, missed=missed), self.turn.now_ms))

    def _finish(self) -> Reply:
        """The end, if all still holds: hours may have passed since the summary, and the visitor's words must still be at hand."""
        draft, spoken = self._possible()[0], self._spoken()
        if drafts.typed(draft, spoken, self.turn.bot.country).missing() is not None:
            return self.go_on()
        caught = drafts.captured(draft, spoken, _now(self.turn), self.turn.bot.country)
        return Reply(say("done.appointment" if draft.is_appointment else "done", draft.language), captured=caught)

    def _spoken(self) -> list[str]:
        return [message.content for message in self.turn.history if message.role == "user"] + [self.turn.message]


def _changeable(draft: Draft) -> tuple[str, ...]:
    return ("date", "time", "phone", "email", "name") if draft.is_appointment else ("message", "phone", "email", "name")
