"""Wording of an answer: the facts of an entry that answer, with as much around them as is needed."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from chatsvc.engines.knowledge.search import amounts, facts, matching
from chatsvc.engines.knowledge.search.facts import LEANING, Fact
from chatsvc.engines.knowledge.search.matching import QuestionTerm
from chatsvc.language.folding import words

if TYPE_CHECKING:
    from chatsvc.engines.knowledge.search.answering import JudgedEntry, Question

SHORT, FEW = 250, 2  # characters, or sentences, of an answer that is said whole
_ALIKE = 0.04  # facts whose scores differ by less answer alike
_MOST = 8  # facts that are said together
_OWN = 0.99  # share of the title that a question holds if it is the entry's own
_LEADS = {name: frozenset(word for file in amounts.FILES.values() for word in file.items(name)) for name in ("yes", "no", "but")}
_LEAD = re.compile(r"\s*([^\W\d_]+)\s*[,.!:;–-]+\s+(?=\S)")
_JOINED = re.compile(r"([^\W\d_]+)\s+(?=\S)")


def tell(candidate: JudgedEntry, asked: Sequence[QuestionTerm], question: Question, said: Collection[str]) -> str:
    """Return the text to say."""
    prepared = candidate.prepared
    answer = prepared.entry.answer
    whole = _without_lead(answer, candidate, asked, question)
    stated = prepared.facts
    is_short = (len(answer) <= SHORT or len(stated) <= FEW) and not any(fact.cells for fact in stated)
    if is_short:
        text = _with_exception(whole, candidate)
    else:
        text = _chosen(candidate, asked)
        if _key(text) in {_key(one) for one in said}:
            text = whole
    if _key(text) in {_key(one) for one in said} and not is_short:
        return whole
    return text


def _key(text: str) -> str:
    return " ".join(text.split())


def _without_lead(answer: str, candidate: JudgedEntry, asked: Sequence[QuestionTerm], question: Question) -> str:
    """Drop a leading yes or no where the question is not the entry's own."""
    lead = _LEAD.match(answer)
    if lead is None:
        return answer
    (word,) = words(lead[1])[:1] or [""]
    if word not in _LEADS["yes"] | _LEADS["no"] or _is_own(candidate, asked, question):
        return answer
    rest = answer[lead.end() :]
    joined = _JOINED.match(rest)
    if joined and words(joined[1])[:1] and words(joined[1])[0] in _LEADS["but"]:
        rest = rest[joined.end() :]
    return (
        rest[:1].upper() + rest[1:]
        if rest[:1] != "i"
        else "İ" + rest[1:]
        if candidate.prepared.entry.language.startswith("tr")
        else "I" + rest[1:]
    )


def _is_own(candidate: JudgedEntry, asked: Sequence[QuestionTerm], question: Question) -> bool:
    """Return whether a question is the entry's own, in other words: each explains the other."""
    negated = amounts.read(question.text).negative
    if negated:
        return False
    named = [term for term in asked if term.names]
    return bool(named) and all(matching.strength(term, candidate.prepared.title) >= matching.EXPLAINED for term in named)


def _with_exception(text: str, candidate: JudgedEntry) -> str:
    """Put an exception that names what the visitor names before the rule."""
    best = candidate.prepared.facts[candidate.best]
    if candidate.best == 0 or not amounts.read(best.text).negative or best.is_item or best.text not in text:
        return text
    if candidate.scores[candidate.best] < candidate.scores[0] + 0.1 or _leans(best):
        return text
    rest = text.replace(best.text, "", 1)
    return f"{best.text} {' '.join(rest.split())}".strip()


def _leans(fact: Fact) -> bool:
    return (words(fact.text[:40]) or [""])[0] in LEANING


def _chosen(candidate: JudgedEntry, asked: Sequence[QuestionTerm]) -> str:
    """Return the facts that answer: the best one and those as good, with the sentence that a fact points to."""
    stated, scores = candidate.prepared.facts, candidate.scores
    block = stated[candidate.best].block
    alike = [at for at, score in enumerate(scores) if score >= scores[candidate.best] - _ALIKE and stated[at].block == block][:_MOST]
    if not stated[candidate.best].is_item and len(alike) > 2:
        alike = alike[:2] if candidate.best in alike[:2] else [candidate.best]
    kept: list[int] = []
    for at in alike:
        first = at
        while first > 0 and not stated[first].is_item and _leans(stated[first]) and stated[first - 1].block == block:
            first -= 1
        kept.extend(number for number in range(first, at + 1) if number not in kept)
    items = any(stated[at].is_item for at in kept)
    text = ("\n" if items and len(kept) > 1 else " ").join(
        ("- " if items and len(kept) > 1 else "") + stated[at].text for at in sorted(kept)
    )
    if stated[kept[0]].head and not stated[kept[0]].cells:
        return f"{stated[kept[0]].head}\n{text}" if items and len(kept) > 1 else f"{stated[kept[0]].head} {text}"
    return _headed(text, candidate, asked)


def _headed(text: str, candidate: JudgedEntry, asked: Sequence[QuestionTerm]) -> str:
    """Put a short title in front of a fact that does not name its matter."""
    title = candidate.prepared.entry.question
    if "?" in title or "\n" in text or len(title) > facts.TITLE:
        return text
    held = candidate.prepared.own[candidate.best]
    about = [term for term in asked if term.names and matching.strength(term, candidate.prepared.title) >= matching.EXPLAINED]
    if not about or any(matching.strength(term, held) >= matching.EXPLAINED for term in about):
        return text
    return f"{title.rstrip(' :.')}: {text}"
