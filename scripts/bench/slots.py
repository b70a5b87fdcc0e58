"""How much of tests/answers/slots.tsv is read right: for each slot and language right / all that have it, and wrong finds.

Odd lines are there to work with and shown where they go wrong; of the even ones, held out, only the figures are given.
A find is wrong where the sentence holds nothing of the kind or something else; `nothing` counts sentences that hold nothing.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from time import process_time

from chatsvc.language.values import KINDS, Values, read

FILE = Path(__file__).resolve().parents[2] / "tests" / "answers" / "slots.tsv"
NOW = datetime(2026, 11, 20, 10, 30)  # noqa: DTZ001 - the bot's local wall time, a Friday


@dataclass(frozen=True, slots=True)
class Sentence:
    """One line of the file: what is held, as text by kind, None for nothing."""

    line: int
    language: str
    text: str
    held: dict[str, str | None]


def sentences(path: Path = FILE) -> list[Sentence]:
    """All lines of the file."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        Sentence(line, language, text, {kind: None if value == "-" else value for kind, value in zip(KINDS, held, strict=True)})
        for line, (language, text, *held) in enumerate(rows, 1)
    ]


def found_in(values: Values) -> dict[str, str | None]:
    """The values read, in the words of the file."""
    return {
        "date": values.date.value.isoformat() if values.date else None,
        "time": values.time.value.isoformat("minutes") if values.time else None,
        "email": values.email.value if values.email else None,
        "phone": values.phone.value if values.phone else None,
        "name": values.name.value if values.name else None,
    }


def tally(chosen: Iterable[Sentence]) -> tuple[Counter[tuple[str, str, str]], list[str]]:
    """Counts by (language, kind, `all` or `right` or `wrong`), and each misread sentence."""
    counts: Counter[tuple[str, str, str]] = Counter()
    misread: list[str] = []
    for one in chosen:
        found = found_in(read(one.text, now=NOW))
        wrong = {kind: (one.held[kind], found[kind]) for kind in KINDS if found[kind] != one.held[kind]}
        for kind in KINDS:
            if one.held[kind]:
                counts[one.language, kind, "all"] += 1
                counts[one.language, kind, "right"] += kind not in wrong
            counts[one.language, kind, "wrong"] += kind in wrong and found[kind] is not None
        for kind in ("sentence", *(() if any(one.held.values()) else ("nothing",))):
            counts[one.language, kind, "all"] += 1
            counts[one.language, kind, "right"] += not wrong
        if wrong:
            misread.append(f"{one.line} {one.text} " + "; ".join(f"{kind}: {had} read as {got}" for kind, (had, got) in wrong.items()))
    return counts, misread


def main() -> None:
    """The figures of both halves, and the misread sentences of the first."""
    everything = sentences()
    for title, rest in (("odd lines", 1), ("held out", 0)):
        counts, misread = tally(one for one in everything if one.line % 2 == rest)
        print(f"{title:10}", *(f"{language:>24}" for language in ("tr", "en")))
        for kind in (*KINDS, "nothing", "sentence"):
            cells = ((counts[language, kind, "right"], counts[language, kind, "all"], language) for language in ("tr", "en"))
            print(
                f"{kind:10}",
                *(
                    f"{right:4}/{total:3} {right / max(1, total):6.1%} {counts[lang, kind, 'wrong']:2} wrong"
                    for right, total, lang in cells
                ),
            )
        if rest:
            print(*misread, sep="\n")
    started = process_time()
    for one in everything:
        read(one.text, now=NOW)
    print(f"{(process_time() - started) / len(everything) * 1e6:.0f} us of processor time a sentence")


if __name__ == "__main__":
    sys.exit(main())
