"""Messages that open or resume a form without an explicit wish.

A bare day after the bot spoke of viewings or appointments, and "ok let's do it then", also after a form that was given up.
"""

from __future__ import annotations

import re
from dataclasses import replace

from chatsvc.engines import Turn
from chatsvc.engines.knowledge.dialogue import hearing, texts
from chatsvc.engines.knowledge.dialogue.folded_line import line_of
from chatsvc.engines.knowledge.dialogue.message import VisitorMessage
from chatsvc.language.wordlists import WordFile

_FILE = WordFile("engines/knowledge/dialogue/taking_up.txt")
_INVITES, _GOES_AHEAD, _RETURNS = (
    _FILE.compile("|".join(f"(?:{pattern})" for name, pattern in _FILE.entries if name == kind))
    for kind in ("invites", "goes_ahead", "returns")
)
_LOOSE = _FILE.pattern("loose")
_IF_POSSIBLE = re.compile(r"\bif (?:poss\w*|ok|okay|free|available)\b", re.IGNORECASE)


def goes_ahead(message: VisitorMessage) -> bool:
    """Return whether a message only says that the matter spoken of should be done."""
    return "?" not in message.text and bool(_GOES_AHEAD.search(message.line))


def returns(message: VisitorMessage) -> bool:
    """Return whether a message takes up what was given up: "ok let's do it then", "on second thoughts"."""
    return goes_ahead(message) or bool(_RETURNS.search(message.line))


def names_a_day(message: VisitorMessage) -> bool:
    """Return whether a message names a day or an hour and little else."""
    heard = message.heard
    named = heard.day is not None or heard.clock is not None or bool(_LOOSE.search(message.line))
    return named and not (
        hearing.asks(message.text.replace("?", " ")) or replace(heard, left=_IF_POSSIBLE.sub(" ", heard.left)).substance(2)
    )


def is_invited(turn: Turn) -> bool:
    """Return whether the bot's last reply invites to name a day."""
    said = next((past.content for past in reversed(turn.history) if past.role != "user"), "")
    return bool(said) and not texts.is_of_form(turn.bot, said) and bool(_INVITES.search(line_of(said)))


def has_matter(turn: Turn) -> bool:
    """Return whether the conversation has a matter that no request has closed yet."""
    said = next((past.content for past in reversed(turn.history) if past.role != "user"), "")
    return bool(said) and not texts.is_closing(turn.bot, said)
