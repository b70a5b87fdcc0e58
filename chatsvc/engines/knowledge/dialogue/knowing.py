"""Answers from the knowledge and the bot's settings, outside and inside of forms."""

from __future__ import annotations

from chatsvc.engines import Turn
from chatsvc.engines.knowledge.dialogue import answers, lookup, openings
from chatsvc.engines.knowledge.dialogue.message import VisitorMessage


def answer_of(turn: Turn, text: str) -> str | None:
    """Return the knowledge's answer to a text."""
    finding = lookup.search(turn, text)
    return answers.told(finding.hits[0].entry, text) if finding.decision == "answer" else None


def opening_hours(message: VisitorMessage) -> str | None:
    """Return the computed answer to a question about opening hours alone; None for any other, or for a day that may be special."""
    if not openings.asks_only(message) and not (openings.is_day_alone(message) and openings.asked_before(message.turn)):
        return None
    if openings.names_special_day(message):
        return answer_of(message.turn, message.text) or openings.answer(message)
    return openings.answer(message)


def opening_hours_beside(message: VisitorMessage) -> str | None:
    """Return the computed answer where a message asks about opening hours beside something that nothing else answers."""
    return openings.answer(message) if openings.asks(message) or openings.is_day_alone(message) else None
