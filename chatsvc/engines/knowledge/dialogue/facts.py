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
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS, is_light
from chatsvc.engines.reading.folding import fold, words
from chatsvc.engines.reading.name_words import AMBIGUOUS_NAMES, GIVEN_NAMES
from chatsvc.engines.wordlists import WordFile

_FILE = WordFile("knowledge/dialogue/facts.txt")
_STATED = {name.removeprefix("in "): _FILE.pattern(name) for name, _ in _FILE.entries if name.startswith("in ")}
_ASKED = {name.removeprefix("asks "): _FILE.pattern(name) for name, _ in _FILE.entries if name.startswith("asks ")}
_ASKING_WORDS, _LEANING = _FILE.words("asking_words"), _FILE.words("leaning")
_PEOPLE = _FILE.words("people")
_NO_NAMES = _FILE.words("no_names")
_ABBREVIATIONS, _BEFORE_NUMBERS = frozenset(_FILE.items("abbreviations")), frozenset(_FILE.items("abbreviations_before_numbers"))
_AFTER_ORDINALS = _FILE.words("after_ordinals")
_OF_BUSINESS = {name.removeprefix("of_business "): _FILE.text(name) for name, _ in _FILE.entries if name.startswith("of_business ")}
_PRICE = _FILE.pattern("price")
CHILD = _FILE.text("children")
_AGE, _GROWN_UP = _FILE.compile(r"\b(?:${age})\b"), 18
_ABSTRACT = {"money", "time", "duration", "frequency", "quantity", "percent", "age"}  # a word that asks for one of these is no subject
_OTHER_NUMBERS = ("money", "time", "duration", "frequency", "date", "percent")
_CAPITAL = re.compile(r"(?<=[a-zçğıöşü,&] )[A-ZÇĞİÖŞÜ][a-zçğıöşü]{2,}")  # a name, unless it is a day or a month
_END = re.compile(r"(?<=[.!?…])\s+(?=[\"“(]?[\dA-ZÇĞİÖŞÜ€$£₺])|\n+")
_LONG, _MANY = 120, 3  # characters or sentences from which an answer is rearranged
_WORTH_NARROWING = 90  # characters of an answer of which one sentence is enough
_FACT, _NUMBER = 1.5, 0.5  # weight of a fact asked for, and of a price or a time where a number is asked for
_WORD, _LIGHT_WORD = 1.0, 0.5  # weight of a word of the question that names its subject, and of another one
_NEXT = 20  # characters in which the word after a full stop is looked for
_CLEARLY = 0.5  # a sentence must be so much better than the first one to come before it


def asked(question: str) -> frozenset[str]:
    """Return the kinds of fact that a question asks for."""
    line = f" {fold(question)} "
    found = frozenset(kind for kind, pattern in _ASKED.items() if pattern.search(line))
    found = found - {"age"} or found  # "çocuk fiyatı" asks for a price
    return found - {"quantity"} or found  # "how many days" asks for a duration


def is_of_minor(question: str) -> bool:
    """Return whether a question names the age of a child."""
    match = _AGE.search(f" {fold(question)} ")
    return match is not None and int(match["is"] or match["old"]) < _GROWN_UP


def asking_words(question: str) -> frozenset[str]:
    """Return the folded words by which a question asks for a fact. Example: "how", "warm"."""
    line = f" {fold(question)} "
    return frozenset(word for kind in asked(question) & _ABSTRACT if (match := _ASKED[kind].search(line)) for word in words(match[0]))


@lru_cache(maxsize=4_096)
def stated(sentence: str) -> frozenset[str]:
    """Return the kinds of fact that a sentence states."""
    line = f" {fold(sentence)} "
    found = {kind for kind, pattern in _STATED.items() if pattern.search(line)}
    capitals = map(fold, _CAPITAL.findall(sentence))
    named = any(word not in _NO_NAMES and not _STATED["date"].search(f" {word} ") for word in capitals)
    first = (words(sentence) or [""])[0]
    named = named or (first in GIVEN_NAMES and first not in AMBIGUOUS_NAMES and sentence[:1].isupper())
    return frozenset(found | {"person"} if named else found)


@lru_cache(maxsize=1_024)
def _counts(sentence: str) -> bool:
    """Return whether a sentence has a number that is no price, time, duration or date."""
    line = f" {fold(sentence)} "
    for kind in _OTHER_NUMBERS:
        line = _STATED[kind].sub(" ", line)
    return bool(_STATED["quantity"].search(line))


def subject(said: Sequence[str]) -> list[str]:
    """Return the folded words of a question that name its subject, without the asking words."""
    return [word for word in said if word not in _ASKING_WORDS and (word in _PEOPLE or not is_light(word))]


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
        if "\n" in end[0] or not _is_abbreviated(answer[start : end.start()], answer[end.end() :]):
            found.append(answer[start : end.start()])
            start = end.end()
    found.append(answer[start:])
    return [one for one in found if one.strip()]


def _is_abbreviated(before: str, after: str) -> bool:
    """Return whether the full stop at the end of `before` belongs to an abbreviation, an initial or an ordinal."""
    last = fold(before.rpartition(" ")[2].rpartition("\n")[2].lstrip("(/-"))
    if not last.endswith(".") or last.endswith(".."):
        return False
    last = last[:-1]
    if last.isdigit():
        return (words(after[:_NEXT]) or [""])[0] in _AFTER_ORDINALS
    if after[:1].isdigit():
        return last in _BEFORE_NUMBERS or last in _ABBREVIATIONS
    return last in _ABBREVIATIONS or (len(last) == 1 and last.isalpha() and last != "i")


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
    first, last = _passage(parts, _best(parts, question))
    if first == 0:
        return answer
    return " ".join((*parts[first:last], *parts[:first], *parts[last:]))


def narrowed(answer: str, question: str) -> str:
    """Return only the sentence of an answer that states the fact asked for. The whole answer if no sentence is clearly the one."""
    parts = sentences(answer)
    scores = _scores(parts, question)
    if len(parts) < 2 or len(answer) < _WORTH_NARROWING:
        return lead_with(answer, question)
    second, best = sorted(scores)[-2:]
    if best < _FACT or best < second + _CLEARLY:
        return lead_with(answer, question)
    first, last = _passage(parts, scores.index(best))
    return " ".join(parts[first:last])


def _passage(parts: Sequence[str], best: int) -> tuple[int, int]:
    """Return the range of a sentence and of those before that it points to."""
    first = best
    while first > 0 and (words(parts[first]) or [""])[0] in _LEANING:
        first -= 1
    return first, best + 1


def _best(parts: Sequence[str], question: str) -> int:
    """Return the place of the sentence that fits the question best. 0 unless another one is clearly better than the first."""
    scores = _scores(parts, question)
    best = max(range(len(parts)), key=lambda at: (scores[at], -at))
    return best if scores[best] >= scores[0] + _CLEARLY else 0


def _scores(parts: Sequence[str], question: str) -> list[float]:
    """Return how well each sentence fits the question."""
    kinds, said = asked(question), words(question)
    own = subject(said)
    beside = [word for word in said if word not in own and word not in STOPWORDS and not word.isdigit()]
    return [
        _weight(stated(part) & kinds, part) + _WORD * _shared(own, held) + _LIGHT_WORD * _shared(beside, held)
        for part, held in ((part, words(part)) for part in parts)
    ]


def _weight(kinds: Collection[str], sentence: str) -> float:
    """Return the weight of the facts asked for that a sentence states."""
    return max((_NUMBER if kind == "quantity" and not _counts(sentence) else _FACT for kind in kinds), default=0.0)


def _shared(own: Sequence[str], held: Sequence[str]) -> int:
    """Return the number of words that stand in a sentence, by stem or concept."""
    stems = {stem(word) for word in held}
    concepts = {match.concept for match in lexicon.find(held)}
    return sum(stem(word) in stems or not concepts.isdisjoint(lexicon.of_word(word)) for word in own)
