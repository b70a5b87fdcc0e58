"""Benchmark of the answers of the embedded engine. It uses CLINC150 (if its JSON file is given) and our own sets of small businesses.

CLINC150 is a bot of 150 entries with `--k` training phrasings each. It is asked the whole test set, with the out-of-scope questions, once
for each seed. Our own sets are in tests/answers/businesses. The vocabulary was made with four of the twelve ("tuned on"), the confidence
was fitted with four more ("weighed on"), and the others are only measured ("held out").
right: share of the questions with an answer that get this answer.
refused: share of the foreign questions that get no answer.
offered: share of the questions without a right answer for which the bot asks back, with the right entry among the first three.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from harness import table

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.answers import judging
from tests.answers.judging import Tally

FIGURES = {
    "@1": "accuracy",
    "@3": "recall3",
    "@5": "recall5",
    "precision": "precision",
    "with foreign": "precision_in_all",
    "right": "answered_rightly",
    "refused": "refused",
    "silent": "silent",
    "offered": "ask_coverage",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clinc", nargs="?", type=Path, help="CLINC150's data_full.json")
    parser.add_argument("--k", type=int, default=10, help="training phrasings an entry (default 10)")
    parser.add_argument("--seeds", type=int, default=3, help="so many draws of them (default 3)")
    parser.add_argument("--json", action="store_true", help="print one JSON value instead of a table")
    options = parser.parse_args()
    rows: dict[str, Tally] = {}
    if options.clinc:
        for seed in range(options.seeds):
            entries, questions = judging.clinc(options.clinc, options.k, seed)
            rows[f"CLINC150, {options.k} phrasings, seed {seed}"] = judging.judge(judging.index_of(entries), questions)
        rows["CLINC150"] = sum(rows.values(), Tally())
    sums: dict[str, Tally] = {}
    for name, language in judging.businesses():
        entries, questions = judging.business(name, language)
        index = judging.index_of(entries)
        part = judging.part(name)
        total = Tally()
        for kind in dict.fromkeys(question.kind for question in questions):
            tally = judging.judge(index, [question for question in questions if question.kind == kind])
            total += tally
            if kind != judging.FOREIGN:
                sums[f"{part}, {kind}"] = sums.get(f"{part}, {kind}", Tally()) + tally
        rows[f"{name}.{language}"] = total
        for group in (f"{part}, {language}", part):
            sums[group] = sums.get(group, Tally()) + total
    rows |= dict(sorted(sums.items()))
    if options.json:
        print(json.dumps({row: {key: round(getattr(tally, key), 4) for key in FIGURES.values()} for row, tally in rows.items()}))
        return
    shares = {row: [f"{getattr(tally, key):.3f}" for key in FIGURES.values()] for row, tally in rows.items()}
    table([["", "asked", "foreign", *FIGURES], *([row, str(rows[row].asked), str(rows[row].foreign), *shares[row]] for row in rows)])


if __name__ == "__main__":
    main()
