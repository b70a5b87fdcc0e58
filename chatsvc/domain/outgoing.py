"""Preparation of message texts for a messaging platform. Long texts are divided."""

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence


def without_choices(text: str, choices: Sequence[str]) -> str:
    """Return a text without the list of choices at its end, for channels that show choices as buttons."""
    lines = text.rstrip().split("\n")
    if len(lines) > len(choices) and [line.removeprefix("- ") for line in lines[-len(choices) :]] == list(choices):
        return "\n".join(lines[: -len(choices)]).rstrip()
    listed = f" ({' / '.join(choices)})"
    return text.rstrip()[: -len(listed)] if text.rstrip().casefold().endswith(listed.casefold()) else text


# Places where a long text is divided, the best first; the separator stays with the part before it.
_SEPARATORS = ("\n\n", "\n", ". ", " ")


def split(text: str, most: int, length: Callable[[str], int] = len) -> list[str]:
    """Divide a text into parts of at most `most` units. If possible, parts end with a paragraph, line, sentence or word."""
    parts = []
    rest = text.strip()
    while length(rest) > most:
        end = max(1, bisect_right(range(min(len(rest), most) + 1), most, key=lambda count: length(rest[:count])) - 1)
        head = rest[:end]
        # A separator in the first half would leave a short part.
        cuts = [head.rfind(mark) + len(mark) for mark in _SEPARATORS if head.rfind(mark) >= end // 2]
        # The last one that divides no character of several code points.
        indexes = (index for index in range(end, max(1, end - _MOST_MARKS), -1) if not _joins(rest, index))
        cut = cuts[0] if cuts else next(indexes, end)
        parts.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return [*parts, rest] if rest else parts


_JOINER, _MOST_MARKS = "\u200d", 64


def _joins(text: str, index: int) -> bool:
    """Return whether an index divides a character that consists of several code points."""
    before, after = text[index - 1], text[index]
    if _JOINER in (before, after) or "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":
        return True
    if unicodedata.category(after).startswith("M"):
        return True
    # Two letters of a region are a flag.
    letters = 0
    while letters < index and "\U0001f1e6" <= text[index - 1 - letters] <= "\U0001f1ff":
        letters += 1
    return letters % 2 == 1 and "\U0001f1e6" <= after <= "\U0001f1ff"
