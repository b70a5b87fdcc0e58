"""Ordinary words of questions: those that visitors of any trade use in a kind of question, and that name no thing of their own.

"who do I talk to" and "who does it" ask the same of what was spoken of before, "who does microblading" does not. The training sentences
tell which words come back in a kind of question, the lexicon which of them name a thing.
"""

from collections import Counter
from collections.abc import Mapping
from functools import cache

from chatsvc.engines.knowledge.search import amounts
from chatsvc.engines.knowledge.search.lexicon import shared
from chatsvc.language import sentences
from chatsvc.language.folding import words
from chatsvc.language.name_words import GIVEN_NAMES

_LETTERS = 5  # of a word without its suffixes
_COURTEOUS = 0.007  # share of the greetings, or of the thanks, with a word of courtesy
_OFTEN, _MEANT_OFTEN = 0.02, 0.06  # share of the sentences of a kind with a word, or a concept, that only belongs to the asking
_ANYWHERE = 0.0005  # share of all sentences with a word that means no thing
_ALL = "."  # counts the sentences
_COURTESIES = ("greet", "thank")
_OF_FACTS = ("price", "duration", "when", "where", "who", "how_many", "how", "open")  # kinds that ask for a fact; others ask for a thing


def is_ordinary(word: str, kind: str) -> bool:
    """Return whether a folded word only belongs to the asking of a kind of question, or to a greeting."""
    counts, beginning = _counts(), word[:_LETTERS]
    if any(_share(counts[act], beginning) >= _COURTEOUS for act in _COURTESIES):
        return True
    if kind == "contact":
        return "asked contact" in amounts.LABELS.of_word(word)
    if is_filler(word):
        return True
    concepts = shared().of_word(word)
    if kind not in _OF_FACTS:
        return False
    if _share(counts[kind], beginning) >= _OFTEN:
        return True
    return any(_share(counts[kind], f"({concept})") >= _MEANT_OFTEN for concept in concepts)


def is_filler(word: str) -> bool:
    """Return whether a folded word stands in sentences about anything, and means no thing."""
    return _share(_counts()[""], word[:_LETTERS]) >= _ANYWHERE and word not in GIVEN_NAMES and not shared().of_word(word)


def _share(counts: Mapping[str, int], counted: str) -> float:
    return counts.get(counted, 0) / counts[_ALL]


@cache
def _counts() -> Mapping[str, Mapping[str, int]]:
    """Count the training sentences of each kind of question, and of courtesies, by beginnings of words and by concepts.

    "" counts all questions.
    """
    found: dict[str, Counter[str]] = {"": Counter()}
    for path in sorted(sentences.FOLDER.glob("*/sentences")):
        for one in sentences.read(path.parent.name):
            said = words(one.text)
            held = {_ALL, *(word[:_LETTERS] for word in said)}
            found[""].update(held)
            if one.act not in ("ask", "person", *_COURTESIES):
                continue
            kind = one.kind or ("who" if one.act == "person" else one.act)  # who is asked for is asked about in the same words
            found.setdefault(kind, Counter()).update(held)
            if one.act not in _COURTESIES:
                found[kind].update({f"({concept})" for word in said for concept in shared().of_word(word)})
    return found


def load() -> None:
    """Count the words now rather than with the first question."""
    _counts()
