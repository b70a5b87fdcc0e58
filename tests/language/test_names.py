"""Names in messages that were written for it: half to work with, half held out."""

from __future__ import annotations

import csv
import datetime as dt
from pathlib import Path

import pytest

from chatsvc.language.values import read

NOW = dt.datetime(2026, 11, 20, 10, 30)  # noqa: DTZ001 - the bot's local wall time
FILE = Path(__file__).parents[1] / "answers" / "names.tsv"


@pytest.mark.parametrize("half", [0, 1], ids=["to work with", "held out"])
def test_names_are_read_and_hardly_one_where_none_is(half: int) -> None:
    """Each line: the language, what was asked for, the message, its name or a dash."""
    with FILE.open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[half::2]
    named, right, nameless, silent = 0, 0, 0, 0
    for language, asked, text, name in lines:
        found = read(text.replace("\\n", "\n"), now=NOW, asked=asked, country="TR" if language == "tr" else "GB").name
        if name == "-":
            nameless += 1
            silent += found is None
        else:
            named += 1
            right += found is not None and found.value == name
    assert right >= 0.85 * named
    assert silent >= 0.95 * nameless
    assert named > 80


@pytest.mark.parametrize(
    ("text", "asked", "name"),
    [
        ("from 4 to 6 December, two of us, Ferda Keskin, 0533 412 55 67", "", "Ferda Keskin"),
        ("Sıla. Fiyatlar ne kadar?", "name", "Sıla"),
        ("Emreyim", "name", "Emre"),
        ("Arjan de Vries, arjan@example.com", "", "Arjan de Vries"),
        ("adım okan arabamın plakası 34 ABC 12", "", "okan"),
        ("Thanks for the help, Claire", "", None),
        ("Do you mend umbrellas? call 0532 111 22 33", "", None),
        ("perde yıkama 0532 111 22 33", "", None),
        ("can I bring my dog", "name", None),
        ("dolgu fiyatı", "name", None),
        ("sizi şikayet edeceğim", "name", None),
        ("SELECT * FROM randevular", "name", None),
        ("هل تعملون يوم السبت", "name", None),
        ("asdfgh", "name", None),
    ],
)
def test_a_name_alone_or_beside_other_values(text: str, asked: str, name: str | None) -> None:
    found = read(text, now=NOW, asked=asked).name
    assert (found.value if found else None) == name
