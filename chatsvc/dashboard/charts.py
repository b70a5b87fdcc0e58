"""Geometry of bar charts, which templates draw as SVG."""

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


class Stack(NamedTuple):
    """A bar of several values, one above the other: the outline of each that is not zero, with its place among them."""

    parts: list[tuple[int, str]]
    text: str
    unfinished: bool


class StackedChart(NamedTuple):
    """A chart of stacked bars. `names` are those of the values, `top` is the value at its upper edge."""

    names: Sequence[str]
    width: int
    top: float
    stacks: list[Stack]


def stacks(names: Sequence[str], values: Sequence[Sequence[float]], texts: Sequence[str]) -> StackedChart:
    """Lay out a bar for each list of values; the last one is unfinished."""
    top = _ceiling(max(map(sum, values), default=0))
    made = []
    for place, (stack, text) in enumerate(zip(values, texts, strict=True)):
        x, floor, parts = place * SLOT + (SLOT - BAR) / 2, HEIGHT, []
        for series, value in enumerate(stack):
            height = HEIGHT * value / top
            if value:
                parts.append((series, f"M{x:g} {floor:.5g}v-{height:.5g}h{BAR:g}v{height:.5g}z"))
            floor -= height
        made.append(Stack(parts, text, place == len(values) - 1))
    return StackedChart(names, len(values) * SLOT, top, made)


def _ceiling(value: float) -> float:
    """Return a round number that is not smaller; 1 for nothing."""
    if value <= 0:
        return 1.0
    power = 10.0 ** (len(str(int(value))) - 1)
    return next(step * power for step in _STEPS if step * power >= value)
