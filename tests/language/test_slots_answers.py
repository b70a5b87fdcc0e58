"""Whole files of sentences: slots.tsv with a floor for each kind, and the forms a kind is written in, each of which is read."""

from __future__ import annotations

import csv
from collections import Counter
from datetime import datetime
from pathlib import Path

import pytest

from chatsvc.language.values import KINDS, read

HERE = Path(__file__).parent
NOW = datetime(2026, 11, 20, 10, 30)  # noqa: DTZ001 - the bot's local wall time, a Friday
FLOORS = {"date": 0.97, "time": 0.95, "email": 0.99, "phone": 0.99, "name": 0.90, "nothing": 0.99}
Held = tuple[str | None, ...]


def rows(path: Path) -> list[tuple[str, Held]]:
    """Each sentence of a file with what it holds, in the order of KINDS."""
    with path.open(encoding="utf-8", newline="") as file:
        found = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(text.replace("\\n", "\n"), tuple(None if one == "-" else one for one in held)) for _, text, *held in found]


def found_in(text: str) -> Held:
    values = read(text, now=NOW)
    day = values.date.value.isoformat() if values.date else None
    clock = values.time.value.isoformat("minutes") if values.time else None
    return day, clock, *(one.value if one else None for one in (values.email, values.phone, values.name))


@pytest.mark.parametrize("half", [1, 0], ids=["odd lines", "even lines"])
def test_each_kind_is_read_as_often_as_promised(half: int) -> None:
    every: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for number, (text, held) in enumerate(rows(HERE.parent / "answers" / "slots.tsv"), 1):
        if number % 2 != half:
            continue
        found = found_in(text)
        for kind, one, other in zip(KINDS, held, found, strict=True):
            if one is not None:
                every[kind] += 1
                right[kind] += one == other
        if not any(held):
            every["nothing"] += 1
            right["nothing"] += not any(found)
    assert {kind: right[kind] / every[kind] for kind, floor in FLOORS.items() if right[kind] < floor * every[kind]} == {}


@pytest.mark.parametrize("language", ["tr", "en"])
def test_every_form_is_read(language: str) -> None:
    told = rows(HERE / f"slots_forms_{language}.tsv")
    assert len(told) > 700
    read_forms = [(text, held, found_in(text)) for text, held in told]
    wrong = [(text, held, found) for text, held, found in read_forms if found[:4] != held[:4]]
    assert len(wrong) <= 0.02 * len(read_forms), wrong
    named = [(held[4], found[4]) for _, held, found in read_forms if held[4]]
    assert sum(name == found for name, found in named) >= 0.85 * len(named)
