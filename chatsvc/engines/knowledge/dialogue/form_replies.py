"""Replies of an open form. The next question, the summary, the same question again, the captured request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, time
from typing import Self

from chatsvc.domain import times
from chatsvc.domain.profiles import Form
from chatsvc.engines import Reply, Turn
from chatsvc.engines.knowledge.dialogue import corrections, drafts, fields, hearing, hours, intents, smalltalk, texts, wishes
from chatsvc.engines.knowledge.dialogue.drafts import RequestDraft
from chatsvc.engines.knowledge.dialogue.hearing import Utterance
from chatsvc.engines.knowledge.dialogue.wording import ask, field_names, summary

_NOON = time(12)
_FIRST_BARE = 7  # the first hour that is taken for the morning as said
_OFFERS_WAY_OUT = 2  # misunderstood answers in a row, from which on the bot says how to leave the form
_GIVES_UP = 4  # and from which on it closes the form
_WITH_A_WAY = frozenset({"date", "time", "message", "name", "contact", "phone", "email", "confirm", "change"})
_MOST_ASIDES = 1  # questions in a row after which the open question is repeated


def local_time(turn: Turn) -> datetime:
    """Return the wall time of the turn in the bot's time zone."""
    return times.local(turn.now_ms, turn.bot.timezone)


def last_reply(turn: Turn) -> str:
    """Return the bot's last words in the conversation; "" if there are none."""
    return next((past.content for past in reversed(turn.history) if past.role != "user"), "")


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
class FormReplies:
    """One message of an open form and what can be replied to it."""

    turn: Turn
    draft: RequestDraft
    heard: Utterance

    @property
    def say(self) -> texts.Say:
        """The bot's sentences in the language of the draft."""
        return texts.of(self.turn.bot, self.draft.language)

    def _with_values(self, heard: Utterance) -> Self:
        return replace(self, draft=with_values(self.draft, heard))

    @property
    def _form(self) -> Form:
        return self.say.profile.form(self.draft.request_type)

    def proceed(self, lead: str = "") -> Reply:
        """Ask for the next missing value, or show the summary."""
        draft, problems = self._without_impossible()
        draft = replace(draft, asides=0)
        if draft.missing(self._form) is None:
            typed = drafts.typed(draft, self._spoken(), self.turn.bot.country)
            if typed.missing(self._form) is not None:
                problems.append(self.say("lost"))
            draft = typed
        if self.heard.garbled and draft.missing(self._form) == "contact":
            problems.append(self.say("hint.contact"))
        missed = 0
        if draft.missing(self._form) == "name" and draft.asked == "name":  # it was asked for, and not answered
            missed = draft.missed + 1
            if missed >= _OFFERS_WAY_OUT:
                draft, missed = replace(draft, nameless=True), 0
                problems.append(self.say("no.name"))
        asked = draft.missing(self._form) or "confirm"
        if asked == "date" and not problems:
            problems.append(self._reason_against_day())
        if asked == "contact" and draft.asked != "contact":
            problems.append(self.say("privacy"))
        said = [text for text in (lead, *problems) if text]
        if asked == "confirm":
            told = drafts.message_of(draft, self._spoken())
            about = summary(draft, self.turn.bot.country, told if any(map(hearing.has_substance, told.split("\n"))) else "", self.say)
            return self._reply(draft, asked, "\n\n".join(filter(None, [" ".join(said), about, self.say("ask.confirm")])))
        return self._reply(draft, asked, " ".join([*said, self._question(asked, draft)]), missed=missed)

    def _question(self, asked: str, draft: RequestDraft) -> str:
        field = fields.of(self._form, asked)
        return fields.question(field, self.say) if field else ask(asked, draft, self.say)

    def _without_impossible(self) -> tuple[RequestDraft, list[str]]:
        """Return the draft without an impossible day or time, and the reasons."""
        now, week = local_time(self.turn), hours.week_of(self.turn.bot.opening_hours)
        draft = replace(self.draft, clock=self._meant_clock(now, week))
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

    def _meant_clock(self, now: datetime, week: hours.Week) -> time | None:
        """Return the time, in the evening where the context says so. From 7 to 11: where an evening is meant or the morning is closed."""
        draft, clock = self.draft, self.draft.clock
        if (
            clock is None
            or clock != self.heard.clock
            or not _FIRST_BARE <= clock.hour < _NOON.hour
            or hearing.names_morning(self.turn.message)
        ):
            return clock
        later = clock.replace(hour=clock.hour + _NOON.hour)
        if hours.refused_time(later, draft.day, now, week):
            return clock
        evening = any(hearing.names_evening(text) for text in (draft.opening, *draft.more, self.turn.message))
        return later if evening or hours.refused_time(clock, draft.day, now, week) else clock

    def _reason_against_day(self) -> str:
        """Return why the day named cannot be taken; "" if none was named."""
        reason = "past" if self.heard.past else "never" if self.heard.never else ""
        return self.say(f"{reason}.date") if reason else ""

    def _hours(self, week: hours.Week) -> str:
        return hours.in_words(week, self.say.days)

    def _ask(self, asked: str, lead: str = "") -> Reply:
        return self._reply(self.draft, asked, f"{lead} {self._question(asked, self.draft)}".strip())

    def _repeat_question(self, lead: str, *, missed: bool = False, apart: bool = False) -> Reply:
        """Say `lead`, then repeat the open question; not again where the visitor goes on asking."""
        draft, asked = self.draft, self.draft.asked
        if missed:
            return self._misunderstood(lead)
        if self.heard.question or apart:
            draft = replace(draft, asides=draft.asides + 1)
        elif asked == "name":
            return self.proceed(lead)
        if draft.asides > _MOST_ASIDES:
            return self._reply(draft, asked, lead, missed=draft.missed, asks=False)
        between = "\n\n" if apart else " "
        return self._reply(draft, asked, f"{lead}{between}{self._question(asked, draft)}", missed=draft.missed)

    def _misunderstood(self, hint: str = "") -> Reply:
        """Give an example. The second time also another way to answer and the way out; in the end close the form.

        The name is not asked for a third time.
        """
        draft, missed = self.draft, self.draft.missed + 1
        if draft.asked == "name" and missed >= _OFFERS_WAY_OUT:
            return self._settle_name()
        if missed >= _GIVES_UP and draft.asked != "confirm" and (draft.email or draft.phone):
            return self._without_answer()
        if missed >= _GIVES_UP:
            return Reply(self.say("given_up"))
        asked, told = draft.asked, field_names(draft, self.say)
        said = [hint or self.say(f"hint.{asked}", fields=told)]
        if missed >= _OFFERS_WAY_OUT and not hint:
            said += [self.say(f"way.{asked}", fields=told), self.say("way.out")]
        return self._reply(draft, asked, " ".join([*said, self._question(asked, draft)]), missed=missed)

    def _without_answer(self) -> Reply:
        """Continue without a value that the visitor does not give."""
        spoken, draft = self._spoken(), self.draft
        wished = next((text for text in reversed(spoken) if wishes.recognise(text)), spoken[-1])
        known = dict(draft.extra)
        draft = replace(
            draft,
            request_type="contact" if draft.is_appointment else draft.request_type,
            opening=draft.opening or drafts.opening_of(wished),
            nameless=True,
            extra=(*draft.extra, *((field.name, "") for field in self._form.fields if field.name not in known)),
        )
        return replace(self, draft=draft).proceed(self.say("noted"))

    def _settle_name(self) -> Reply:
        """Take the message for the name if it can be one. Else continue without a name."""
        name = corrections.possible_name(self.turn.message, self.heard)
        if name is not None:
            return replace(self, draft=replace(self.draft, name=name)).proceed(self.say("noted"))
        return replace(self, draft=replace(self.draft, nameless=True)).proceed(self.say("no.name"))

    def _otherwise(self, text: str, draft: RequestDraft, asked: str) -> str:
        """Vary a reply given just before. It gets another way to answer its question, or the way out."""
        question = self._question(asked, draft)
        way = self.say(f"way.{asked}", fields=field_names(draft, self.say)) if asked in _WITH_A_WAY else ""
        hints = [hint for hint in (way, self.say("way.out")) if hint and hint not in text]
        return f"{' '.join([text.removesuffix(question).rstrip(), *hints[:1]])} {question}"

    def _choices(self, asked: str) -> tuple[str, ...]:
        """Return the choices of the open question."""
        if asked == "confirm":
            return self.say.yes_no
        field = fields.of(self._form, asked)
        return fields.offered(field) if field else ()

    def _reply(self, draft: RequestDraft, asked: str, text: str, missed: int = 0, *, asks: bool = True) -> Reply:
        """Reply with a text, which ends with the open question if it `asks`."""
        if asked != "resume" and text == last_reply(self.turn):
            text = self._otherwise(text, draft, asked)
        state = drafts.dump(replace(draft, asked=asked, missed=missed), self.turn.now_ms)
        return Reply(text, dialogue=state, choices=self._choices(asked) if asks else ())

    def _finish(self) -> Reply:
        """Capture the request if the values are still valid. Hours may have passed since the summary."""
        draft, spoken = self._without_impossible()[0], self._spoken()
        if drafts.typed(draft, spoken, self.turn.bot.country).missing(self._form) is not None:
            return self.proceed()
        spans = hours.spans_of(hours.week_of(self.turn.bot.opening_hours), draft.day) if draft.day else []
        clock = time(*divmod(spans[0][0], 60)) if spans else _NOON  # of an appointment that has a day alone
        caught = drafts.captured(draft, spoken, local_time(self.turn), self.turn.bot.country, clock)
        return Reply(self.say("done.appointment" if draft.is_appointment else "done"), captured=caught)

    def _names_a_visit(self) -> bool:
        """Return whether a message in a call-back request names only a day and an hour."""
        heard, wish = self.heard, wishes.of(self.turn.message, self.heard)
        called = wish is not None and wish.request_type == "contact"  # "call me tomorrow at 3" names the hour of the call
        named = heard.day is not None and heard.clock is not None
        if "enrol" in intents.of(self.draft.opening):
            named = heard.day is not None
        return named and not heard.substance(1) and not heard.question and not called

    def _with_when(self) -> Self:
        """Keep a suitable day or hour that the request has no field for. Example: "after 5 pm"."""
        wish = wishes.of(self.turn.message, self.heard)
        other = wish is not None and wish.request_type != self.draft.request_type
        if self.draft.is_appointment or other or self.heard.question or not self.heard.names_when or smalltalk.kind_of(self.turn):
            return self
        return replace(self, draft=drafts.with_more(self.draft, self.turn.message))

    def _spoken(self) -> list[str]:
        return [message.content for message in self.turn.history if message.role == "user"] + [self.turn.message]
