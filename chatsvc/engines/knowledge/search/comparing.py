"""Answers that are computed over rows, items or parts of a sentence: the cheapest, the longest, from what age, two compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from chatsvc.domain.language import primary
from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search import amounts, facts, lexicon, matching
from chatsvc.engines.knowledge.search.facts import Option
from chatsvc.engines.knowledge.search.matching import QuestionTerm
from chatsvc.language.folding import words

if TYPE_CHECKING:
    from chatsvc.engines.knowledge.search.prepared import Prepared

_FEWEST = 2  # options that are compared
_DIRECTIONS = ("least ", "most ")


def compare(question: str, asked: Sequence[QuestionTerm], judged: Sequence[Prepared]) -> tuple[Entry, str] | None:
    """Return an entry and what it says is the least or the most. None for another question."""
    said = words(question)
    marks = set().union(*amounts.LABELS.marked(said)) if said else set()
    wanted = next((mark for mark in sorted(marks) if mark.startswith(_DIRECTIONS)), None)
    if wanted is None:
        return None
    direction, _, kind = wanted.partition(" ")
    for prepared in judged:
        options = _options(prepared, asked, kind)
        if len(options) < _FEWEST:
            continue
        own = [term for term in asked if matching.strength(term, prepared.title) < matching.EXPLAINED] or asked
        named = list(dict.fromkeys(option for term in own if (option := _named_by(term, options)) is not None))
        if "two" in marks:
            if len(named) != _FEWEST:
                continue
            options = named
        best = min(options, key=lambda one: one.number if direction == "least" else -one.number)
        file = amounts.FILES.get(primary(prepared.entry.language)) or amounts.FILES["en"]
        if "two" in marks and len(options) == _FEWEST:
            other = next(option for option in options if option is not best)
            others = {"other": other.name, "other_amount": _amount(other)}
            text = file.text(f"say two {wanted}").format(name=best.name, amount=_amount(best), **others)
        else:
            text = file.text(f"say {wanted}").format(name=best.name, amount=_amount(best))
        return prepared.entry, text
    return None


def _options(prepared: Prepared, asked: Sequence[QuestionTerm], kind: str) -> list[Option]:
    """Return the options of the sentence, list or column that has the most of them."""
    blocks: dict[tuple[int, int], list[Option]] = {}
    for at, fact in enumerate(prepared.facts):
        blocks.setdefault((fact.block, -1 if fact.is_item else at), []).extend(facts.options(fact, kind))
    if not blocks:
        return []
    options = max(blocks.values(), key=len)
    columns = list(dict.fromkeys(option.column for option in options))
    if len(columns) > 1:
        column = max(columns, key=lambda one: (_named(one, asked), -columns.index(one)))
        options = [option for option in options if option.column == column]
    return options


def _named(text: str, asked: Sequence[QuestionTerm]) -> float:
    held = matching.vocabulary((text,), lexicon.shared())
    return sum(matching.strength(term, held) for term in asked)


def _named_by(term: QuestionTerm, options: Sequence[Option]) -> Option | None:
    """Return the option that a word names: the one with the fewest words besides."""
    if not term.names:
        return None
    able = [
        option for option in options if matching.strength(term, matching.vocabulary((option.name,), lexicon.shared())) >= matching.SAME_WORD
    ]
    return min(able, key=lambda option: len(words(option.name)), default=None)


def _amount(option: Option) -> str:
    return f"{option.amount} ({option.column})" if option.column else option.amount
