"""Wording of an answer: the facts of an entry that answer, with as much around them as is needed."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from chatsvc.engines.knowledge.search import amounts, facts, matching
from chatsvc.engines.knowledge.search.facts import LEANING, StatedFact
from chatsvc.engines.knowledge.search.lexicon import shared
from chatsvc.engines.knowledge.search.matching import QuestionTerm
from chatsvc.language.folding import words

if TYPE_CHECKING:
    from chatsvc.engines.knowledge.search.evidence import JudgedEntry
    from chatsvc.engines.knowledge.search.question import Question

SHORT, FEW = 250, 2  # characters, or sentences, of an answer that is said whole
_LONG = 450  # characters of one that is said whole where none of its sentences answers clearly
_ALIKE, _CLEARLY = 0.15, 0.4  # facts whose scores differ by less answer alike; by so much one is the answer
_DOUBTFUL, _TOGETHER = 0.7, 3  # facts whose scores differ by less may be the answer, and so many of them are said together
_MOST = 8  # facts that are said together
_LEADS = {name: frozenset(word for file in amounts.FILES.values() for word in file.items(name)) for name in ("yes", "no", "but")}
_LEAD = re.compile(r"\A\s*([^\W\d_]+)\s*[,.!:;–-]+\s+(?=\S)")
_JOINED = re.compile(r"\A([^\W\d_]+)\s+(?=\S)")


def tell(
    judged: JudgedEntry,
    asked: Sequence[QuestionTerm],
    question: Question,
    said: Collection[str],
    *,
    follows: bool = False,
    lacks: bool = False,
) -> str:
    """Return the text to say: the first of the possible ones that was not said lately.

    `follows`: the entry was spoken of before, so the fact alone is told. `lacks`: it has no fact for the question, and is told whole.
    """
    answer, stated = judged.prepared.entry.answer, judged.prepared.facts
    leads = _is_own(judged, asked, question)
    whole = _with_exception(answer, judged)
    chosen = _chosen(judged, asked, question.kind, headed=not follows)
    is_table = any(fact.cells for fact in stated)
    keeps = not is_table and (len(stated) <= FEW or len(answer) <= (SHORT if _is_clear(judged) else _LONG))
    if lacks and not is_table and len(answer) <= _LONG:
        return answer if leads else _without_lead(answer, judged)
    if follows:
        keeps = False
    texts = [text if leads else _without_lead(text, judged) for text in ((whole, chosen) if keeps else (chosen, whole))]
    lately = set(map(_plain, said))
    return next((text for text in texts if _plain(text) not in lately), texts[0])


def _plain(text: str) -> str:
    return " ".join(text.split())


def _is_clear(judged: JudgedEntry) -> bool:
    """Return whether one fact answers much better than the others."""
    scores = sorted(judged.scores)
    return len(scores) > 1 and scores[-1] - scores[-2] >= _CLEARLY


def _without_lead(text: str, judged: JudgedEntry) -> str:
    """Drop a leading yes or no, and a word that joins the rest to it."""
    lead = _LEAD.match(text)
    if lead is None or not _leads(lead[1], "yes", "no"):
        return text
    rest = text[lead.end() :]
    joined = _JOINED.match(rest)
    if joined and _leads(joined[1], "but"):
        rest = rest[joined.end() :]
    dotted = judged.prepared.entry.language.startswith("tr") and rest.startswith("i")
    return ("İ" if dotted else rest[:1].upper()) + rest[1:]


def _leads(word: str, *names: str) -> bool:
    return any(one in _LEADS[name] for one in words(word)[:1] for name in names)


def _is_own(judged: JudgedEntry, asked: Sequence[QuestionTerm], question: Question) -> bool:
    """Return whether a question is the entry's own in other words. A negated one is not: its yes would mean something else."""
    named = [term for term in asked if term.names]
    if not named or amounts.read(question.text).negative:
        return False
    return all(matching.strength(term, judged.prepared.title) >= matching.EXPLAINED for term in named)


def _with_exception(answer: str, judged: JudgedEntry) -> str:
    """Put an exception that names what the visitor names before the rule."""
    best = judged.prepared.facts[judged.best]
    names = judged.best > 0 and amounts.read(best.text).negative and not best.is_item and not _leans(best)
    if not names or best.text not in answer or judged.scores[judged.best] < judged.scores[0] + _CLEARLY:
        return answer
    rest = answer.replace(best.text, "", 1)
    return f"{best.text} {_plain(rest)}".strip()


def _leans(fact: StatedFact) -> bool:
    return (words(fact.text[:40]) or [""])[0] in LEANING


def _chosen(judged: JudgedEntry, asked: Sequence[QuestionTerm], kind: str, *, headed: bool = True) -> str:
    """Return the facts that answer: the best one and those as good, with the sentence that a fact points to."""
    stated, scores = judged.prepared.facts, judged.scores
    best = stated[judged.best]
    alike = [at for at, one in enumerate(stated) if one.block == best.block and scores[at] >= scores[judged.best] - _ALIKE]
    if not best.is_item and len(alike) > FEW:
        alike = [judged.best]
    if any(fact.cells for fact in stated) and _asks_for_all(judged, asked):
        alike = judged.prepared.holding(kind) or alike
    proper = judged.prepared.holding(kind)
    able = proper if judged.best in proper else range(len(stated))
    doubtful = sorted(able, key=lambda at: (-scores[at], at))[:_TOGETHER]
    alike.extend(at for at in doubtful if at not in alike and len(alike) < _TOGETHER and scores[at] >= scores[judged.best] - _DOUBTFUL)
    kept: list[int] = []
    for at in alike[:_MOST]:
        first = at
        while first > 0 and not stated[first].is_item and _leans(stated[first]) and stated[first - 1].block == best.block:
            first -= 1
        kept.extend(number for number in range(first, at + 1) if number not in kept)
    told = [_row(stated[at], asked, kind) if stated[at].cells else stated[at].text for at in sorted(kept)]
    if len(told) > 1 and any(stated[at].is_item for at in kept):
        return "\n".join([*([best.head] if best.head.endswith(":") and not best.cells else []), *(f"- {text}" for text in told)])
    text = " ".join(told)
    if best.head.endswith(":") and not best.cells:
        return f"{best.head} {text}"
    return _headed(text, judged, asked) if headed else text


def _asks_for_all(judged: JudgedEntry, asked: Sequence[QuestionTerm]) -> bool:
    """Return whether a question names nothing but what the entry is called."""
    return all(matching.strength(term, judged.prepared.title) >= matching.EXPLAINED for term in asked if term.names)


def _row(fact: StatedFact, asked: Sequence[QuestionTerm], kind: str) -> str:
    """Return a row with the columns that the question names or asks for."""
    name, *others = fact.cells
    lexicon = shared()
    named = [
        cell
        for cell in others
        if cell[0] and any(matching.strength(term, matching.vocabulary((cell[0],), lexicon)) >= matching.SAME_WORD for term in asked)
    ]
    fitting = [cell for cell in others if not amounts.read(cell[1]).kinds.isdisjoint(amounts.PROPER.get(kind, frozenset()))]
    both = [cell for cell in named if cell in fitting]
    return facts.said((name, *(both or (fitting if kind else named) or others)))


def _headed(text: str, judged: JudgedEntry, asked: Sequence[QuestionTerm]) -> str:
    """Put a short title in front of a fact that does not name its matter."""
    title = judged.prepared.entry.question
    if "?" in title or "\n" in text or len(title) > facts.TITLE:
        return text
    held = judged.prepared.own[judged.best]
    about = [term for term in asked if term.names and matching.strength(term, judged.prepared.title) >= matching.EXPLAINED]
    if not about or any(matching.strength(term, held) >= matching.EXPLAINED for term in about):
        return text
    return f"{title.rstrip(' :.')}: {text}"
