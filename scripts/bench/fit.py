"""Fits the weights of chatsvc/engines/knowledge/search/confidence.py anew; to be run by hand after the search or the lexicon has changed.

    .venv/bin/python scripts/bench/fit.py CLINC150's-data_full.json

A logistic regression (Newton's method, a little L2) over the signals of searches: bots made of some or all intents of CLINC150, asked by
its validation set, and the sets of our own that judging.py names for it, whole and with entries and phrasings left out.
CLINC150's test set and the other sets of our own are never looked at. Then the figures of the weights in use, from which the
thresholds are chosen. Takes a few minutes.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search import confidence
from tests.answers import judging
from tests.answers.judging import Question

Row = tuple[float, tuple[float, ...], bool]  # weight, signals and a 1 for the bias, whether the first hit was right

OWN, VARIED, CLINC = 30.0, 8.0, 1.0  # weight of one search
UNASKED = 1.3  # how much more it weighs where nothing of ours answers: an answer to a foreign question is worse than none to another
MANY, LARGE = 50, 5.0  # the fewer bots of so many intents weigh so much more
NEARLY, FEW = 4.0, 6  # weight of a search for all but a phrasing itself; entries of a bot that knows little
DOCUMENT, ANSWERS = 8.0, 3  # weight of a search in a document, whose passages are made of so many answers
TUNED = 0.4  # what is left of it where the vocabulary was made with the set, so that it looks surer than it may be
L2 = 1.0
THRESHOLDS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.32, 0.35, 0.4, 0.5, 0.6, 0.64, 0.7)
# (intents, phrasings, bots)
BOTS = ((8, (3, 7), 9), (20, (3, 7, 10), 6), (50, (5, 10), 3), (None, (3, 5, 10), 1))
ASKED, FOREIGN, ALL = 120, 60, 1_200  # questions to a bot: with and without an answer; to one of all intents
VARIATIONS = 3

_seen: list[confidence.Signals] = []
_of = confidence.of


def _watched(signals: confidence.Signals) -> float:
    _seen.append(signals)
    return _of(signals)


def rows(weight: float, entries: Sequence[Entry], questions: Sequence[Question]) -> Iterator[Row]:
    """The signals of all questions that find anything at all."""
    index = judging.index_of(entries)
    for question in questions:
        _seen.clear()
        finding = index.search(question.text)
        if _seen:
            more = UNASKED if question.expected is None and question.kind else 1.0
            yield more * weight, (*confidence.inputs(_seen[0]), 1.0), finding.hits[0].entry.id == question.expected


def own(chance: random.Random) -> Iterator[Row]:
    """Sets of our own, and variations of them."""
    for name, language in judging.businesses():
        tuned = name in judging.TUNED_ON
        if not tuned and name not in judging.WEIGHED_ON:
            continue
        less = TUNED if tuned else 1.0
        entries, questions = judging.business(name, language)
        yield from rows(less * OWN, entries, questions)
        yield from rows(NEARLY, entries, nearly(entries, chance))
        yield from rows(NEARLY, few := chance.sample(entries, FEW), nearly(few, chance))
        yield from rows(less * DOCUMENT, *document(entries, questions))
        yield from rows(less * DOCUMENT, [entry._replace(alt=()) for entry in entries], questions)
        for _ in range(VARIATIONS):
            kept = {entry.id for entry in chance.sample(entries, 2 * len(entries) // 3)}
            count = chance.choice((3, 5, 6))
            fewer = [one._replace(alt=tuple(chance.sample(one.alt, min(count, len(one.alt))))) for one in entries if one.id in kept]
            asked = [Question(one.text, one.expected if one.expected in kept else None, one.kind) for one in questions]
            yield from rows(less * VARIED, fewer, asked)


def nearly(entries: Sequence[Entry], chance: random.Random) -> list[Question]:
    """What is all but written down: phrasings with a word before or behind them, which visitors of our sets hardly ever hit upon."""
    beside = {"en": ("and {}", "{} please", "hi, {}", "{} exactly"), "tr": ("peki {}", "{} lütfen", "merhaba, {}", "{} acaba")}
    return [
        Question(chance.choice(beside[entry.language]).format(phrasing.rstrip("?").lower()), entry.id)
        for entry in entries
        for phrasing in chance.sample((entry.question, *entry.alt), min(2, 1 + len(entry.alt)))
    ]


def document(entries: Sequence[Entry], questions: Sequence[Question]) -> tuple[list[Entry], list[Question]]:
    """The same knowledge as a document: passages that hold the answers and no questions."""
    parts = [entries[at : at + ANSWERS] for at in range(0, len(entries), ANSWERS)]
    holder = {entry.id: str(number) for number, part in enumerate(parts) for entry in part}
    passages = [
        Entry(str(number), part[0].answer.split(".")[0], (), " ".join(entry.answer for entry in part), part[0].language)
        for number, part in enumerate(parts)
    ]
    return passages, [Question(one.text, holder.get(one.expected or ""), one.kind) for one in questions]


def clinc(path: Path, chance: random.Random) -> Iterator[Row]:
    """Bots made of CLINC150."""
    for intents, counts, bots in BOTS:
        for number, count in enumerate(counts * bots):
            seed = 1_000 * (intents or 0) + number
            entries, questions = judging.clinc(path, count, seed, ("val", "oos_val", "oos_train"), intents)
            answered = [one for one in questions if one.expected is not None]
            foreign = [one for one in questions if one.expected is None]
            most = ASKED if intents else ALL
            asked = chance.sample(answered, min(most, len(answered))) + chance.sample(
                foreign, min(FOREIGN if intents else ALL, len(foreign))
            )
            yield from rows(CLINC * (LARGE if intents is None or intents >= MANY else 1.0), entries, asked)


def fit(data: Sequence[Row]) -> list[float]:
    """Weights of the signals, and the bias last."""
    size = len(data[0][1])
    weights = [0.0] * size
    for _ in range(12):
        slope = [-L2 * weight for weight in weights[:-1]] + [0.0]
        bend = [[L2 * (row == column < size - 1) for column in range(size)] for row in range(size)]
        for weight, signals, right in data:
            chance = 1 / (1 + math.exp(-sum(map(float.__mul__, weights, signals))))
            missed, curve = weight * (right - chance), weight * chance * (1 - chance)
            for row, value in enumerate(signals):
                slope[row] += missed * value
                line, scaled = bend[row], curve * value
                for column in range(row + 1):
                    line[column] += scaled * signals[column]
        for row in range(size):
            for column in range(row):
                bend[column][row] = bend[row][column]
        weights = [weight + step for weight, step in zip(weights, solved(bend, slope), strict=True)]
    return weights


def solved(matrix: list[list[float]], right: list[float]) -> list[float]:
    """x of matrix * x = right, the matrix positive definite."""
    lines = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    for at, pivot in enumerate(lines):
        for line in lines:
            if line is not pivot:
                factor = line[at] / pivot[at]
                line[at:] = [one - factor * other for one, other in zip(line[at:], pivot[at:], strict=True)]
    return [line[-1] / line[at] for at, line in enumerate(lines)]


def bands() -> Iterator[str]:
    """Figures from which the thresholds are chosen: the weighed sets, with and without other phrasings, at some confidences."""
    found = []
    for name, language in judging.businesses():
        if name in judging.WEIGHED_ON:
            entries, questions = judging.business(name, language)
            for kept in (entries, [entry._replace(alt=()) for entry in entries]):
                index = judging.index_of(kept)
                found += [(index.search(question.text), question.expected) for question in questions]
    answered, foreign = [one for one in found if one[1] is not None], [one for one in found if one[1] is None]
    yield "# confidence: precision, share answered rightly, share of the foreign questions below it"
    for least in THRESHOLDS:
        above = [(result, expected) for result, expected in answered if result.confidence >= least]
        right = sum(result.hits[0].entry.id == expected for result, expected in above)
        below = sum(result.confidence < least for result, _ in foreign)
        yield f"# {least:.2f}: {right / max(1, len(above)):.3f} {right / len(answered):.3f} {below / len(foreign):.3f}"


def main() -> None:
    """See the module's docstring."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} data_full.json")
    confidence.of = _watched
    chance = random.Random(11)
    data = [*own(chance), *clinc(Path(sys.argv[1]), chance)]
    *weights, bias = fit(data)
    print(f"# {len(data)} searches\n_BIAS = {bias:.2f}\n_WEIGHTS = {{  # of each sign, and what the size of the index adds to it")
    names = [field.name for field in fields(confidence.Signals)]
    for sign, weight, more in zip(names, weights[: len(names)], weights[len(names) :], strict=True):
        print(f'    "{sign}": ({weight:.2f}, {more:.2f}),')
    print("}")
    print("\n".join(bands()))


if __name__ == "__main__":
    main()
