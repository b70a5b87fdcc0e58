"""Questions that leave their subject out, and are about what was spoken of before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from chatsvc.engines.knowledge.search import amounts, matching
from chatsvc.engines.knowledge.search.matching import QuestionTerm
from chatsvc.engines.knowledge.search.ordinary import is_ordinary
from chatsvc.language.folding import words

if TYPE_CHECKING:
    from chatsvc.engines.knowledge.search.answering import Judged, JudgedEntry, Question

_OF_THINGS = frozenset({"whether", "what", ""})  # kinds of questions that are not answered by a thing of the same group
RIVALS = 4  # entries that a question may name instead
_CLEARLY = 2.5  # score by which another entry is ahead of the one spoken of, where the question is about it
_EACH = 2  # things explained for each one that is not
FOLLOWED, NEAR = 0.8, 0.65  # confidence in a fact of the entry spoken of, and in the entry where it lacks what is asked for


def stays(question: Question, alone: Judged, one: JudgedEntry) -> bool:
    """Return whether a question is about an entry spoken of before, which has a fact for it."""
    rivals = [other for other in alone.entries[:RIVALS] if other.prepared is not one.prepared]
    things = own_things(alone, question.kind)
    if not fits(question, one):
        return False
    if question.kind not in amounts.PROPER and _says_nothing_of(one, alone, rivals):
        return False
    named = any(_names_more(other, one, things) for other in rivals)
    if things and owning(question.kind, one, things, matching.SAME_WORD if named else matching.EXPLAINED) is not None:
        return True
    if not things:
        # neither an age nor a price says how often
        counts = question.kind != "how_many" or any("count" in kinds for kinds in one.prepared.kinds)
        return counts and not _lacks_age(one, alone)
    if named:
        return False
    strange = strange_to(one, things, question.kind)
    first = rivals[0] if rivals else None
    if _alone_has(question.kind, one, rivals, things) and len(strange) == 1:
        return True
    if first is not None and first.fits and _explained(first, things) > _explained(one, things) and alone.confidence >= FOLLOWED:
        return False
    if not strange or (len(strange) == 1 and points(question.text)):
        return True
    if question.kind == "included":
        holds = any("included" in kinds for kinds in one.prepared.kinds)
        return holds and len(strange) == 1 and all(owning(question.kind, other, things) is None for other in rivals)
    held = _explained(one, things)
    return 0 < len(strange) <= held and (first is None or _explained(first, things) <= held)


def _says_nothing_of(one: JudgedEntry, alone: Judged, rivals: Sequence[JudgedEntry]) -> bool:
    """Return whether an entry has none of the words of a question, ordinary ones too, where another has one."""
    said = [term for term in alone.asked if not term.is_value]
    return bool(said) and not any(map(one.explains, said)) and any(other.explains(term) for other in rivals for term in said)


def leaves(question: Question, alone: Judged, one: JudgedEntry) -> bool:
    """Return whether a question that is answered by another entry is clearly not about the one spoken of."""
    best, things = alone.entries[0], own_things(alone, question.kind)
    alone_holds = one.prepared.holding(question.kind) and not best.prepared.holding(question.kind)
    if best.prepared is one.prepared or alone_holds:
        return False
    if things:
        return owning(question.kind, one, things, matching.SAME_WORD) is None and best.score >= one.score + _CLEARLY
    return question.kind not in amounts.PROPER and not any(term.is_value for term in alone.asked)


def _alone_has(kind: str, one: JudgedEntry, rivals: Sequence[JudgedEntry], things: Sequence[QuestionTerm]) -> bool:
    """Return whether only the entry spoken of has what is asked for. Others may have the strange word."""
    if not one.prepared.holding(kind) or not any(_explained(other, things) for other in rivals):
        return False
    return not any(owning(kind, other, things) in other.prepared.holding(kind) for other in rivals)


def is_bare(question: Question, alone: Judged, one: JudgedEntry) -> bool:
    """Return whether a question names nothing, so that it can only be about an entry spoken of."""
    things = own_things(alone, question.kind)
    return not strange_to(one, things, question.kind) and not any(_names_more(other, one, things) for other in alone.entries[:RIVALS])


def own_things(alone: Judged, kind: str) -> list[QuestionTerm]:
    """Return what a question names, without what only belongs to the asking."""
    return [term for term in alone.things if not is_ordinary(term.text, kind)]


def judged(alone: Judged, one: JudgedEntry, *, near: bool = False) -> Judged:
    """Return the judgement that an entry spoken of answers."""
    others = [other for other in alone.entries if other.prepared is not one.prepared]
    one = replace(one, best=_told(alone.kind, one, own_things(alone, alone.kind)))
    top = replace(one, score=max(one.score, others[0].score + 1.0 if others else one.score))
    return replace(alone, entries=[top, *others], confidence=NEAR if near else FOLLOWED, follows=True, lacks=near)


def fits(question: Question, one: JudgedEntry) -> bool:
    """Return whether an entry has a fact of the kind that is asked for."""
    wanted = amounts.HELD.get(question.kind, frozenset())
    return not wanted or one.prepared.asks_for(question.kind) or any(not kinds.isdisjoint(wanted) for kinds in one.prepared.kinds)


def strange_to(one: JudgedEntry, things: Sequence[QuestionTerm], kind: str) -> list[QuestionTerm]:
    """Return the things that an entry says nothing of."""
    least = matching.MEANT if kind in _OF_THINGS and not one.is_translated else matching.EXPLAINED
    return [term for term in things if not one.explains(term, least) and not is_ordinary(term.text, kind)]


def points(text: str) -> bool:
    """Return whether a question refers to something spoken of before: "it", "onu"."""
    return any("pointing" in mark for mark in amounts.LABELS.marked(words(text)))


def is_mostly_explained(strange: Sequence[QuestionTerm], things: Sequence[QuestionTerm]) -> bool:
    """Return whether the things that are explained leave little doubt about the strange ones."""
    return len(strange) * _EACH <= len(things) - len(strange)


def owning(kind: str, one: JudgedEntry, things: Sequence[QuestionTerm], least: float = matching.EXPLAINED) -> int | None:
    """Return the best fact of an entry that has all the things, and what is asked for."""
    prepared, wanted = one.prepared, amounts.HELD.get(kind, frozenset())
    able = [
        at
        for at, held in enumerate(zip(prepared.own, prepared.heads, strict=True))
        if (not wanted or not prepared.kinds[at].isdisjoint(wanted))
        and all(max(matching.strength(term, text) for text in held) >= least for term in things)
    ]
    return max(able, key=lambda at: (one.scores[at], -at), default=None)


def _told(kind: str, one: JudgedEntry, things: Sequence[QuestionTerm]) -> int:
    """Return the fact of an entry spoken of that answers: with the things, else with what is asked for."""
    if things and (best := owning(kind, one, things)) is not None:
        return best
    kinds = one.prepared.kinds
    if kind not in amounts.PROPER or (things and any(map(one.explains, things))):
        return one.best
    proper, wanted = amounts.PROPER[kind], amounts.HELD.get(kind, frozenset())
    return min(range(len(kinds)), key=lambda at: (kinds[at].isdisjoint(proper), kinds[at].isdisjoint(wanted), at))


def _lacks_age(one: JudgedEntry, alone: Judged) -> bool:
    """Return whether a question tells an age that the entry says nothing of: "and for my 7 year old?"."""
    return any(term.is_age for term in alone.asked) and not any("age" in kinds for kinds in one.prepared.kinds)


def _explained(one: JudgedEntry, things: Sequence[QuestionTerm]) -> int:
    return sum(one.explains(term) for term in things)


def _names_more(other: JudgedEntry, one: JudgedEntry, things: Sequence[QuestionTerm]) -> bool:
    """Return whether the title of another entry has a thing that the title of this one lacks."""
    return any(
        matching.strength(term, other.prepared.title) >= matching.SAME_WORD > matching.strength(term, one.prepared.title) for term in things
    )
