"""The language of a turn, decided in one place: the caller's, else what the visitor's words show, else the bot's."""

from __future__ import annotations

from collections.abc import Container

from chatsvc.domain.language import primary
from chatsvc.engines import Turn
from chatsvc.engines.reading.language_detection import guess, load

__all__ = ["among", "guess", "load", "of", "shown"]

_LOOKED_BACK = 6  # of the visitor's messages


def of(turn: Turn) -> str:
    """The language to answer in, as its primary tag (`en` of `en-GB`)."""
    return primary(turn.language or shown(turn) or turn.bot.language)


def shown(turn: Turn) -> str | None:
    """What the visitor writes in: this message, else the last one before it that shows a language clearly; None where none does.

    So "ok", a time or a number keeps the language that the conversation is in.
    """
    return guess(turn.message) or _before(turn)


def _before(turn: Turn) -> str | None:
    """What the visitor's messages before this one were written in, the last that shows it; None where none does."""
    spoken = [past.content for past in turn.history if past.role == "user"][-_LOOKED_BACK:]
    return next((found for text in reversed(spoken) if (found := guess(text))), None)


def among(turn: Turn, available: Container[str], heard: str | None = None) -> str:
    """The language in which to say something that exists in the `available` ones only; English where none of the turn's is there.

    `heard` is the language in which the message was understood, where that is known better than letters and words tell.
    """
    wanted = (primary(turn.language or ""), heard or shown(turn), primary(turn.bot.language))
    return next((tag for tag in wanted if tag and tag in available), "en")
