"""Accuracy of acts and kinds of questions by cross-validation over the training sentences: five times a fifth is held out.

acts: share of the sentences whose act is right; kinds: share of the questions whose kind is right; sure: share of the sentences told with a
probability of .7 or more, and the share of these that is right; train: seconds of one training; one: milliseconds of processor time for one
sentence. Beneath stand the most frequent mistakes, with an example, and the share that is right by probability.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from chatsvc.language import acts, linear, sentences

FOLDS = 5
SHOWN = 12  # mistakes
SURE = 0.7

Told = tuple[str, str, float, str]  # right label, label told, its probability, text


def main() -> None:
    """Print the figures of each language."""
    for folder in sorted(path for path in sentences.FOLDER.iterdir() if (path / "sentences").is_dir()):
        given = sentences.read(folder.name)
        told: tuple[list[Told], list[Told]] = ([], [])
        train_s = read_s = 0.0
        for fold in range(FOLDS):
            started = process_time()
            table = acts.trained([one for at, one in enumerate(given) if at % FOLDS != fold])[32:]
            trained = process_time()
            for one in given[fold::FOLDS]:
                reading = acts.reading(table, one.text, one.asked)
                told[0].append(_told(one.act, reading.acts, one.text))
                if one.act == "ask":
                    told[1].append(_told(one.kind, reading.kinds, one.text))
            train_s, read_s = train_s + trained - started, read_s + process_time() - trained
        print(f"{folder.name}: {len(given)} sentences, acts {_right(told[0]):.3f}, kinds {_right(told[1]):.3f}, ", end="")
        print(f"train {train_s / FOLDS:.1f} s, one {read_s * 1000 / len(given):.2f} ms")
        for name, found in zip(("acts", "kinds"), told, strict=True):
            _print(name, found)


def _told(right: str, probabilities: Mapping[str, float], text: str) -> Told:
    label = linear.best(probabilities)
    return right, label, probabilities[label], text


def _print(name: str, told: Sequence[Told]) -> None:
    sure = [one for one in told if one[2] >= SURE]
    print(f"  {name}: sure {len(sure) / len(told):.3f}, of these right {_right(sure):.3f};", end="")
    for least in range(2, 10):
        found = [one for one in told if least <= 10 * one[2] < least + 1]
        print(f" .{least}: {_right(found):.2f} ({len(found)})", end="")
    print()
    wrong = Counter((right, label) for right, label, _, _ in told if right != label)
    for (right, label), count in wrong.most_common(SHOWN):
        example = max((one for one in told if one[:2] == (right, label)), key=lambda one: one[2])
        print(f"    {right} as {label} {count}: {example[3]} ({example[2]:.2f})")


def _right(told: Sequence[Told]) -> float:
    return sum(right == label for right, label, _, _ in told) / max(1, len(told))


if __name__ == "__main__":
    main()
