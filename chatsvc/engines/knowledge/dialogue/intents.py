"""Recognition of intents. Asks for a person, complains, wants a refund, cancels or moves a booking, asks about it, insults.

The patterns are regular expressions over folded words; each intent may have patterns that rule it out.
"""

from __future__ import annotations

import re
from functools import lru_cache

from chatsvc.engines.knowledge.dialogue.folded_line import line_of
from chatsvc.language.wordlists import WordFile

NAMES = (
    "person",
    "complaint",
    "refund",
    "own",
    "status",
    "answered",
    "cancel",
    "move",
    "insult",
    "lets_go",
    "postpones",
    "enrol",
    "act",
    "speaks en",
    "speaks tr",
    "overview",
    "prices",
)

_FILE = WordFile("engines/knowledge/dialogue/intents.txt")
_RAMBLING = 45  # words
_READ = 600  # characters of a message looked at


def _patterns(name: str) -> re.Pattern[str]:
    return _FILE.compile("|".join(f"(?:{pattern})" for entry, pattern in _FILE.entries if entry == name))


_WANTED = {name: _patterns(name) for name in NAMES}
_RULED_OUT = {name: _patterns(f"not {name}") for name in ("person", "complaint", "refund", "own", "cancel", "move")}
_RULED_OUT["enrol"] = _patterns("enrols not")


@lru_cache(maxsize=256)
def of(message: str) -> frozenset[str]:
    """Return the intents of a message, by name."""
    line = line_of(message[:_READ])
    found = {name for name in NAMES if _has(name, line)}
    if len(line.split()) > _RAMBLING:  # much else is told in passing
        found -= {"complaint", "insult", "status", "lets_go"}
    return frozenset(found)


def _has(name: str, line: str) -> bool:
    ruled_out = _RULED_OUT.get(name)
    return bool(_WANTED[name].search(line)) and not (ruled_out and ruled_out.search(line))
