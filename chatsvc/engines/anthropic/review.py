"""Review of a model's reply before a visitor sees it. No tool call as text, no invented figures, no claims of actions never done."""

from collections.abc import Sequence
from functools import cached_property, lru_cache
from weakref import WeakKeyDictionary

from chatsvc.domain import times
from chatsvc.domain.captures import Captured, CapturedRecord
from chatsvc.domain.models import Bot
from chatsvc.engines import EngineError, Hit, Knowledge, Turn
from chatsvc.engines.anthropic import claims, grounding, tools
from chatsvc.engines.anthropic.notes import described

_NO_ANSWER = f"If you cannot answer without it, say only that by {tools.NO_ANSWER} or [NO_ANSWER]."
_HEAD = "[From the service, not the visitor] Your last message was not shown to the visitor."

_known: WeakKeyDictionary[Knowledge, grounding.Known] = WeakKeyDictionary()


def characters_read(turn: Turn, text: str) -> int:
    """Return how many characters the review of a reply reads. A knowledge counts until its figures are sets."""
    past = sum(len(message.content) for message in turn.history)
    entries = () if turn.knowledge in _known else turn.knowledge.entries
    return len(text) + past + sum(len(entry.question) + len(entry.answer) for entry in entries)


class Review:
    """Reviews replies to one message. `hits` are entries found for it, `captured` what was captured from it."""

    def __init__(self, turn: Turn, hits: Sequence[Hit], captured: Captured | None) -> None:
        self._turn = turn
        self._hits = hits
        self._captured = captured

    def complaint(self, text: str) -> str | None:
        """Return what is wrong with a reply, in words for the model. None for a good one. Raises EngineError for `no_answer`."""
        if claims.is_tool_call(text, [name for name in tools.NAMES if name != tools.NO_ANSWER]):
            return f"{_HEAD} It held a tool call as text. Call the tool itself, or answer the visitor in plain words."
        if tools.NO_ANSWER in text:
            raise EngineError("no_answer", "its tool, written as text")
        known = _known_of(self._turn.knowledge), _known_of_bot(self._turn.bot)
        claim = claims.untrue_claim(text, [one.text for one in known], self._turn.captured, noted=self._captured is not None)
        if claim is not None:
            return (
                f"{_HEAD} It says that something was done which no tool did: “{claim}” Answer again and say only what is true: what "
                f"tools noted, and that the business has yet to do it. {_NO_ANSWER}"
            )
        words = claims.more_than_noted(text, self._spoken, self._noted)
        if words:
            named = ", ".join(f"“{word}”" for word in words)
            return (
                f"{_HEAD} It says that more is noted than is: no record holds {named}. Note it with the visitor's words in the quotes, or "
                "say only what is noted."
            )
        unknown = self._sources(known).unknown(text) if grounding.has_figures(text) else []
        if unknown:
            named = ", ".join(f"“{one}”" for one in unknown)
            return (
                f"{_HEAD} It holds what stands neither in the knowledge, the facts nor the visitor's messages: {named}. Answer again "
                f"without it. {_NO_ANSWER}"
            )
        return None

    @cached_property
    def _spoken(self) -> list[str]:
        return [past.content for past in self._turn.history if past.role == "user"] + [self._turn.message]

    @cached_property
    def _noted(self) -> list[str]:
        """Return the records of the conversation in words."""
        captured = [self._captured] if self._captured else []
        return [*map(described, self._turn.captured), *map(described, captured)]

    def _sources(self, known: tuple[grounding.Known, ...]) -> grounding.Sources:
        turn = self._turn
        # Earlier replies were reviewed, or came from the knowledge.
        replies = [past.content for past in turn.history if past.role != "user"]
        entries = [f"{hit.entry.question}\n{hit.entry.answer}" for hit in self._hits]
        moments: list[CapturedRecord | Captured] = [*turn.captured, *([self._captured] if self._captured else [])]
        days = [one.date for one in moments if one.date]
        clocks = [f"{one.time:%H:%M}" for one in moments if one.time]
        contacts = [text for one in moments for text in (one.visitor_phone, one.visitor_email) if text]
        ids = [record.id for record in turn.captured]
        near = [*entries, *replies, *clocks, *contacts, *ids]
        return grounding.Sources(known, near, self._spoken, times.local(turn.now_ms, turn.bot.timezone), days, turn.bot.country)


def _known_of(knowledge: Knowledge) -> grounding.Known:
    known = _known.get(knowledge)
    if known is None:
        words = (text for entry in knowledge.entries for text in (entry.question, *entry.alt, entry.answer))
        known = _known[knowledge] = grounding.Known("\n".join(words))
    return known


@lru_cache(maxsize=256)
def _known_of_settings(settings: tuple[str | None, ...]) -> grounding.Known:
    return grounding.Known("\n".join(filter(None, settings)))


def _known_of_bot(bot: Bot) -> grounding.Known:
    settings = (bot.name, bot.description, bot.instructions, bot.opening_hours, bot.greeting)
    return _known_of_settings((*settings, bot.phone, bot.email, bot.address))
