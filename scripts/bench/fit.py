"""Fits chatsvc/engines/knowledge/search/confidence.txt anew. Run it by hand after a change of the search or lexicon.

    .venv/bin/python scripts/bench/fit.py CLINC150's-data_full.json

Stochastic gradient-boosted decision trees (logistic loss, Newton steps, histograms) over the signals of searches: bots made of some or all
intents of CLINC150, asked by its validation set, and the sets of our own that judging.py names for it, whole and with entries and
phrasings left out. A third of the questions have no answer in the bot. CLINC150's test set and the other sets of our own are never
looked at. Then the figures of the fitted trees, from which the thresholds are chosen. Takes a few minutes.
"""

from __future__ import annotations

import math
import random
import sys
from bisect import bisect_left
from collections.abc import Container, Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search import confidence
from tests.answers import judging
from tests.answers.judging import Question

Row = tuple[float, tuple[float, ...], bool]  # weight, signals, whether the first hit was right

FILE = Path(confidence.__file__).with_suffix(".txt")

OWN, VARIED, CLINC = 30.0, 8.0, 1.0  # weight of one search
UNASKED = 1.3  # how much more it weighs where nothing of ours answers: an answer to a foreign question is worse than none to another
MANY, LARGE = 50, 5.0  # the fewer bots of so many intents weigh so much more
NEARLY, FEW = 4.0, 6  # weight of a search for all but a phrasing itself; entries of a bot that knows little
DOCUMENT, ANSWERS = 12.0, 3  # weight of a search in a document, whose passages are made of so many answers
TUNED = 0.4  # what is left of it where the vocabulary was made with the set, so that it looks surer than it may be
TREES, DEPTH, RATE = 120, 3, 0.1
ROWS, SIGNALS = 0.6, 10  # share of the searches, and number of signals, that a tree is grown from
L2 = 5.0
LEAST = 60  # searches in a leaf
BINS = 32  # of the histogram of a signal
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
            yield more * weight, astuple(_seen[0]), finding.hits[0].entry.id == question.expected


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
    """Phrasings with an extra word before or behind them, which the sets hardly ever have."""
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


@dataclass(slots=True)
class Column:
    """One signal of all searches: its values, the cuts between its bins, and the bin of each value."""

    values: tuple[float, ...]
    cuts: list[float]
    bins: list[int]


def column(values: tuple[float, ...]) -> Column:
    """Divide the values of a signal into bins of about the same number of searches."""
    different, in_order = sorted(set(values)), sorted(values)
    cuts = [(one + other) / 2 for one, other in pairwise(different)]
    if len(different) > BINS:
        cuts = sorted({in_order[len(in_order) * part // BINS] for part in range(1, BINS)})
    return Column(values, cuts, [bisect_left(cuts, value) for value in values])


def fit(data: Sequence[Row]) -> tuple[float, list[confidence.Tree]]:
    """Return the bias and the trees, each fitted to the residuals before it."""
    mean = sum(weight for weight, _, _ in data) / len(data)
    weights, rights = [weight / mean for weight, _, _ in data], [float(right) for _, _, right in data]
    columns = [column(values) for values in zip(*(signals for _, signals, _ in data), strict=True)]
    share = sum(map(float.__mul__, weights, rights)) / len(data)
    bias = round(math.log(share / (1 - share)), 4)
    scores, trees = [bias] * len(data), []
    draw = random.Random(5)
    for _ in range(TREES):
        chances = [1 / (1 + math.exp(-score)) for score in scores]
        used = [weight * (draw.random() < ROWS) for weight in weights]
        slopes = [weight * (right - chance) for weight, right, chance in zip(used, rights, chances, strict=True)]
        curves = [weight * chance * (1 - chance) for weight, chance in zip(used, chances, strict=True)]
        tree, places = grown(columns, slopes, curves, set(draw.sample(range(len(columns)), SIGNALS)))
        trees.append(tree)
        scores = [score + tree.leaves[place] for score, place in zip(scores, places, strict=True)]
    return bias, trees


def grown(
    columns: Sequence[Column], slopes: Sequence[float], curves: Sequence[float], chosen: Container[int]
) -> tuple[confidence.Tree, list[int]]:
    """Return one tree of the chosen signals and the leaf of each search."""
    places, splits = [0] * len(slopes), []
    for level in range(DEPTH):
        best = [
            max(found)
            for found in zip(
                *(gains(one, at, places, slopes, curves, 1 << level) for at, one in enumerate(columns) if at in chosen), strict=True
            )
        ]
        level_splits = [(-at, cut) for _, at, cut in best]
        splits += level_splits
        for row, place in enumerate(places):
            at, cut = level_splits[place]
            places[row] = 2 * place + (columns[at].values[row] > cut)
    slope, curve = [0.0] * (1 << DEPTH), [0.0] * (1 << DEPTH)
    for place, one, other in zip(places, slopes, curves, strict=True):
        slope[place] += one
        curve[place] += other
    leaves = [round(RATE * one / (other + L2), 4) for one, other in zip(slope, curve, strict=True)]
    return confidence.Tree(tuple(splits), tuple(leaves)), places


def gains(
    one: Column, at: int, places: Sequence[int], slopes: Sequence[float], curves: Sequence[float], nodes: int
) -> list[tuple[float, int, float]]:
    """Return each node's best gain by this signal. With the negated number of the signal, and the cut."""
    size = len(one.cuts) + 1
    slope, curve, count = [0.0] * (nodes * size), [0.0] * (nodes * size), [0] * (nodes * size)
    for place, bin_, first, second in zip(places, one.bins, slopes, curves, strict=True):
        cell = place * size + bin_
        slope[cell] += first
        curve[cell] += second
        count[cell] += 1
    found = []
    for start in range(0, nodes * size, size):
        own = slice(start, start + size)
        all_slope, all_curve, rows_ = sum(slope[own]), sum(curve[own]), sum(count[own])
        best = (0.0, -at, math.inf)
        left_slope = left_curve = 0.0
        left = 0
        for cell, cut in enumerate(one.cuts, start):
            left_slope, left_curve, left = left_slope + slope[cell], left_curve + curve[cell], left + count[cell]
            if LEAST <= left <= rows_ - LEAST:
                parts = left_slope**2 / (left_curve + L2) + (all_slope - left_slope) ** 2 / (all_curve - left_curve + L2)
                best = max(best, (parts - all_slope**2 / (all_curve + L2), -at, float(f"{cut:.4g}")))
        found.append(best)
    return found


def lines(bias: float, trees: Sequence[confidence.Tree]) -> Iterator[str]:
    """Yield the lines of confidence.txt."""
    yield "# Decision trees of the confidence of a search, written by scripts/bench/fit.py; see confidence.py for their form."
    yield f"bias: {bias:.4f}"
    for tree in trees:
        splits = (f"{confidence.NAMES[at]}<{cut:g}" for at, cut in tree.splits)
        yield f"tree: {' '.join(splits)} {' '.join(f'{leaf:.4f}' for leaf in tree.leaves)}"


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
    bias, trees = fit(data)
    FILE.write_text("\n".join(lines(bias, trees)) + "\n", encoding="utf-8")

    def fitted(signals: confidence.Signals) -> float:
        return confidence.probability(signals, bias, trees)

    confidence.of = fitted
    print(f"# {len(data)} searches")
    print("\n".join(bands()))


if __name__ == "__main__":
    main()
