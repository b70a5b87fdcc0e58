"""Long messages: the clause that asks, found among the sentences that tell a story."""

from __future__ import annotations

import re
from itertools import islice

from chatsvc.engines.knowledge.dialogue import hearing
from chatsvc.language.folding import words

LONG = 16  # words from which a message may be a story
_READ = 900  # characters at the end of a message; a question tends to stand there
_SENTENCES = re.compile(r"(?<=[?!.;\n])\s+|\n+")
_CLAUSES = re.compile(r"(?<![,;:()])[,;:()]++\s+|(?<!\s)\s++-++\s+|(?<!\s)\s++(?=(?:but|so|ama|acaba|yani)\s)", re.IGNORECASE)
_FEWEST = 3  # words of a clause that asks
_MOST = 6  # texts to search for


def questions(message: str) -> list[str]:
    """Return the parts of a long message that may be its question. The last clause that asks comes first.

    Each clause comes alone, then with its sentence, then with the sentence before, to which its pronouns may refer.
    """
    sentences = [one for one in _SENTENCES.split(message[-_READ:]) if words(one)]
    return list(dict.fromkeys(islice(_likely(sentences), _MOST)))


def ends_asking(message: str) -> bool:
    """Return whether a message is long and its last sentence asks something."""
    sentences = [one for one in _SENTENCES.split(message[-_READ:]) if words(one)]
    return len(words(message)) >= LONG and bool(sentences) and hearing.asks(_CLAUSES.split(sentences[-1])[-1])


def _likely(sentences: list[str]) -> list[str]:
    found: list[str] = []
    for at in range(len(sentences) - 1, -1, -1):
        clauses = [one for one in _CLAUSES.split(sentences[at]) if words(one)]
        asking = [place for place, one in enumerate(clauses) if hearing.asks(one) or (place == len(clauses) - 1 and one.endswith("?"))]
        for place in reversed(asking):
            if len(words(clauses[place])) >= _FEWEST:
                found.append(clauses[place])
            if place:
                found.append(f"{clauses[place - 1]} {clauses[place]}")
        if asking:
            before = [sentences[at - 1]] if at else []
            found += [" ".join((*before, sentences[at]))]
    return found
