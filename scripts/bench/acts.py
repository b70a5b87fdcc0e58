"""Accuracy of acts and kinds of questions on sentences held out of the training.

Every fifth sentence is held out.

acts: share of the sentences whose act is right; kinds: share of the questions whose kind is right; train: seconds of both trainings;
one: milliseconds of processor time for one sentence. Beneath each line stand the most frequent mistakes.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from chatsvc.language import linear, sentences

HELD_OUT = 5  # one sentence of so many
SHOWN = 8  # mistakes


def main() -> None:
    """Print the figures of each language."""
    for folder in sorted(path for path in sentences.FOLDER.iterdir() if (path / "sentences").is_dir()):
        given = sentences.read(folder.name)
        kept, held = [one for at, one in enumerate(given) if at % HELD_OUT], given[::HELD_OUT]
        acts, act_s = _told(kept, held, "act")
        kinds, kind_s = _told([one for one in kept if one.act == "ask"], [one for one in held if one.act == "ask"], "kind")
        took_ms = (act_s[1] + kind_s[1]) * 1000 / len(held)
        print(f"{folder.name}: {len(given)} sentences, acts {_right(acts):.3f}, kinds {_right(kinds):.3f}, ", end="")
        print(f"train {act_s[0] + kind_s[0]:.1f} s, one {took_ms:.2f} ms")
        for told in (acts, kinds):
            wrong = Counter({pair: count for pair, count in told.items() if pair[0] != pair[1]})
            print("  " + ", ".join(f"{right} as {told_} {count}" for (right, told_), count in wrong.most_common(SHOWN)))


def _told(
    kept: Sequence[sentences.TrainingSentence], held: Sequence[sentences.TrainingSentence], label: str
) -> tuple[Counter[tuple[str, str]], tuple[float, float]]:
    """Count the pairs of right and told labels, and measure training and telling in seconds."""
    started = process_time()
    model = linear.train((getattr(one, label), one.text, one.asked) for one in kept)
    trained = process_time()
    told = Counter((getattr(one, label), model.best(one.text, one.asked)) for one in held)
    return told, (trained - started, process_time() - trained)


def _right(told: Counter[tuple[str, str]]) -> float:
    return sum(count for (right, told_), count in told.items() if right == told_) / told.total()


if __name__ == "__main__":
    main()
