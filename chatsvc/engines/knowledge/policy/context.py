"""One turn of the dialogue as the policy sees it, and the step that an action makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property
from itertools import takewhile

from chatsvc.domain import times
from chatsvc.domain.captures import Captured
from chatsvc.domain.language import primary
from chatsvc.engines import Evidence, Reply, Turn
from chatsvc.engines.knowledge import hours, say
from chatsvc.engines.knowledge.fields.base import Place
from chatsvc.engines.knowledge.fields.count import NIGHTS
from chatsvc.engines.knowledge.fields.form import RequestForm, form_of
from chatsvc.engines.knowledge.policy import state as states
from chatsvc.engines.knowledge.policy.state import RequestDraft, State
from chatsvc.engines.knowledge.say import Say
from chatsvc.engines.knowledge.understand import AskedFor, ToldDays, Understanding, understand
from chatsvc.language import catalogue
from chatsvc.language.contacts import in_figures


@dataclass(frozen=True)
class Context:
    """A turn with what was understood and what the bot knew before. `say` speaks the visitor's language, or the form's."""

    turn: Turn
    state: State
    said: Understanding
    say: Say

    @cached_property
    def now(self) -> datetime:
        """Wall time of the turn in the bot's time zone."""
        return times.local(self.turn.now_ms, self.turn.bot.timezone)

    @cached_property
    def place(self) -> Place:
        """The bot with its week and its time."""
        return Place(self.turn.bot, hours.week_of(self.turn.bot.opening_hours), self.now, self.say)

    @cached_property
    def spoken(self) -> list[str]:
        """The visitor's messages, the new one last."""
        return [past.content for past in self.turn.history if past.role == "user"] + [self.turn.message]

    @cached_property
    def in_figures(self) -> list[str]:
        """The visitor's messages with telephone numbers in words written in figures."""
        return in_figures(self.spoken, self.turn.bot.country)

    @cached_property
    def unanswered(self) -> list[str]:
        """The visitor's messages before this one that got no reply."""
        earlier = takewhile(lambda past: past.role == "user", reversed(self.turn.history))
        return [past.content for past in earlier][::-1]

    @cached_property
    def told(self) -> tuple[str, ...]:
        """The bot's last replies, newest first."""
        return tuple(past.content for past in reversed(self.turn.history) if past.role != "user")[:3]

    @property
    def is_stale(self) -> bool:
        """True if the visitor has been away for hours."""
        return self.turn.now_ms - self.state.at >= states.STALE_MS

    def form(self, draft: RequestDraft) -> RequestForm:
        """Return the form of a draft."""
        return form_of(draft, self.say.profile.form(draft.kind))

    def step(
        self,
        text: str,
        state: State | None = None,
        *,
        captured: Captured | None = None,
        evidence: Evidence | None = None,
        choices: tuple[str, ...] = (),
    ) -> ReplyStep:
        """Make a step. Without `state` what was pending is kept."""
        return ReplyStep(text, self.state if state is None else state, captured, evidence, choices)

    def line(self, key: str, **values: str) -> ReplyStep:
        """Say a line of small talk, in other words where it has been said before. What was pending is kept."""
        name = key.removesuffix(".familiar")
        times_told = self.state.told.get(name, 0)
        told = {**self.state.told, name: times_told + 1}
        return self.step(self.say.varied(key, times_told, **values), replace(self.state, told=told))


@dataclass(frozen=True, slots=True)
class ReplyStep:
    """A reply with the state that it leads to."""

    text: str
    state: State
    captured: Captured | None = None
    evidence: Evidence | None = None
    choices: tuple[str, ...] = ()

    def after(self, *texts: str) -> ReplyStep:
        """Return the step with texts before its own, a paragraph each."""
        return replace(self, text="\n\n".join(text for text in (*texts, self.text) if text))

    def behind(self, text: str) -> ReplyStep:
        """Return the step with a sentence behind its own."""
        return replace(self, text=f"{self.text} {text}")

    def reply(self, context: Context) -> Reply:
        """Return the engine's reply."""
        state = replace(self.state, at=context.turn.now_ms, language=context.say.language)
        return Reply(
            self.text, captured=self.captured, dialogue=state.dump(context.turn.now_ms), evidence=self.evidence, choices=self.choices
        )


Action = Callable[[Context], ReplyStep | None]


def context_of(turn: Turn) -> Context:
    """Understand a turn's message in the light of the state that the last reply left."""
    state = _known_field(states.load(turn.dialogue, turn.now_ms), turn)
    now = times.local(turn.now_ms, turn.bot.timezone)
    said = understand(turn, _asked(state, turn), now, state.language, _told_days(state, turn))
    before = state.language if state.has_open_form else said.language
    wanted = (primary(turn.language or ""), before, state.language, catalogue.FALLBACK)
    return Context(turn, state, said, say.of(turn.bot, next(one for one in wanted if one in catalogue.languages())))


def _told_days(state: State, turn: Turn) -> ToldDays:
    """Return the days that were told before, else those of the appointment that is changed or was captured last."""
    told = {**state.heard, **{key: one.value for key, one in state.draft.values.items()}} if state.draft else state.heard
    month = date.fromisoformat(told["month"]) if "month" in told else None
    if day := told.get("date"):
        return ToldDays(date.fromisoformat(day), date.fromisoformat(day), month)
    last = next((one for one in turn.captured if one.id == state.record), turn.captured[-1]) if turn.captured else None
    stays = last is not None and f"\n{NIGHTS}: " in last.message
    return ToldDays(last.date if last and stays else None, last.date if last else None, month)


def _known_field(state: State, turn: Turn) -> State:
    """Return the state with another question where the owner no longer has the field that was asked for."""
    if state.draft is None or not state.asked:
        return state
    form = form_of(state.draft, say.of(turn.bot, state.language).profile.form(state.draft.kind))
    if state.asked in form.by_key:
        return state
    field = form.missing(state.draft)
    return replace(state, pending=states.FIELD + field.key if field else states.CHANGE)


def _asked(state: State, turn: Turn) -> AskedFor:
    """Return what the bot asked for."""
    if state.asked and state.draft is not None:
        field = form_of(state.draft, say.of(turn.bot, state.language).profile.form(state.draft.kind)).by_key.get(state.asked)
        return AskedFor(field.key, field.asks_as, field.asks_as) if field else AskedFor()
    if state.turns and state.pending in (states.OFFER, states.OFFER_CONTACT):
        return AskedFor()  # something else was said since
    if state.pending == states.OFFER_CONTACT:
        return AskedFor("", "" if state.is_of_record else "name", "name")  # "cancel it" cancels the record, not the offer
    if state.pending in (states.OFFER, states.CONFIRM, states.RESUME, states.CANCEL, states.CHANGE):
        return AskedFor("", "confirm", "confirm")
    if state.pending in (states.OPTIONS, states.WHICH_CANCEL, states.WHICH_MOVE):
        return AskedFor("", "options")
    return AskedFor("", "date", "date") if state.pending == states.MOVE else AskedFor()
