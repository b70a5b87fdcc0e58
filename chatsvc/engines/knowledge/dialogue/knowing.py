"""Answers from the knowledge and the bot's settings, outside and inside of forms."""

from __future__ import annotations

from dataclasses import replace

from chatsvc.engines import Turn
from chatsvc.engines.knowledge.dialogue import answers, followups, lookup, matter, openings
from chatsvc.engines.knowledge.dialogue.message import VisitorMessage


def answer_of(turn: Turn, text: str) -> str | None:
    """Return the knowledge's answer to a text."""
    finding = lookup.search(turn, text)
    return answers.told(finding.hits[0].entry, text) if finding.decision == "answer" else None


def answer_in_context(turn: Turn, text: str) -> str | None:
    """Return the knowledge's answer to a part of the message, hedged if it is unsure. The conversation before helps."""
    part = replace(matter.without_forms(turn), message=text)
    finding = lookup.find(part)
    known = answers.answer(part, finding) or (answers.unsure(part, finding) if finding.hedged else None)
    return known.text if known else None


def answer_about(turn: Turn, text: str) -> str | None:
    """Return the knowledge's answer to a text whose subject the entry names."""
    finding, naming = lookup.search(turn, text), followups.naming_words(text)
    named = bool(naming) and bool(finding.hits) and followups.holds_words(finding.hits[0].entry, naming)
    return answers.told(finding.hits[0].entry, text) if finding.decision == "answer" and named else None


def opening_hours(message: VisitorMessage) -> str | None:
    """Return the answer to a question about opening hours alone; None for any other.

    What the knowledge states of the day, such as a holiday or a winter break, comes before what is computed.
    """
    if not openings.asks_only(message) and not (openings.is_day_alone(message) and openings.asked_before(message.turn)):
        return None
    if stated := openings.stated(message):
        return stated
    if openings.names_long_time(message):
        return openings.usual_hours(message)
    if openings.names_holiday(message):
        return answer_of(message.turn, message.text) or openings.answer(message)
    return openings.answer(message)


def opening_hours_beside(message: VisitorMessage) -> str | None:
    """Return the computed answer to a question about opening hours beside another one. Nothing else may answer the message."""
    if not openings.asks_of_business(message) and not openings.is_day_alone(message):
        return None
    stated = openings.stated(message)
    return stated or (openings.usual_hours(message) if openings.names_long_time(message) else openings.answer(message))
