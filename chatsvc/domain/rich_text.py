"""Texts of messages: parsing of their Markdown marks, and preparation for a messaging platform.

Marks are bold, italic, code, links, lists and headings. A text is read once, in linear time, into spans that each front end shows
as it can. An incomplete mark is shown as it is written, and so is a link whose scheme is not http, https, mailto or tel. If the words of a
link name another host than its address, its real host is shown too.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple


class Span(NamedTuple):
    """A piece of text in one style. `link` is the address to which it leads, or ""."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    link: str = ""


_UNSEEN = r"\x00-\x1f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"  # also what turns the direction of text
_CHARACTER = rf"[^\s()<>\[\]{_UNSEEN}]"
_ADDRESS = rf"(?:https?://|mailto:|tel:){_CHARACTER}{{1,2000}}(?:\({_CHARACTER}{{0,200}}\){_CHARACTER}{{0,200}})?"
_TOKEN = re.compile(
    r"\\(?P<escaped>[\\`*_\[\](){}#+.!~>|-])"
    r"|`(?P<code>[^`]{1,1000})`"
    rf"|!?\[(?P<label>[^\[\]]{{1,500}})\]\((?P<target>{_ADDRESS})(?:[ ]\"[^\"\[]{{0,200}}\")?\)"
    rf"|<(?P<automatic>{_ADDRESS})>"
    rf"|(?P<bare>https?://\w[^\s<>\"'`*{_UNSEEN}]*)"
    r"|(?P<literal>\*{4,}|_{4,})"
    r"|(?P<mark>\*\*|__|[*_])",
    re.IGNORECASE,
)
_BARE = re.compile(rf"(?P<bare>https?://\w[^\s<>\"'`*{_UNSEEN}]*)", re.IGNORECASE)
_HOST = re.compile(r"(?:https?://|mailto:[^?@]{0,200}@)(?P<host>[^/?#:@]*)(?P<user>[^/?#]*@)?", re.IGNORECASE)
_NAMED_HOST = re.compile(r"(?<![\w.-])(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w-])")
_BULLET = re.compile(r"(?P<indent>[ \t]{0,12})[-*+][ \t]+(?=\S)")
_HEADING = re.compile(r"#{1,6}[ \t]+(?P<text>\S.*)")
_AFTER_ADDRESS = ".,;:!?)]_"
BULLET = "• "


def spans(text: str) -> list[Span]:
    """Parse the marks of a text, and return its spans."""
    reader = _MarksReader()
    lines = text.split("\n")
    fences = [number for number, line in enumerate(lines) if line.lstrip().startswith("```")]
    opened = dict(zip(fences[::2], fences[1::2], strict=False))
    number = 0
    while number < len(lines):
        if number in opened:
            reader.add(Span("\n".join(lines[number + 1 : opened[number]]), code=True))
            number = opened[number]
        else:
            reader.line(lines[number])
        number += 1
        if number < len(lines):
            reader.add(Span("\n"))
    return reader.spans()


def links(text: str) -> list[Span]:
    """Return a visitor's text as spans in which bare addresses are links. Marks are shown as they are written."""
    reader = _MarksReader()
    reader.tokens(text, Span(""), _BARE)
    return reader.spans()


def plain(text: str) -> str:
    """Return a text without its marks. A link's address follows its words."""
    return "".join(span.text + address_behind(span) for span in spans(text))


def address_behind(span: Span) -> str:
    """Return the text to show behind a link: its address in brackets, or "" if the link's words contain it."""
    address = span.link.removeprefix("mailto:").removeprefix("tel:")
    return f" ({address})" if address and address not in span.text else ""


class _MarksReader:
    """Reader that collects the pieces of a text. A piece that is a string is a mark; it is literal unless its index is in `_pairs`."""

    def __init__(self) -> None:
        self._pieces: list[Span | str] = []
        self._open: dict[str, int] = {}
        self._pairs: set[int] = set()

    def add(self, piece: Span | str) -> None:
        self._pieces.append(piece)

    def line(self, line: str) -> None:
        bullet, heading = _BULLET.match(line), _HEADING.fullmatch(line)
        if bullet or heading or not line.strip():
            # Emphasis may go on in the next line of a paragraph, and no further.
            self._open.clear()
        if bullet:
            self.add(Span(bullet["indent"] + BULLET))
        words = heading["text"].rstrip("# ") if heading else line[bullet.end() :] if bullet else line
        self.tokens(words, Span("", bold=heading is not None), _TOKEN)
        if bullet or heading:
            self._open.clear()

    def tokens(self, text: str, style: Span, pattern: re.Pattern[str]) -> None:
        end = 0
        for token in pattern.finditer(text):
            if token.start() < end:  # behind an address that was cut
                continue
            self.add(style._replace(text=text[end : token.start()]))
            end = token.end()
            kind, value = token.lastgroup, token[token.lastgroup or 0]
            host = _HOST.match(value) if kind in {"bare", "target", "automatic"} else None
            if host and host["user"]:  # what stands before the @ looks like the host
                self.add(style._replace(text=token[0]))
            elif kind == "bare":
                address = value.rstrip(_AFTER_ADDRESS) if "(" not in value else value.rstrip(_AFTER_ADDRESS.replace(")", ""))
                end = token.start() + len(address)
                self.add(style._replace(text=address, link=address))
            elif kind == "target":
                self.tokens(token["label"], style._replace(link=value), _LABEL)
                named = (match[0].lower().removeprefix("www.") for match in _NAMED_HOST.finditer(token["label"]) if host)
                if host and any(not f".{host['host'].lower()}".endswith(f".{name}") for name in named):
                    self.add(style._replace(text=f" ({host['host']})", link=value))
            elif kind == "automatic":
                self.add(style._replace(text=value.removeprefix("mailto:").removeprefix("tel:"), link=value))
            elif kind == "code":
                self.add(style._replace(text=value, code=True))
            elif kind == "mark":
                self._mark(value, text[token.start() - 1 : token.start()], text[end : end + 1])
            else:
                self.add(style._replace(text=value))
        self.add(style._replace(text=text[end:]))

    def _mark(self, mark: str, before: str, after: str) -> None:
        """Pair a mark with its opening mark, or store it as a possible opening one. Marks within words or between spaces are literal."""
        index = len(self._pieces)
        self.add(mark)
        closes = before.strip() != "" and (mark == "**" or not after.isalnum())
        if closes and mark in self._open:
            self._pairs |= {self._open.pop(mark), index}
        elif after.strip() and not before.isalnum():
            self._open[mark] = index

    def spans(self) -> list[Span]:
        """Return the spans. Neighbouring spans of the same style are joined."""
        styled = (span for span in self._styled() if span.text)
        return [Span("".join(span.text for span in group), *style) for style, group in groupby(styled, key=itemgetter(*range(1, 5)))]

    def _styled(self) -> Iterator[Span]:
        bold = italic = False
        for index, piece in enumerate(self._pieces):
            if isinstance(piece, Span):
                yield piece._replace(bold=piece.bold or bold, italic=piece.italic or italic)
            elif index not in self._pairs:
                yield Span(piece, bold, italic)
            elif len(piece) == 2:
                bold = not bold
            else:
                italic = not italic


# Marks that may stand in the words of a link.
_LABEL = re.compile(r"`(?P<code>[^`]{1,500})`|(?P<mark>\*\*|__|[*_])")


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
    """Divide a text into parts of at most `most` units of `length`. Parts preferably end with a paragraph, line, sentence or word."""
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
