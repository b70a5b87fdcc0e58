"""Facts of an entry: its sentences, list items, table rows and columns, each under its headings.

A fact is a short text that answers a question: "Instrument hire, per month: Guitar £10", "Deposit: economy 5,000 TL, medium 7,500 TL".
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby, zip_longest
from typing import NamedTuple

from chatsvc.domain.knowledge_files.documents import TABLE_RULE
from chatsvc.domain.models import Entry
from chatsvc.engines import Fact
from chatsvc.engines.knowledge.search.tokens import STOPWORDS, stem
from chatsvc.language.folding import fold, words
from chatsvc.language.wordlists import LanguageWords

MOST = 80  # facts of an entry
_WHOLE = 420  # characters of an answer of prose that is told whole
_TITLE, _TITLE_WORDS, _HEADING_WORDS = 80, 10, 9  # of the name of a sentence, and of a heading that stands before what is told
_FEWEST_LISTED = 2  # prices in a sentence that lists them
_SHARED_WORDS = 3  # of the first name of a list whose others are one word: "saç kesimi kadın 600 TL, erkek 350 TL"
_SHORT_TITLE = 30  # characters of a name before which the heading stands
_LABEL = 60  # characters of the name before a colon
_NEXT = 20  # characters in which the word after a full stop is looked for
_COLUMN = 30  # rows of a column that are told

_END = re.compile(r"(?<=[.!?…])\s+(?=[\"“(]?[\dA-ZÇĞİÖŞÜ€$£₺])|\n+")
_ITEM = re.compile(r"^\s*(?:[-*+•–·]\s+|\d{1,2}[.)]\s+(?![a-zçğıöşü]))")  # "14. haftadan" begins with an ordinal
_PIECE = re.compile(r"(?:[,;](?!\d)|\.(?=\s))\s*(?![^()]*\))")
_AND = re.compile(r"\A(?:and|or|ve|veya|ya da)\s+")
_DOTS = re.compile(r"[ \t]{0,20}(?:\.{3,40}|_{3,40}|…)[ \t]*(?=[\d₺$€£])")  # between a name and its price
_PLAIN_HEADS = frozenset({"price", "fiyat", "ucret", "fee", "cost", "answer", "yanit", "cevap"})  # say nothing that their cells do not
_MARKS = re.compile(r"\*\*|__|`")
_MONEY = re.compile(
    r"[₺$€£]\s?\d|\d\s?(?:[₺$€£]|(?:tl|try|lira|usd|eur|gbp|chf|euros?|avro|dolar|dollars?|pounds?|sterlin|pence|p)\b)"
    r"|\b(?:free|ücretsiz|bedava|complimentary)\b",
    re.IGNORECASE,
)
_PRICED = re.compile(_MONEY.pattern.partition("|\\b(?:free")[0], re.IGNORECASE)
_KINDS = {
    "money": _MONEY,
    "clock": re.compile(r"\b\d{1,2}[:.]\d\d\b|\b\d{1,2}\s?(?:am|pm)\b|\b(?:noon|midnight|öğlen|gece yarısı)\b", re.IGNORECASE),
    "length": re.compile(
        r"\d\s?(?:-\s?\d+\s)?(?:(?:working |business |iş )?"
        r"(?:days?|hours?|minutes?|mins?|weeks?|months?|years?|gün|saat|dakika|dk|hafta|ay|yıl|sezon|seans)\w{0,6})\b",
        re.IGNORECASE,
    ),
    "number": re.compile(r"\+?\d[\d\s()/-]{7,}\d|\S@\S"),
}
_FILE = LanguageWords("search.txt")
_ABBREVIATIONS, _BEFORE_NUMBERS = _FILE.words("abbreviations"), _FILE.words("abbreviations_before_numbers")
_AFTER_ORDINALS, _LEANING = _FILE.words("after_ordinals"), _FILE.words("leaning")


class ReadFact(NamedTuple):
    """A fact with the data by which it is found: its own words, those of its headings, and the kinds of amounts in it."""

    fact: Fact
    own: str
    head: str
    kinds: frozenset[str]
    name: str = ""  # of a row, a column, or what stands before a colon
    over: str = ""  # what is told before the cells of a row or column, or before a sentence
    cells: tuple[tuple[str, str], ...] = ()  # of a row or column: (head of the column or name of the row, cell)


def kinds_of(text: str) -> frozenset[str]:
    """Return the kinds of amounts in a text: "money", "clock", "length", "number"."""
    return frozenset(kind for kind, pattern in _KINDS.items() if pattern.search(text))


def sentences(text: str) -> list[str]:
    """Split a text into sentences and lines. A full stop behind an abbreviation, an initial or an ordinal does not end a sentence."""
    parts: list[str] = []
    start = 0
    for end in _END.finditer(text):
        if "\n" in end[0] or not _is_abbreviated(text[start : end.start()], text[end.end() :]):
            parts.append(text[start : end.start()])
            start = end.end()
    return [part for part in (*parts, text[start:]) if part.strip()]


def _is_abbreviated(before: str, after: str) -> bool:
    last = fold(before.rpartition(" ")[2].rpartition("\n")[2].lstrip("(/-"))
    if not last.endswith(".") or last.endswith(".."):
        return False
    last = last[:-1]
    if last.isdigit():
        return (words(after[:_NEXT]) or [""])[0] in _AFTER_ORDINALS
    if after[:1].isdigit():
        return last in _BEFORE_NUMBERS or last in _ABBREVIATIONS
    return last in _ABBREVIATIONS or (len(last) == 1 and last.isalpha() and last != "i")


def parts_of(entry: Entry) -> tuple[ReadFact, ...]:
    """Return the facts of an entry, in order."""
    return tuple(_Reader(entry).parts[:MOST])


@lru_cache(maxsize=512)
def whole(entry: Entry) -> Fact:
    """Return the whole section of an entry as one fact, for a visitor who chooses it."""
    name, lines, parts = heading_of(entry), list[str](), parts_of(entry)
    for part in parts:
        if not part.cells:
            lines.append(part.own)
        elif part.own != part.name:  # a row; the columns say the same
            lines.append(f"- {part.name}: {listed(part.cells)}")
    text = "\n".join(lines) if any(part.cells for part in parts) else entry.answer
    return Fact(entry, name or short(entry.question), f"{name}\n\n{text}" if name else text, name or entry.question)


def heading_of(entry: Entry) -> str:
    """Return the heading of an entry: its question field, or "" if that has a real question or a sentence."""
    head = entry.question.strip().rstrip(":")
    return head if "?" not in head and len(head.split()) <= _HEADING_WORDS and head[-1:] not in ".!…" else ""


def short(text: str) -> str:
    """Return a short name for a text: the text itself, or the first words of a long text."""
    given = _MARKS.sub("", text).split()
    name = " ".join(given).rstrip(" ,.;:!")
    return name if len(name) <= _TITLE else f"{' '.join(given[:_TITLE_WORDS]).rstrip(' ,.;:!')} …"


class _Reader:
    def __init__(self, entry: Entry) -> None:
        self.entry, self.heading = entry, heading_of(entry)
        self.parts: list[ReadFact] = []
        answer = _DOTS.sub(": ", _MARKS.sub("", entry.answer))
        lines = groupby(answer.split("\n"), key=lambda line: is_row(line) if line.strip() else None)
        blocks = [list(block) for kind, block in lines if kind is not None]
        is_asked = "?" in entry.question or bool(entry.alt and not self.heading)
        if is_asked and len(answer) <= _WHOLE and not any(is_row(block[0]) for block in blocks):
            name = self.heading or short(entry.question)
            self.parts.append(ReadFact(Fact(entry, name, entry.answer, name), answer, "", kinds_of(answer)))
            return
        for block in blocks:
            if len(self.parts) >= MOST:
                break
            if is_row(block[0]):
                is_ruled = len(block) > 1 and bool(TABLE_RULE.fullmatch(block[1]))
                rows = [_cells_of(line) for line in block if not TABLE_RULE.fullmatch(line)]
                first, *rest = (any(map(str.isdigit, "".join(row[1:]))) for row in rows)  # amounts: those of heads are below
                self._table(rows, rows[0] if len(rows) > 1 and (is_ruled or (any(rest) and not first)) else [])
            else:
                self._lines(block)
        if not self.parts:
            self._add(short(answer), answer, answer, "")

    def _add(
        self, title: str, text: str, own: str, head: str, name: str = "", over: str = "", cells: Sequence[tuple[str, str]] = ()
    ) -> None:
        if name and self.heading and len(title) <= _SHORT_TITLE and not _names({stem(word) for word in words(title)}, self.heading):
            title = f"{self.heading}: {title}"
        fact = Fact(self.entry, title[:80], text, title)
        self.parts.append(ReadFact(fact, own, head, kinds_of(text), name, over, tuple(cells)))

    def _over(self, text: str, label: str = "") -> str:
        """Return the headings to put before a text, joined by commas. Headings that the text itself names are left out."""
        given = {stem(word) for word in words(text)}
        return ", ".join(dict.fromkeys(head for head in (self.heading, label) if head and not _names(given, head)))

    def _under(self, text: str, label: str = "") -> str:
        return f"{over}: {text}" if (over := self._over(text, label)) else text

    def _lines(self, lines: Sequence[str]) -> None:
        label = ""
        for line in lines:
            if item := _ITEM.match(line):
                self._sentence(line[item.end() :].strip(), label, "")
                continue
            if line.rstrip().endswith(":"):
                label = line.strip().rstrip(":")
                continue
            before = ""
            for sentence in sentences(line.strip()):
                if sentence.endswith("?"):
                    label = sentence.rstrip("?")
                    continue
                self._sentence(sentence, label, before)
                before = sentence

    def _sentence(self, text: str, label: str, before: str) -> None:
        name, colon, rest = text.partition(": ")
        if not colon or len(name) > _LABEL or not rest.strip():
            name, rest = "", text
        pieces = [_AND.sub("", piece.strip(" .")) for piece in _PIECE.split(rest) if piece.strip(" .")]
        is_list = len(pieces) >= _FEWEST_LISTED and all(_PRICED.search(piece) and not _PRICED.match(piece) for piece in pieces)
        named = [len(words(_PRICED.split(piece)[0].rstrip(" 0123456789.,"))) for piece in pieces] if is_list else []
        if is_list and not (named[0] >= _SHARED_WORDS and set(named[1:]) == {1}):
            over = ", ".join(filter(None, (label, name)))
            for piece in pieces:
                title = _PRICED.split(piece)[0].rstrip(" 0123456789.,") or piece
                text = self._under(piece, over)
                first = "İ" if text[0] == "i" and self.entry.language.startswith("tr") else text[0].upper()
                shown = ", ".join(filter(None, (name, piece if len(piece) <= _LABEL else title)))
                self._add(shown, first + text[1:], piece, f"{self.heading} {over}", title)
            return
        statement = f"{before} {text}" if before and (words(text) or [""])[0] in _LEANING else text
        title, over = name if name and not label else short(text), self._over(statement, label)
        self._add(title, self._under(statement, label), text, f"{self.heading} {label}", name, over)

    def _table(self, rows: list[list[str]], heads: list[str]) -> None:
        body = rows[1:] if heads else rows
        if body and all(len(row) == len(heads) + 1 for row in body):  # the names of the rows have no head
            heads = heads and ["", *heads]
        for row in body:
            cells = [(head, cell) for head, cell in zip_longest(heads, row, fillvalue="") if cell and cell != "-"]
            if not cells:
                continue
            (_, name), *others = cells
            if len(others) == 1:
                head, cell = others[0]
                is_plain = len(heads) != 2 or fold(head) in _PLAIN_HEADS
                text = self._under(f"{name} {cell}" if len(heads) == 2 else f"{name}: {cell}", "" if is_plain else head)
            else:
                text = self._under(f"{name}: {listed(others)}" if others else name)
            self._add(name, text, " ".join(row), f"{self.heading} {' '.join(heads)}", name, self._under(name), others)
        for column in range(1, len(heads)):
            cells = [(row[0], row[column]) for row in body if len(row) > column and row[0] and row[column] not in ("", "-")]
            if len(cells) > 1 and len(heads) > 2 and len(cells) <= _COLUMN:
                head, over = heads[column], self._under(heads[column])
                self._add(head, f"{over}: {listed(cells)}", head, f"{self.heading} {heads[0]}", head, over, cells)


def listed(cells: Sequence[tuple[str, str]]) -> str:
    """Join the cells of a table, each after its column or row head: "economy 5,000 TL, medium 7,500 TL"."""
    return ", ".join(f"{head} {cell}".strip() for head, cell in cells)


def _names(given: set[str], head: str) -> bool:
    """Return whether a text names a heading by one of its content words. `given` are the stems of the text's words."""
    telling = {stem(word) for word in words(head) if word not in STOPWORDS}
    return not telling or not telling.isdisjoint(given)


def is_row(line: str) -> bool:
    has_semicolons = line.count(";") > 1 and line.rstrip()[-1] not in ".!?"
    return has_semicolons or line.lstrip().startswith("|") or " | " in line or "\t" in line.strip()


def _cells_of(line: str) -> list[str]:
    line = line.strip(" ") if "|" in line else line.replace("\t" if "\t" in line.strip() else ";", "|")
    return [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]
