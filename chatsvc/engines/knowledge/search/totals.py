"""Sums that are computed from the prices of an entry: a price times a count, and several of them together.

A price counts only where its own words say what it is for: "adults £18", "£26 per person", a row and its column. A question with a
word that no price and no heading explains gets no sum.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from chatsvc.domain.language import primary
from chatsvc.engines.knowledge.search import amounts, facts, lexicon, matching
from chatsvc.engines.knowledge.search.facts import Option
from chatsvc.engines.knowledge.search.matching import QuestionTerm
from chatsvc.engines.knowledge.search.ordinary import is_ordinary
from chatsvc.engines.knowledge.search.stopwords import STOPWORDS
from chatsvc.language.folding import fold, words

if TYPE_CHECKING:
    from chatsvc.engines.knowledge.search.prepared import Prepared

_MOST = 500  # that are counted
_NOUN = 2  # words behind a number that may say what it counts
_FIGURE = re.compile(r"\d[\d.,]*\d|\d")
_NUMBER = re.compile(r"\d+")
_PEOPLE = frozenset({"adult", "children", "people", "person"})  # concepts of the lexicon whose words name the same: "kids", "children"


class _Quantity(NamedTuple):
    number: int
    noun: tuple[str, ...]  # words that say what is counted


class _PricedOption(NamedTuple):
    """An option with all the words that say what it is for: those of its name, its column and its unit."""

    option: Option
    label: str
    held: matching.TextVocabulary

    counts: tuple[_Quantity, ...]  # numbers of things that it is for: "family ticket (2 adults + 2 children)"

    def names(self, word: str) -> bool:
        """Return whether the price is for something."""
        return _is_named(matching.term_of(word), self.held)

    @property
    def is_plain(self) -> bool:
        """True if the price is one amount, and no range or choice."""
        return len(_FIGURE.findall(self.option.amount)) <= 1

    def is_for(self, counted: Sequence[_Quantity]) -> bool:
        """Return whether the price is for just these numbers of things."""
        return bool(self.counts) and all(any(_same(one, other) for other in counted) for one in self.counts)


def total(question: str, before: str, language: str, asked: Sequence[QuestionTerm], prepared: Prepared) -> str | None:
    """Return the sum that a question asks for, with its parts. `before` is the message before, which may have told the counts."""
    sums = _is_sum(question)
    counted = _quantities(question, language) or (_quantities(before, language) if sums else [])
    if not (sums or any(one.number > 1 for one in counted)):
        return None
    prices = [_priced(option, language) for fact in prepared.facts for option in facts.options(fact, "money")]
    if any(price.is_for(counted) or _is_sum(price.label) for price in prices):
        return None  # the owner's own price for all of them
    named = [term for term in asked if not term.is_value]
    parts: list[tuple[int, _PricedOption]] = []
    for one in counted:
        found = _price_of(one, prices, named)
        if found is None:
            return None
        same = next((at for at, (_, price) in enumerate(parts) if price is found), None)
        if same is None:
            parts.append((one.number, found))
        else:  # "2 people, 3 nights" at a price for each of both
            parts[same] = (parts[same][0] * one.number, found)
    nouns = {word for one in counted for word in one.noun}
    further = _further([term for term in named if term.text not in nouns], [price for _, price in parts], prices, prepared)
    if further is None:
        return None
    parts.extend((1, price) for price in further)
    if not parts or (len(parts) == 1 and parts[0][0] == 1) or any(price.counts or not price.is_plain for _, price in parts):
        return None
    return _said(parts, prepared)


def _further(
    named: Sequence[QuestionTerm], taken: Sequence[_PricedOption], prices: Sequence[_PricedOption], prepared: Prepared
) -> list[_PricedOption] | None:
    """Return the prices that further words of a question name: "and a dog". None if a word is explained by nothing."""
    found: list[_PricedOption] = []
    for term in named:
        if any(price.names(term.text) for price in (*taken, *found)) or _is_explained(term.text, prepared):
            continue
        others = [price for price in prices if price.names(term.text)]
        one = _unique(others, [term]) if term.names else None
        if one is not None:
            found.append(one)
        elif others or (term.names and not is_ordinary(term.text, "price")):
            return None
    return found


def _quantities(text: str, language: str) -> list[_Quantity]:
    """Return what a text counts: "3 adults and 2 kids", "2 nights"."""
    found = []
    values = [value for value in amounts.read(text).values if value.number and _is_number(text, value, language)]
    for at, value in enumerate(values):
        stop = values[at + 1].start if at + 1 < len(values) else len(text)
        if value.kind == "count" and value.number == int(value.number or 0) and 0 < value.number <= _MOST:
            behind = takewhile(lambda word: word not in STOPWORDS, words(text[value.end : stop]))
            found.append(_Quantity(int(value.number), tuple(behind)[:_NOUN]))
        elif value.kind == "duration" and (count := _NUMBER.match(text, value.start)):
            found.append(_Quantity(int(count[0]), tuple(words(text[count.end() : value.end]))))
    return [one for one in found if one.noun]


def _is_number(text: str, value: amounts.Value, language: str) -> bool:
    """Return whether a value is written in digits, or as a number of the language: "on" is ten in Turkish. "A3" is none."""
    if text[value.start].isdigit():
        return not text[value.start - 1 : value.start].isalpha()
    file = amounts.FILES.get(language) or amounts.FILES["en"]
    said = fold(text[value.start : value.end]).split()[:1]
    return any(name.startswith("number ") and said and said[0] in file.items(name) for name, _ in file.entries)


def _priced(option: Option, language: str) -> _PricedOption:
    label = " ".join(filter(None, (option.name, option.column, option.unit)))
    return _PricedOption(option, label, matching.vocabulary((label,), lexicon.shared()), tuple(_quantities(label, language)))


def _same(one: _Quantity, other: _Quantity) -> bool:
    return one.number == other.number and _means(one.noun[0], other.noun[0])


def _price_of(one: _Quantity, prices: Sequence[_PricedOption], named: Sequence[QuestionTerm]) -> _PricedOption | None:
    """Return the only price for each of what is counted. None where a number of them has a price of its own: "100 cards £19"."""
    noun = one.noun[0]
    if any(len(price.counts) == 1 and _means(noun, price.counts[0].noun[0]) for price in prices):
        return None
    return _unique([price for price in prices if price.names(noun) and not _is_of_other(price, noun)], named)


def _unique(prices: Sequence[_PricedOption], named: Sequence[QuestionTerm]) -> _PricedOption | None:
    """Return the price that has most of the words of a question, and the fewest words besides. None where two have as many."""
    ranked = sorted(prices, key=lambda price: _rank(price, named), reverse=True)
    if len(ranked) > 1 and _rank(ranked[0], named) == _rank(ranked[1], named) and ranked[0].option.number != ranked[1].option.number:
        return None
    return ranked[0] if ranked else None


def _rank(price: _PricedOption, named: Sequence[QuestionTerm]) -> tuple[float, int]:
    return sum(_is_named(term, price.held) for term in named), -len(words(price.option.name))


def _is_of_other(price: _PricedOption, noun: str) -> bool:
    """Return whether a price is for a number of things, or for each of others: "2 adults + 2 children", "per hour"."""
    if any(_means(noun, one.noun[0]) for one in price.counts):
        return True
    said = words(price.label)
    behind = [said[at + 1] for at, mark in enumerate(amounts.LABELS.marked(said)) if "per" in mark and at + 1 < len(said)]
    return bool(behind) and not any(_means(noun, word) for word in behind)


def _is_named(term: QuestionTerm, held: matching.TextVocabulary) -> bool:
    """Return whether a text has a word itself. Of words for people, one that means the same will do."""
    return matching.strength(term, held) >= matching.SAME_WORD or not _PEOPLE.isdisjoint(term.concepts & held.concepts)


def _means(word: str, other: str) -> bool:
    return _is_named(matching.term_of(word), matching.vocabulary((other,), lexicon.shared()))


def _is_explained(word: str, prepared: Prepared) -> bool:
    return any(matching.strength(matching.term_of(word), held) >= matching.EXPLAINED for held in (prepared.title, *prepared.heads))


def _is_sum(text: str) -> bool:
    """Return whether a text asks for, or states, a price for several things together."""
    return any("total" in mark for mark in amounts.LABELS.marked(words(text)))


def _said(parts: Sequence[tuple[int, _PricedOption]], prepared: Prepared) -> str:
    whole = sum(count * price.option.number for count, price in parts)
    language = primary(prepared.entry.language)
    file = amounts.FILES.get(language) or amounts.FILES["en"]
    told = []
    for count, price in parts:
        column = f"({price.option.column})" if price.option.column else ""
        told.append(" ".join(filter(None, (f"{count} ×" if count > 1 else "", price.option.name, column, price.option.amount))))
    return file.text("say total").format(parts=" + ".join(told), total=_like(parts[0][1].option.amount, whole, language))


def _like(amount: str, number: float, language: str) -> str:
    """Write a number as an amount is written: with its currency, and the signs of its language."""
    plain = f"{number:,.0f}" if number == int(number) else f"{number:,.2f}"
    if language == "tr":
        plain = plain.translate(str.maketrans(",.", ".,"))
    return _FIGURE.sub(plain, amount, count=1)
