"""Fits chatsvc/languages/weights.txt. Run it by hand after a change of the search, the concepts or the topics; it takes two minutes.

The weights of the evidence are those of a conditional logit over the facts of all candidates of each question. The confidence is a logistic
regression over the signs that the first fact answers the question. Both are fitted on the sets that tests/answers/judging.py names for
this, in four variants: whole, without phrasings, with fewer entries, and as sections of three answers. The other sets are only measured.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import mul
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search import evidence, topics
from chatsvc.engines.knowledge.search.index import KnowledgeIndex
from tests.answers import judging
from tests.answers.judging import Question

FILE = Path(__file__).resolve().parents[2] / "chatsvc/languages/weights.txt"
HEAD = "# Weights of the evidence for a fact, and of the signs that the first one answers; scripts/bench/fit_answers.py fits them.\n"
SEED, ANSWERS = 1, 3  # answers of a section
TUNED, FOREIGN, REPLY = 0.5, 2.0, 2.0  # weight of a question: the vocabulary was made with its set; it has no answer; of a reply
MOST_FACTS = 12  # of a question that are learnt from: the right ones and the likeliest others
AGAINST = frozenset({"lacking", "unsaid", "alien", "unknown"})  # what speaks against an entry
EITHER = frozenset({"bias", "terms"})
L2, RATE, STEPS, SIGN_STEPS = 1.0, 0.1, 80, 250


class Row(NamedTuple):
    """A judged question. `right` has, for each candidate entry, which of its facts answer the question.

    `tells` reports whether the statement that is made of an entry answers.
    """

    weight: float
    asked: evidence.Question
    entries: list[evidence.JudgedEntry]
    right: list[list[bool]]
    tells: Callable[[evidence.JudgedEntry], bool] | None = None


def variants(entries: list[Entry], questions: list[Question], chance: random.Random) -> Iterator[tuple[list[Entry], list[Question]]]:
    """Yield four variants of a business: whole, without phrasings, with fewer entries, and as sections of several answers."""
    yield entries, questions
    yield [entry._replace(alt=()) for entry in entries], questions
    remaining = {entry.id for entry in chance.sample(entries, 2 * len(entries) // 3)}
    fewer = [entry._replace(alt=tuple(chance.sample(entry.alt, min(3, len(entry.alt))))) for entry in entries if entry.id in remaining]
    yield fewer, [Question(asked.text, asked.expected if asked.expected in remaining else None, asked.kind) for asked in questions]
    mixed = chance.sample(entries, len(entries))
    parts = [mixed[start : start + ANSWERS] for start in range(0, len(mixed), ANSWERS)]
    holder = {entry.id: str(number) for number, part in enumerate(parts) for entry in part}
    sections = [
        Entry(str(number), part[0].question.rstrip("?"), (), " ".join(entry.answer for entry in part), part[0].language)
        for number, part in enumerate(parts)
    ]
    yield sections, [Question(asked.text, holder.get(asked.expected or ""), asked.kind) for asked in questions]


def rows() -> Iterator[Row]:
    """Yield the judged questions of the sets that are used for fitting."""
    chance = random.Random(SEED)
    for name, language in judging.businesses():
        if judging.part(name) == judging.HELD_OUT:
            continue
        entries, questions = judging.business(name, language)
        answers = {question.text: next((entry.answer for entry in entries if entry.id == question.expected), "") for question in questions}
        for number, (its, asked) in enumerate(variants(entries, questions, chance)):
            index = KnowledgeIndex(its, language)
            for given in asked:
                question, judged, _ = index.judge(given.text)
                right = [
                    [
                        entry_id == given.expected and (number < 3 or part.part.own in answers[given.text])
                        for part in candidate.prepared.parts
                    ]
                    for candidate, entry_id in ((candidate, index.entries[candidate.number].id) for candidate in judged)
                ]
                weight = (TUNED if judging.part(name) == "tuned on" else 1.0) * (FOREIGN if given.expected is None else 1.0)
                if judged:
                    yield Row(weight, question, judged, right)
    for name in judging.SEEN_REPLIES:
        entries, replies = judging.replies_of(name)
        index = KnowledgeIndex(entries, name.rpartition(".")[2])
        for reply in replies:
            question, judged, _ = index.judge(reply.text, subject=reply.subject)
            right = [[reply.expects(part.part.fact.text) for part in candidate.prepared.parts] for candidate in judged]
            if judged:
                yield Row(REPLY, question, judged, right, partial(_tells, index, question, reply))


def _tells(index: KnowledgeIndex, question: evidence.Question, reply: judging.ReplyQuestion, judged: evidence.JudgedEntry) -> bool:
    return reply.expects(index.statement(question, judged).text)


def climb(steps: int, slope: Callable[[list[float]], list[float]], names: Sequence[str]) -> list[float]:
    """Return the weights at which the slope is zero, found by Adam. The sign of each weight is fixed by the meaning of its feature."""
    weights, mean, square = [0.0] * len(names), [0.0] * len(names), [0.0] * len(names)
    for step in range(1, steps + 1):
        rate = RATE * (1.0 if step < 0.6 * steps else 0.3)
        for index, value in enumerate(slope(weights)):
            mean[index] = 0.9 * mean[index] + 0.1 * value
            square[index] = 0.99 * square[index] + 0.01 * value * value
            weights[index] += rate * (mean[index] / (1 - 0.9**step)) / (math.sqrt(square[index] / (1 - 0.99**step)) + 1e-8)
            if names[index] not in EITHER:
                weights[index] = min(weights[index], 0.0) if names[index] in AGAINST else max(weights[index], 0.0)
    return weights


def fit_evidence(given: Sequence[Row]) -> list[float]:
    learnt = []
    for row in given:
        facts = [
            pair
            for candidate, right in zip(row.entries, row.right, strict=True)
            for pair in zip(right, candidate.evidence, candidate.scores, strict=True)
        ]
        facts.sort(key=lambda pair: (not pair[0], -pair[2]))
        if facts[0][0]:
            learnt.append((row.weight, [pair[:2] for pair in facts[:MOST_FACTS]]))

    def slope(weights: list[float]) -> list[float]:
        total = [-L2 * weight for weight in weights]
        for weight, facts in learnt:
            scores = [sum(map(mul, weights, shown)) for _, shown in facts]
            most = max(scores)
            grown = [math.exp(score - most) for score in scores]
            whole, rights = sum(grown), sum(grew for grew, (right, _) in zip(grown, facts, strict=True) if right)
            for grew, (right, shown) in zip(grown, facts, strict=True):
                by = weight * ((grew / rights if right and rights else 0.0) - grew / whole)
                if abs(by) > 1e-2:
                    total = [have + by * value for have, value in zip(total, shown, strict=True)]
        return total

    return climb(STEPS, slope, evidence.EVIDENCE)


def fit_signs(given: Sequence[Row], weights: Sequence[float]) -> list[float]:
    learnt = []
    for row in given:
        scored = [(entry, tuple(topics.dot(weights, figures) for figures in entry.evidence)) for entry in row.entries]
        entries = [entry._replace(scores=own, score=max(own), best=own.index(max(own))) for entry, own in scored]
        order = sorted(range(len(entries)), key=lambda index: -entries[index].score)
        judged = [entries[index] for index in order]
        is_right = row.tells(judged[0]) if row.tells else row.right[order[0]][judged[0].best]
        learnt.append((row.weight, (1.0, *evidence.signs(row.asked, judged)), is_right))

    def slope(weights: list[float]) -> list[float]:
        total = [-weight for weight in weights]
        for weight, shown, right in learnt:
            by = weight * (right - 1 / (1 + math.exp(-sum(map(mul, weights, shown)))))
            if abs(by) > 1e-2:
                total = [have + by * value for have, value in zip(total, shown, strict=True)]
        return total

    return climb(SIGN_STEPS, slope, ("bias", *evidence.SIGNS))


def main() -> None:
    given = list(rows())
    weights = fit_evidence(given)
    bias, *sure = fit_signs(given, weights)
    lines = [f"{name}: {value:.2f}" for name, value in zip(evidence.EVIDENCE, weights, strict=True)]
    lines += [f"sure bias: {bias:.2f}", *(f"sure {name}: {value:.2f}" for name, value in zip(evidence.SIGNS, sure, strict=True))]
    FILE.write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
