"""Fits chatsvc/engines/knowledge/search/weights.txt anew. Run it by hand after a change of facts, topics, acts or of the search.

The weights of the evidence are those of a conditional logit over the facts of all candidates of each question; the confidence is a logistic
regression over the signs that the first one answers. Both are fitted on the sets of tests/answers/businesses that judging.py names for
it (whole, without phrasings, with fewer entries, and as passages of three answers) and on those of tests/answers/replies that it names.
The other sets are only measured: the figures are printed, with those of each evidence left out (--ablate), and how many of the answers
told with a confidence are right. Takes about two minutes.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import mul
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search import evidence
from chatsvc.engines.knowledge.search.answering import FactIndex, Judged
from chatsvc.engines.knowledge.search.evidence import EVIDENCE, FORMS, SIGNS, SURE, WEIGHTS, JudgedEntry, signs
from chatsvc.engines.knowledge.search.lexicon import shared
from chatsvc.engines.knowledge.search.question import Question as Asked
from tests.answers import judging
from tests.answers.judging import Question

FILE = Path(evidence.__file__).with_name("weights.txt")
HEAD = "# Weights of the evidence for an entry, and of the signs that it answers; scripts/bench/fit_answers.py fits them.\n"
SEED, ANSWERS = 1, 3  # answers of a passage
TUNED, FOREIGN, REPLIES = 0.5, 1.2, 2.0  # weight of a question: the vocabulary was made with its set; it has no answer; of a reply
WRONG, BACK = 1.5, 0.3  # weight of a wrong answer where there is a right one, and what it takes from the bias
MOST_FACTS = 15  # of a question that are learnt from: the right ones and the likeliest others
L2, RATE = 1.0, 0.1
STEPS, SIGN_STEPS = 100, 400  # the evidence is not fitted to the end: smaller weights tell better replies
AGAINST = frozenset({"unsaid", "alien"})  # what speaks against an entry
EITHER = frozenset({"bias", "terms", "content", "common"})  # ... for or against
LEAST = 1e-3  # effect of a candidate that is left out of a step
BANDS = 10


class Row(NamedTuple):
    """A judged question. `right` tells of each candidate which of its facts answer; none does where the knowledge has no answer."""

    group: str
    weight: float
    judged: Judged
    right: list[list[bool]]

    @property
    def is_told_rightly(self) -> bool:
        """Whether the best fact of the first candidate answers."""
        return self.right[0][self.judged.entries[0].best]


class SignsRow(NamedTuple):
    """The signs of the first candidate of a question of a form, and whether it is right."""

    group: str
    form: str
    weight: float
    shown: tuple[float, ...]
    right: bool


def variants(entries: list[Entry], questions: list[Question], chance: random.Random) -> Iterator[tuple[str, list[Entry], list[Question]]]:
    """A business whole, as a document, with fewer entries, and as passages."""
    yield "whole", entries, questions
    yield "document", [entry._replace(alt=()) for entry in entries], questions
    kept = {entry.id for entry in chance.sample(entries, 2 * len(entries) // 3)}
    fewer = [one._replace(alt=tuple(chance.sample(one.alt, min(3, len(one.alt))))) for one in entries if one.id in kept]
    yield "fewer", fewer, [Question(one.text, one.expected if one.expected in kept else None, one.kind) for one in questions]
    mixed = chance.sample(entries, len(entries))
    parts = [mixed[at : at + ANSWERS] for at in range(0, len(mixed), ANSWERS)]
    holder = {entry.id: str(number) for number, part in enumerate(parts) for entry in part}
    passages = [
        Entry(str(number), part[0].question.rstrip("?"), (), " ".join(entry.answer for entry in part), part[0].language)
        for number, part in enumerate(parts)
    ]
    yield "passages", passages, [Question(one.text, holder.get(one.expected or ""), one.kind) for one in questions]


def rows() -> Iterator[Row]:
    """The questions of all businesses, judged."""
    chance = random.Random(SEED)
    for name, language in judging.businesses():
        entries, questions = judging.business(name, language)
        said = {one.text: next((entry.answer for entry in entries if entry.id == one.expected), "") for one in questions}
        part = judging.part(name)
        for variant, its, asked in variants(entries, questions, chance):
            index = FactIndex(judging.index_of(its))
            for one in asked:
                judged = index.judged(Asked(one.text, judging.kind_of(one.text, language), language))
                if not judged.entries:
                    continue
                wanted = said[one.text]
                right = [
                    [
                        found.prepared.entry.id == one.expected and (variant != "passages" or fact.text in wanted)
                        for fact in found.prepared.facts
                    ]
                    for found in judged.entries
                ]
                weight = (TUNED if part == "tuned on" else 1.0) * (FOREIGN if one.expected is None else 1.0)
                yield Row(f"{part}, {variant}", weight, judged, right)
    for name in judging.SEEN_REPLIES:
        yield from reply_rows(name)


def reply_rows(name: str) -> Iterator[Row]:
    """The questions of a set of replies, judged with what was spoken of before."""
    entries, questions = judging.reply_questions(name)
    index = FactIndex(judging.index_of(entries))
    for question, wanted in questions:
        judged = index.judged(question)
        groups = [group.split("|") for group in (wanted or "").split("&")]
        held = [
            [sum(any(one in f"{fact.text} {fact.head}" for one in group) for group in groups) for fact in found.prepared.facts]
            for found in judged.entries
        ]
        most = max(map(max, held), default=0) if wanted else 0
        right = [[most > 0 and count == most for count in counts] for counts in held]
        if judged.entries:
            yield Row(f"reply, {name}", REPLIES, judged, right)


def climb(steps: int, slope: Callable[[list[float]], list[float]], names: Sequence[str], left_out: str = "") -> list[float]:
    """Return the weights at which the slope vanishes: Adam, with a lower rate at the end. None speaks against what it stands for."""
    weights, mean, square = [0.0] * len(names), [0.0] * len(names), [0.0] * len(names)
    for step in range(1, steps + 1):
        rate = RATE * (1.0 if step < 0.6 * steps else 0.3)
        for at, value in enumerate(slope(weights)):
            if names[at] != left_out:
                mean[at] = 0.9 * mean[at] + 0.1 * value
                square[at] = 0.99 * square[at] + 0.01 * value * value
                weights[at] += rate * (mean[at] / (1 - 0.9**step)) / (math.sqrt(square[at] / (1 - 0.99**step)) + 1e-8)
                if names[at] not in EITHER:
                    weights[at] = min(weights[at], 0.0) if names[at] in AGAINST else max(weights[at], 0.0)
    return weights


def shown_by(found: JudgedEntry) -> Iterator[tuple[float, ...]]:
    """The evidence of each fact of a candidate."""
    return ((*found.of_entry, *one) for one in found.of_facts)


def fit_evidence(given: Sequence[Row], form: str, left_out: str = "") -> list[float]:
    """Return the weights of the evidence for a form of questions."""
    learnt, by = [], WEIGHTS[form]
    for row in given:
        if row.judged.asking.form != form:
            continue
        facts = [one for found, its in zip(row.judged.entries, row.right, strict=True) for one in zip(its, shown_by(found), strict=True)]
        facts.sort(key=lambda one: (not one[0], -sum(map(mul, (*by.entry, *by.fact), one[1]))))
        if facts[0][0]:
            learnt.append((row.weight, facts[:MOST_FACTS]))

    def slope(weights: list[float]) -> list[float]:
        total = [-L2 * weight for weight in weights]
        for weight, facts in learnt:
            scores = [sum(map(mul, weights, shown)) for _, shown in facts]
            most = max(scores)
            grown = [math.exp(score - most) for score in scores]
            whole, rights = sum(grown), sum(grew for grew, (right, _) in zip(grown, facts, strict=True) if right)
            for grew, (right, shown) in zip(grown, facts, strict=True):
                by = weight * ((grew / rights if right and rights else 0.0) - grew / whole)
                if abs(by) > LEAST:
                    total = [have + by * value for have, value in zip(total, shown, strict=True)]
        return total

    return climb(STEPS, slope, EVIDENCE, left_out)


def fit_signs(learnt: Sequence[SignsRow], form: str) -> list[float]:
    """Return the bias and the weights of the signs for a form of questions."""
    rows = [(one.weight, (1.0, *one.shown), one.right) for one in learnt if one.form == form]

    def slope(weights: list[float]) -> list[float]:
        total = [-weight for weight in weights]
        for weight, shown, right in rows:
            by = weight * (right - 1 / (1 + math.exp(-sum(map(mul, weights, shown)))))
            if abs(by) > LEAST:
                total = [have + by * value for have, value in zip(total, shown, strict=True)]
        return total

    bias, *found = climb(SIGN_STEPS, slope, ("bias", *SIGNS))
    return [bias + BACK, *found]


def ranked(row: Row, weights: Mapping[str, Sequence[float]]) -> Row:
    """The row with its candidates in the order of these weights, and the best fact of each."""
    by = weights[row.judged.asking.form]
    scores = [[sum(map(mul, by, shown)) for shown in shown_by(found)] for found in row.judged.entries]
    order = sorted(range(len(scores)), key=lambda at: -max(scores[at]))
    entries = [replace(row.judged.entries[at], score=max(scores[at]), best=scores[at].index(max(scores[at]))) for at in order]
    return row._replace(judged=replace(row.judged, entries=entries), right=[row.right[at] for at in order])


def told(rows: Sequence[Row]) -> str:
    """Share of the answerable questions whose entry comes first, that its best fact answers, or with the entry among three."""
    asked = [row for row in rows if any(map(any, row.right))]
    first, best, three = (
        sum(any(row.right[0]) for row in asked),
        sum(row.is_told_rightly for row in asked),
        sum(any(map(any, row.right[:3])) for row in asked),
    )
    count = len(asked) or 1
    return f"first {first / count:.3f}, its fact {best / count:.3f}, of the first three {three / count:.3f}"


def main() -> None:
    """See the module's docstring."""
    given = list(rows())
    learnt = [row for row in given if not row.group.startswith(judging.HELD_OUT)]
    weights = {form: fit_evidence(learnt, form) for form in FORMS}
    if "--ablate" in sys.argv:
        for name in EVIDENCE:
            fewer = {form: fit_evidence(learnt, form, name) for form in FORMS}
            print(f"without {name}: {told([ranked(row, fewer) for row in given if row.group == f'{judging.HELD_OUT}, whole'])}")
    order = [ranked(row, weights) for row in given]
    both = [
        SignsRow(
            row.group,
            row.judged.asking.form,
            row.weight * (WRONG if any(map(any, row.right)) and not row.is_told_rightly else 1.0),
            signs(row.judged.entries, row.judged.asking, row.judged.ranking.query, shared()),
            row.is_told_rightly,
        )
        for row in order
    ]
    sure = {form: fit_signs([one for one in both if not one.group.startswith(judging.HELD_OUT)], form) for form in FORMS}
    FILE.write_text(HEAD + "".join(written(form, weights[form], sure[form]) for form in FORMS), encoding="utf-8")
    for group in dict.fromkeys(row.group for row in order):
        print(f"{group}: {told([row for row in order if row.group == group])}")
        if group.startswith(judging.HELD_OUT):
            table = [(_probability(sure[one.form], one), one.right) for one in both if one.group == group]
            for band in range(BANDS):
                held = [right for sureness, right in table if band <= sureness * BANDS < band + 1]
                print(f"  told {band / BANDS:.1f} to {(band + 1) / BANDS:.1f}: {len(held)}, right {sum(held) / (len(held) or 1):.2f}")


def _probability(sure: Sequence[float], one: SignsRow) -> float:
    return 1 / (1 + math.exp(-sure[0] - sum(map(mul, sure[1:], one.shown))))


def written(form: str, weights: Sequence[float], sure: Sequence[float]) -> str:
    """The lines of the file for a form of questions."""
    named = [*zip(EVIDENCE, weights, strict=True), ("bias", sure[0]), *zip(SURE, sure[1:], strict=True)]
    return "".join(f"{form} {name}: {weight:.2f}\n" for name, weight in named)


if __name__ == "__main__":
    main()
