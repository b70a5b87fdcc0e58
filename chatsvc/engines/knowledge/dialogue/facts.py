"""Typed facts. Kinds of fact a question asks for, and the sentence of an answer that states one.

A kind is money, time, duration, date, place, person, quantity, percent or contact. Both sides are recognised by the patterns of
`facts.txt`; nothing is parsed into a value.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache

from chatsvc.engines.knowledge.search import lexicon
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.engines.knowledge.search.stopwords import is_light
from chatsvc.engines.reading.folding import fold, words
from chatsvc.engines.wordlists import WordFile

_FILE = WordFile("knowledge/dialogue/facts.txt")
_STATED = {name.removeprefix("in "): _FILE.pattern(name) for name, _ in _FILE.entries if name.startswith("in ")}
_ASKED = {name.removeprefix("asks "): _FILE.pattern(name) for name, _ in _FILE.entries if name.startswith("asks ")}
_ASKING_WORDS, _LEANING = _FILE.words("asking_words"), _FILE.words("leaning")
_NO_NAMES = _FILE.words("no_names")
_ABBREVIATIONS = frozenset(_FILE.items("abbreviations"))
_OF_BUSINESS = {name.removeprefix("of_business "): _FILE.text(name) for name, _ in _FILE.entries if name.startswith("of_business ")}
_PRICE = _FILE.pattern("price")
_CAPITAL = re.compile(r"(?<=[a-zçğıöşü,&] )[A-ZÇĞİÖŞÜ][a-zçğıöşü]{2,}")  # a name, unless it is a day or a month
_END = re.compile(r"(?<=[.!?…])\s+(?=[\"“(]?[\dA-ZÇĞİÖŞÜ€$£₺])|\n+")
_LONG, _MANY = 120, 3  # characters or sentences from which an answer is rearranged
_FACT, _NUMBER, _WORD = 1.5, 0.5, 1.0  # weight of a fact asked for, of any number for "how many", and of a word of the question
_CLEARLY = 0.5  # a sentence must be so much better than the first one to come before it


def asked(question: str) -> frozenset[str]:
    """Return the kinds of fact that a question asks for."""
    line = f" {fold(question)} "
    found = frozenset(kind for kind, pattern in _ASKED.items() if pattern.search(line))
    return found - {"quantity"} or found  # "how many days" asks for a duration


@lru_cache(maxsize=4_096)
def stated(sentence: str) -> frozenset[str]:
    """Return the kinds of fact that a sentence states."""
    line = f" {fold(sentence)} "
    found = {kind for kind, pattern in _STATED.items() if pattern.search(line)}
    capitals = map(fold, _CAPITAL.findall(sentence))
    named = any(word not in _NO_NAMES and not _STATED["date"].search(f" {word} ") for word in capitals)
    return frozenset(found | {"person"} if named else found)


def subject(said: Sequence[str]) -> list[str]:
    """Return the folded words of a question that name its subject, without the asking words."""
    return [word for word in said if word not in _ASKING_WORDS and not is_light(word)]


def names_price(question: str) -> bool:
    """Return whether a question names prices as such."""
    return bool(_PRICE.search(f" {fold(question)} "))


def question_of_business(kind: str, language: str) -> str | None:
    """Return the question for the business's own address or contact data. None for other kinds of fact."""
    return _OF_BUSINESS.get(f"{kind} {language}")


def sentences(answer: str) -> list[str]:
    """Split an answer into sentences and lines, each as it stands in the answer."""
    found: list[str] = []
    start = 0
    for end in _END.finditer(answer):
        last = answer[start : end.start()].rpartition(" ")[2].rstrip(".").lower()
        if "\n" in end[0] or last not in _ABBREVIATIONS:
            found.append(answer[start : end.start()])
            start = end.end()
    found.append(answer[start:])
    return [one for one in found if one.strip()]


def states_any(answer: str, kinds: Collection[str]) -> bool:
    """Return whether an answer states a fact of one of the kinds."""
    return any(not stated(sentence).isdisjoint(kinds) for sentence in sentences(answer))


def lead_with(answer: str, question: str) -> str:
    """Return a long answer with the sentence in front that states the fact asked for. A short one as it is.

    A sentence that points to the one before it ("It comes off the bill") takes that one along.
    """
    parts = sentences(answer)
    if "\n" in answer or (len(answer) < _LONG and len(parts) < _MANY):
        return answer
    best = _best(parts, question)
    if best == 0:
        return answer
    first = best
    while first > 0 and (words(parts[first]) or [""])[0] in _LEANING:
        first -= 1
    if first == 0:
        return answer
    return " ".join((*parts[first : best + 1], *parts[:first], *parts[best + 1 :]))


def _best(parts: Sequence[str], question: str) -> int:
    """Return the place of the sentence that fits the question best. 0 unless another one is clearly better than the first."""
    kinds, own = asked(question), subject(words(question))
    scores = [_weight(stated(part) & kinds) + _WORD * _shared(own, words(part)) for part in parts]
    best = max(range(len(parts)), key=lambda at: (scores[at], -at))
    return best if scores[best] >= scores[0] + _CLEARLY else 0


def _weight(kinds: Collection[str]) -> float:
    """Return the weight of the facts asked for that a sentence states."""
    return max((_NUMBER if kind == "quantity" else _FACT for kind in kinds), default=0.0)


def _shared(own: Sequence[str], held: Sequence[str]) -> int:
    """Return the number of words that stand in a sentence, by stem or concept."""
    stems = {stem(word) for word in held}
    concepts = {match.concept for match in lexicon.find(held)}
    return sum(stem(word) in stems or not concepts.isdisjoint(lexicon.of_word(word)) for word in own)
