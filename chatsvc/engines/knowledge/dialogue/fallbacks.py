"""Sentences that stand for an answer the bot does not have. Channels show them, the interface answers 502 `no_answer`."""

from __future__ import annotations

from chatsvc.engines import Turn, language
from chatsvc.engines.knowledge.dialogue import texts
from chatsvc.engines.knowledge.dialogue.wording import LANGUAGES
from chatsvc.language.wordlists import WordFile

_FILE = WordFile("engines/knowledge/dialogue/fallbacks.txt")
_SENTENCES = {name.removeprefix("sentence "): _FILE.text(name) for name, _ in _FILE.entries if name.startswith("sentence ")}


def is_foreign(turn: Turn) -> bool:
    """Return whether neither the dialogue nor the bot's knowledge has the message's language."""
    shown = language.guess(turn.message)
    return shown is not None and shown not in LANGUAGES and shown not in turn.knowledge.languages


def sentence(turn: Turn) -> str:
    """Return the sentence for a turn without an answer, in the visitor's language."""
    spoken = language.among(turn, (*LANGUAGES, *_SENTENCES))
    if spoken not in _SENTENCES:
        return texts.of(turn.bot, spoken)("unknown")
    known = [tag for tag in LANGUAGES if tag in turn.knowledge.languages]
    which = known[0] if len(known) == 1 else "both"
    return _SENTENCES[spoken].format(speaks=_FILE.text(f"speaks {spoken} {which}"))
