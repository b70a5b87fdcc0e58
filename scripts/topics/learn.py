"""Learns the engine's topics from the sentences beside this script. Run it by hand when sentences or lexicon change.

    .venv/bin/python scripts/topics/learn.py

A sentence file holds topics: `# name`, and below it what visitors write who want to know about it, a sentence a line, in both languages.
For each stem and concept that occurs the topics are kept in which it is used most, with how much it says at all: what occurs in many
topics says little. The result is the same on every machine; tests/engines/knowledge/test_topics.py holds it against the sentences.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from chatsvc.engines.knowledge.search import lexicon, topics
from chatsvc.language.folding import words

SENTENCES = Path(__file__).parent
DATA = Path(__file__).resolve().parents[2] / "chatsvc/engines/knowledge/search/topics.txt"
MOST = 12  # topics of a feature that are kept
RARITY = 1.5  # exponent of how much rarity counts
SHARE = 10_000  # a share of 1.0 as a whole number


def read() -> dict[str, list[str]]:
    """Topic -> its sentences; a topic may stand in several files."""
    found: dict[str, list[str]] = {}
    for path in sorted(SENTENCES.glob("*.txt")):
        name = ""
        for line in filter(None, map(str.strip, path.read_text(encoding="utf-8").splitlines())):
            if line.startswith("# "):
                name = line[2:]
                found.setdefault(name, [])
            elif not name:
                raise ValueError(f"{path}: a sentence before the first topic: {line}")
            else:
                found[name].append(line)
    return found


def learn(sentences: dict[str, list[str]]) -> Iterator[str]:
    """The lines of the data; see chatsvc.engines.knowledge.search.topics.Topics for their form."""
    yield topics.HEADER
    yield "\t".join(sentences)
    used: dict[str, dict[int, int]] = {}  # feature -> topic -> in how many of its sentences
    for topic, said in enumerate(sentences.values()):
        counts = Counter(feature for line in said for feature in topics.features_of(words(line), lexicon.shared()))
        for feature, count in counts.items():
            used.setdefault(feature, {})[topic] = count
    for feature, counted in sorted(used.items()):
        weight = math.log(1 + len(sentences) / len(counted)) ** RARITY
        first = sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:MOST]
        shares = [(topic, 1 + math.log(count)) for topic, count in first]
        length = math.sqrt(sum(share * share for _, share in shares))
        numbers = [round(100 * weight), *(number for topic, share in shares for number in (topic, round(SHARE * share / length)))]
        yield " ".join((feature, *map(str, numbers)))


def main() -> None:
    """See the module's docstring."""
    sentences = read()
    lines = list(learn(sentences))
    DATA.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(sentences)} topics, {sum(map(len, sentences.values()))} sentences, {len(lines) - 1} features")


if __name__ == "__main__":
    main()
