"""Context of a request. The visitor's earlier messages about the same matter, and the kind of request that they call for."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, time

from chatsvc.domain.models import HistoryMessage
from chatsvc.engines import Turn
from chatsvc.engines.knowledge.dialogue import hearing, intents, smalltalk, texts, wishes
from chatsvc.language.folding import words
from chatsvc.language.yes_no import is_no, is_yes

_LOOKED_BACK = 6  # earlier messages of the visitor
_MOST = 4  # of them that are kept
_SUPPORT = frozenset({"complaint", "refund"})


def earlier(turn: Turn, *, dropped: bool = True) -> list[str]:
    """Return the visitor's last messages since the last captured request. Oldest first, without small talk and bare values.

    Without `dropped` only those since the last request that was given up, too.
    """
    said: list[str] = []
    for past in reversed(turn.history):
        if past.role != "user":
            if texts.is_closing(turn.bot, past.content) or (not dropped and texts.is_dropping(turn.bot, past.content)):
                break
            continue
        if len(said) == _LOOKED_BACK:
            break
        said.append(past.content)
    return [text for text in reversed(said) if _is_about_something(turn, text)][-_MOST:]


def name_told(turn: Turn, now: datetime) -> str | None:
    """The name that one of the visitor's last messages since the last captured request gives."""
    for past in reversed(turn.history[-2 * _LOOKED_BACK :]):
        if past.role != "user" and texts.is_closing(turn.bot, past.content):
            return None
        if past.role == "user" and (name := hearing.name_in_passing(past.content, now, turn.bot.country)):
            return name
    return None


def visit_told(turn: Turn, now: datetime) -> tuple[date, time | None] | None:
    """Return day and time of a visit that the visitor's last messages name, or None. Those before the last captured request do not count.

    Only messages count that wish for one, or that hold nothing but a day or a time.
    """
    day: date | None = None
    clock: time | None = None
    for past in reversed(turn.history[-2 * _LOOKED_BACK :]):
        if past.role != "user":
            if texts.is_closing(turn.bot, past.content) or texts.is_dropping(turn.bot, past.content):
                break
            continue
        heard = hearing.interpret(past.content, "", now, turn.bot.country)
        wish = wishes.of(past.content, heard)
        if (wish is not None and wish.request_type == "appointment") or not (heard.substance(2) or heard.question):
            day, clock = day or heard.day, clock or heard.clock
    return (day, clock) if day is not None else None


def day_told(turn: Turn, now: datetime) -> date | None:
    """Return the day named in the visitor's last two messages, for a bare hour."""
    said = [past.content for past in turn.history[-2 * _LOOKED_BACK :] if past.role == "user"][-2:]
    days = (hearing.interpret(text, "", now, turn.bot.country).day for text in reversed(said))
    return next((day for day in days if day is not None), None)


def without_forms(turn: Turn) -> Turn:
    """Return the turn with the exchanges of forms removed from its history. Questions asked in between stay, with their answers."""
    kept: list[HistoryMessage] = []
    answers = False
    for past in turn.history:
        of_form = past.role != "user" and texts.is_of_form(turn.bot, past.content)
        aside = of_form and bool(kept) and kept[-1].role == "user" and hearing.asks(kept[-1].content) and "\n\n" in past.content
        if (not of_form or aside) and not (answers and past.role == "user" and not hearing.asks(past.content)):
            kept.append(past)
        answers = of_form and not texts.is_closing(turn.bot, past.content)
    return replace(turn, history=kept)


def _is_about_something(turn: Turn, text: str) -> bool:
    said = words(text)
    if not said or smalltalk.kind(said, turn.bot.name) is not None or is_yes(text) or is_no(text):
        return False
    if intents.of(text) & {"lets_go", "insult"}:
        return False
    return hearing.has_substance(text)


def request_type(turn: Turn, message: str = "") -> str:
    """Return the kind of request that the message and the earlier ones call for. `contact` if none does."""
    for text in (message, *reversed(earlier(turn))):
        wish = wishes.recognise(text) if text else None
        if wish is not None and wish.request_type != "other":
            return wish.request_type
        if _SUPPORT & intents.of(text):
            return "support"
    return "contact"
