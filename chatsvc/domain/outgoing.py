"""Preparation of message texts for a messaging platform. Long texts are divided."""

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
        cut = cuts[0] if cuts else end
        parts.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return [*parts, rest] if rest else parts
