"""Typed facts. Kinds of fact a question asks for, and the sentence of an answer that states one.

A kind is money, time, duration, date, place, person, quantity, percent or contact. Both sides are recognised by the patterns of
`facts.txt`; nothing is parsed into a value.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

from chatsvc.engines.knowledge.search import lexicon
from chatsvc.engines.knowledge.search.sentence_splitting import SentenceSplitter
from chatsvc.engines.knowledge.search.stemming import stem
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS, is_light
from chatsvc.language.folding import fold, words
from chatsvc.language.name_words import AMBIGUOUS_NAMES, GIVEN_NAMES
from chatsvc.language.wordlists import WordFile

_FILE = WordFile("engines/knowledge/dialogue/facts.txt")
_STATED = {name.removeprefix("in "): _FILE.pattern(name) for name, _ in _FILE.entries if name.startswith("in ")}
_ASKED = {name.removeprefix("asks "): _FILE.pattern(name) for name, _ in _FILE.entries if name.startswith("asks ")}
_ASKING_WORDS, _LEANING = _FILE.words("asking_words"), _FILE.words("leaning")
_PEOPLE = _FILE.words("people")
_NO_NAMES = _FILE.words("no_names")
_SENTENCES = SentenceSplitter(
    frozenset(_FILE.items("abbreviations")), frozenset(_FILE.items("abbreviations_before_numbers")), _FILE.words("after_ordinals")
)
_OF_BUSINESS = {name.removeprefix("of_business "): _FILE.text(name) for name, _ in _FILE.entries if name.startswith("of_business ")}
_TITLED = {name.removeprefix("titled "): _FILE.pattern(name) for name, _ in _FILE.entries if name.startswith("titled ")}
_PRICE, _AMOUNT = _FILE.pattern("price"), _FILE.pattern("amount")
_HOW_TO_PAY = _FILE.pattern("how_to_pay")
CHILD = _FILE.text("children")
_AGE, _GROWN_UP = _FILE.compile(r"\b(?:${age})\b"), 18
_ABSTRACT = {
    "money",
    "time",
    "duration",
    "frequency",
    "quantity",
    "percent",
    "age",
    "notice",
    "contact",
    "date",
    "place",
}  # a word that asks for one of these is no subject
_OTHER_NUMBERS = ("money", "time", "duration", "frequency", "date", "percent")
_CAPITAL = re.compile(r"(?<=[a-zçğıöşü,&] )[A-ZÇĞİÖŞÜ][a-zçğıöşü]{2,}")  # a name, unless it is a day or a month
_LONG, _MANY = 120, 3  # characters or sentences from which an answer is rearranged
_WORTH_NARROWING = 90  # characters of an answer of which one sentence is enough
_FACT, _WORD, _LIGHT_WORD = 1.5, 1.0, 0.5  # weight of a fact asked for, of a word that names the subject, and of another word
_BEGINNING, _ENDING = 4, 6  # least letters of a word that may begin another one, and most of the ending then
_TITLE = 4  # words of a title that is a topic
_CLEARLY = 0.5  # a sentence must be so much better than the first one to come before it


@lru_cache(maxsize=256)
def asked(question: str) -> frozenset[str]:
    """Return the kinds of fact that a question asks for."""
    line = f" {fold(question)} "
    found = frozenset(kind for kind, pattern in _ASKED.items() if pattern.search(line))
    if "notice" in found:  # "how many days ahead" asks for no duration
        return frozenset({"notice"})
    if {"time", "date"} <= found:  # "when" may be answered by "48 hours before"
        found |= {"notice"}
    if "money" in found and _HOW_TO_PAY.search(line):  # asks for a way, not for an amount
        found -= {"money"}
    if "age" in found and (len(found) > 1 or not (is_of_minor(question) or _names_only_people(line))):
        found -= {"age"}  # "çocuk fiyatı" asks for a price
    return found - {"quantity"} or found  # "how many days" asks for a duration


def _names_only_people(line: str) -> bool:
    """Return whether a question has no subject besides children."""
    return not subject(words(_ASKED["age"].sub(" ", line)))


def is_person(word: str) -> bool:
    """Return whether a folded word names a child or another person of the visitor's."""
    return word in _PEOPLE or bool(_ASKED["age"].search(f" {word} "))


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
    if "quantity" in found and not _counts(line):
        found.discard("quantity")
    capitals = map(fold, _CAPITAL.findall(sentence))
    named = any(_is_name(word) for word in capitals)
    first = (words(sentence) or [""])[0]
    named = named or (first in GIVEN_NAMES and first not in AMBIGUOUS_NAMES and sentence[:1].isupper())
    return frozenset(found | {"person"} if named else found)


def _is_name(word: str) -> bool:
    """Return whether a folded word with a capital may name a person. "Martin" begins like a Turkish March."""
    given = word in GIVEN_NAMES and word not in AMBIGUOUS_NAMES
    return word not in _NO_NAMES and (given or not _STATED["date"].search(f" {word} "))


def _counts(line: str) -> bool:
    """Return whether a folded sentence has a number besides prices, times, durations and dates."""
    for kind in _OTHER_NUMBERS:
        line = _STATED[kind].sub(" ", line)
    return bool(_STATED["quantity"].search(line))


def subject(said: Sequence[str]) -> list[str]:
    """Return the folded words of a question that name its subject, without the asking words."""
    return [word for word in said if word not in _ASKING_WORDS and (word in _PEOPLE or not is_light(word))]


def names_price(question: str) -> bool:
    """Return whether a question names prices as such."""
    return bool(_PRICE.search(f" {fold(question)} "))


def names_amount(question: str) -> bool:
    """Return whether a question asks for an amount of money. "Is it included?" does not."""
    return bool(_AMOUNT.search(f" {fold(question)} "))


def question_of_business(kind: str, language: str) -> str | None:
    """Return the question for the business's own address or contact data. None for other kinds of fact."""
    return _OF_BUSINESS.get(f"{kind} {language}")


def is_about_business(title: str, answer: str, kind: str) -> bool:
    """Return whether a short title names the address or contact data that the answer states."""
    said = words(title)
    if len(said) > _TITLE or not (_ASKED[kind].search(f" {fold(title)} ") or _TITLED[kind].search(f" {fold(title)} ")):
        return False
    return states_any(answer, {kind})


def sentences(answer: str) -> list[str]:
    """Split an answer into sentences and lines, each as it stands in the answer."""
    return _SENTENCES.split(answer)


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
    named = [_shared(subject(words(question)), words(part)) for part in parts]
    at = scores.index(best)
    if max(named) > named[at]:  # the fact is stated of something else
        return lead_with(answer, question)
    first, last = _passage(parts, at)
    kept = [part for place, part in enumerate(parts) if not first <= place < last and (named[place] or scores[place] >= _FACT)]
    return " ".join((*parts[first:last], *kept))


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
    if scores[best] >= scores[0] + _CLEARLY:
        return best
    kinds = asked(question)
    return 0 if any(stated(part) & kinds for part in parts) else _named(subject(words(question)), parts)


def _scores(parts: Sequence[str], question: str) -> list[float]:
    """Return how well each sentence fits the question."""
    kinds, said = asked(question), words(question)
    own = subject(said)
    beside = [word for word in said if word not in own and word not in STOPWORDS and not word.isdigit()]
    return [
        (_FACT if stated(part) & kinds else 0.0) + _WORD * _shared(own, held) + _LIGHT_WORD * _shared(beside, held)
        for part, held in ((part, words(part)) for part in parts)
    ]


def _shared(own: Sequence[str], held: Sequence[str]) -> int:
    """Return the number of words in a sentence, in any form or by a synonym."""
    vocabulary = vocabulary_of(tuple(held))
    return sum(meant(word, vocabulary) for word in own)


def _named(own: Sequence[str], parts: Sequence[str]) -> int:
    """Return the place of the first sentence that has a word itself. 0 if the first one has, or none."""
    having = (at for at, part in enumerate(parts) if any(has(word, vocabulary_of(tuple(words(part)))) for word in own))
    return next(having, 0)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Words of a text, with their stems and concepts."""

    words: frozenset[str]
    stems: frozenset[str]
    concepts: frozenset[str]


@lru_cache(maxsize=4_096)
def vocabulary_of(held: tuple[str, ...]) -> Vocabulary:
    """Return the vocabulary of folded words."""
    return Vocabulary(frozenset(held), frozenset(map(stem, held)), frozenset(match.concept for match in lexicon.find(held)))


def meant(word: str, vocabulary: Vocabulary) -> bool:
    """Return whether a vocabulary has a word in any form, or a synonym."""
    return has(word, vocabulary) or not vocabulary.concepts.isdisjoint(lexicon.of_word(word))


def has(word: str, vocabulary: Vocabulary) -> bool:
    """Return whether a vocabulary has a word or another form of it. A beginning counts, which stemming leaves: "usta", "ustamız"."""
    if stem(word) in vocabulary.stems:
        return True
    return len(word) >= _BEGINNING and any(one.startswith(word) and len(one) <= len(word) + _ENDING for one in vocabulary.words)
