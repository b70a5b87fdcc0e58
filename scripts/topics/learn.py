"""Learns the engine's topics from the sentence files in this folder. Run it by hand when sentences or lexicon change.

    .venv/bin/python scripts/topics/learn.py

A sentence file contains topics. `# name` begins a topic, and each line below is a sentence of visitors who ask about it, in both languages.
For each stem and concept, the topics in which it is used most are stored, with a weight: a word that occurs in many topics has a low
weight. Each topic also gets coordinates in a space of few dimensions, in which topics with the same words are close together (latent
semantic analysis). The result is the same on every machine.

The committed table was learned before the last changes of the lexicon: learned now, some twenty lines differ, and of the held-out questions
one more has the right entry first and one less has it among the first three. Measure a new table with scripts/bench/answers first.
"""

from __future__ import annotations

import math
import random
import sys
from collections import Counter
from collections.abc import Iterator
from operator import mul
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from chatsvc.engines.knowledge.search import evidence, lexicon, topics
from chatsvc.language.folding import words

SENTENCES = Path(__file__).parent
DATA = Path(__file__).resolve().parents[2] / "chatsvc/languages/topics.txt"
MOST, WRITTEN = 12, 6  # topics of a feature that are learned from, and that the table has
RARITY = 1.5  # exponent of how much rarity counts
ROUNDS, SPARE = 8, 8  # of the search for directions, and directions that are looked for besides
HEADER = (
    "# Topics: names; places, a letter a coordinate; a feature a line, its weight, and a topic in three letters: number, root of share."
)


def read() -> dict[str, list[str]]:
    """Return the sentences of each topic, which may be in several files."""
    sentences: dict[str, list[str]] = {}
    for path in sorted(SENTENCES.glob("*.txt")):
        name = ""
        for line in filter(None, map(str.strip, path.read_text(encoding="utf-8").splitlines())):
            if line.startswith("# "):
                name = line[2:]
                sentences.setdefault(name, [])
            elif not name:
                raise ValueError(f"{path}: a sentence before the first topic: {line}")
            else:
                sentences[name].append(line)
    return sentences


def learn(sentences: dict[str, list[str]]) -> Iterator[str]:
    """Yield the lines of the topics file, in the format that chatsvc.engines.knowledge.search.topics.Topics reads."""
    yield HEADER
    yield "\t".join(sentences)
    used: dict[str, dict[int, int]] = {}  # feature -> topic -> in how many of its sentences
    for topic, texts in enumerate(sentences.values()):
        counts = Counter(feature for line in texts for feature in evidence.features(words(line), lexicon.shared()))
        for feature, count in counts.items():
            used.setdefault(feature, {})[topic] = count
    rows = list(_rows(used, len(sentences)))
    yield "\t".join(_places(rows, len(sentences)))
    for feature, weight, shares in rows:
        numbers = [number for topic, share in shares[:WRITTEN] for number in (*divmod(topic, 64), max(1, round(63 * math.sqrt(share))))]
        yield f"{feature} {round(100 * weight)} {''.join(topics.LEVELS[number] for number in numbers)}"


def _rows(used: dict[str, dict[int, int]], count: int) -> Iterator[tuple[str, float, list[tuple[int, float]]]]:
    """Yield each feature with its weight and the shares of its topics."""
    for feature, counted in sorted(used.items()):
        weight = math.log(1 + count / len(counted)) ** RARITY
        first = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:MOST]
        shares = [(topic, 1 + math.log(uses)) for topic, uses in first]
        length = math.sqrt(sum(share * share for _, share in shares))
        yield feature, weight, [(topic, share / length) for topic, share in shares]


def _places(rows: list[tuple[str, float, list[tuple[int, float]]]], count: int) -> Iterator[str]:
    """Yield the coordinates of each topic along the directions in which the topics' features differ most."""
    lengths = [0.0] * count
    for _, weight, shares in rows:
        for topic, share in shares:
            lengths[topic] += (weight * share) ** 2
    alike = [[0.0] * count for _ in range(count)]
    for _, weight, shares in rows:
        scaled = [(topic, weight * share / math.sqrt(lengths[topic])) for topic, share in shares]
        for topic, value in scaled:
            line = alike[topic]
            for other, more in scaled:
                line[other] += value * more
    chance = random.Random(0)
    space = [[chance.uniform(-1, 1) for _ in range(count)] for _ in range(topics.DIMENSIONS + SPARE)]
    for _ in range(ROUNDS):
        space = _orthogonal([[sum(map(mul, line, vector)) for line in alike] for vector in space])
    most = max(abs(value) for vector in space[: topics.DIMENSIONS] for value in vector)
    last = 2 * topics.ZERO
    for coordinates in zip(*space[: topics.DIMENSIONS], strict=True):
        yield "".join(topics.LEVELS[round((value / most + 1) / 2 * last)] for value in coordinates)


def _orthogonal(vectors: list[list[float]]) -> list[list[float]]:
    orthogonal: list[list[float]] = []
    for vector in vectors:
        rest = vector
        for other in orthogonal:
            along = sum(map(mul, rest, other))
            rest = [value - along * more for value, more in zip(rest, other, strict=True)]
        length = math.sqrt(sum(map(mul, rest, rest))) or 1.0
        orthogonal.append([value / length for value in rest])
    return orthogonal


def main() -> None:
    sentences = read()
    lines = list(learn(sentences))
    DATA.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(sentences)} topics, {sum(map(len, sentences.values()))} sentences, {len(lines) - 3} features")


if __name__ == "__main__":
    main()
