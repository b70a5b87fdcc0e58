"""Geometry of bar charts, which templates draw as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

SLOT, BAR, HEIGHT = 10, 7.0, 100.0  # in units of the drawing, which is stretched to the page
_STEPS = (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)


class Bar(NamedTuple):
    """A bar: its place in the drawing and its text; `unfinished` is drawn dashed."""

    x: float
    y: float
    height: float
    text: str
    unfinished: bool


class Chart(NamedTuple):
    """A bar chart. `top` is the value at its upper edge."""

    width: int
    top: float
    bars: list[Bar]


def bars(values: Sequence[float], texts: Sequence[str]) -> Chart:
    """Lay out a bar for each value; the last one is unfinished."""
    top = _ceiling(max(values, default=0))
    made = []
    for place, (value, text) in enumerate(zip(values, texts, strict=True)):
        height = round(HEIGHT * value / top, 2)
        made.append(Bar(place * SLOT + (SLOT - BAR) / 2, round(HEIGHT - height, 2), height, text, place == len(values) - 1))
    return Chart(len(values) * SLOT, top, made)


def _ceiling(value: float) -> float:
    """Return a round number that is not smaller; 1 for nothing."""
    if value <= 0:
        return 1.0
    power = 10.0 ** (len(str(int(value))) - 1)
    return next(step * power for step in _STEPS if step * power >= value)
