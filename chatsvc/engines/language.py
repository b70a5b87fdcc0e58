"""Language of a turn: the caller's, else the visitor's as detected, else the bot's."""

from collections.abc import Container, Sequence

from chatsvc.domain.folding import primary
from chatsvc.domain.models import HistoryMessage
from chatsvc.engines import Turn
from chatsvc.language.language_detection import guess, load

__all__ = ["among", "detected", "guess", "load", "of", "spoken"]

_LOOKED_BACK = 6  # earlier messages of the visitor


def of(turn: Turn) -> str:
    """Return the language to answer in, as its primary tag (`en` of `en-GB`)."""
    return primary(turn.language or detected(turn) or turn.bot.language)


def detected(turn: Turn) -> str | None:
    """Return the detected language of this message, else of the last earlier one. None without any.

    So "ok", a time or a number keeps the language of the conversation.
    """
    return spoken(turn.message, turn.history)


def spoken(message: str, history: Sequence[HistoryMessage]) -> str | None:
    """Return the detected language of a message. If it shows none, that of the visitor's last earlier one that does."""
    earlier = [past.content for past in history if past.role == "user"][-_LOOKED_BACK:]
    return next((language for text in (message, *reversed(earlier)) if (language := guess(text))), None)


def among(turn: Turn, available: Container[str], heard: str | None = None) -> str:
    """Choose a language for a sentence that exists only in the `available` ones. English if none of the turn's is among them.

    `heard` is the language in which the message was understood, if that is known better than by detection.
    """
    wanted = (primary(turn.language or ""), heard or detected(turn), primary(turn.bot.language))
    return next((tag for tag in wanted if tag and tag in available), "en")
