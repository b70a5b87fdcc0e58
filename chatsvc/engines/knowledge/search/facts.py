"""Facts of an entry: its sentences, list items and table rows, each with the words that stand over it."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from chatsvc.domain.models import Entry
from chatsvc.engines.knowledge.search import amounts
from chatsvc.engines.knowledge.search.sentence_splitting import SentenceSplitter

MOST = 60  # facts of an entry
_ITEM = re.compile(r"^\s*(?:[-*+•–·]\s+|\d{1,2}[.)]\s+(?![a-zçğıöşü]))")  # "14. haftadan" begins with an ordinal
_RULE = re.compile(r"[\s|:\-]+")
_PIECE = re.compile(r"(?:[,;](?!\d)|\.(?=\s))\s*(?![^()]*\))")
TITLE = 40  # characters of a title that may stand in front of a fact
_FEWEST_LISTED = 3  # prices in a sentence that lists them
_LABEL = 60  # characters of the name of an item in a list within a sentence


def _all(name: str) -> frozenset[str]:
    return frozenset(item for file in amounts.FILES.values() for item in file.items(name))


_SENTENCES = SentenceSplitter(_all("abbreviations"), _all("abbreviations_before_numbers"), _all("after_ordinals"))
LEANING = _all("leaning")


class StatedFact(NamedTuple):
    """A sentence, an item or a row. `head` is what stands over it in its entry; `cells` are a row's (column head, cell)."""

    text: str
    head: str
    block: int  # number of the paragraph, list or table
    cells: tuple[tuple[str, str], ...] = ()
    is_item: bool = False


class Option(NamedTuple):
    """Something with an amount, in a row, an item or a part of a sentence."""

    name: str
    amount: str
    number: float
    column: str = ""
    unit: str = ""  # behind the amount: "per person"


def sentences(text: str) -> list[str]:
    """Split a text into sentences and lines, each as it stands there."""
    return _SENTENCES.split(text)


def of(entry: Entry) -> tuple[StatedFact, ...]:
    """Return the facts of an entry's answer, in order."""
    found: list[StatedFact] = []
    for block, lines in enumerate(_blocks(entry.answer)):
        if len(found) >= MOST:
            break
        found.extend(_facts(lines, block))
    return tuple(found[:MOST]) or (StatedFact(entry.answer, "", 0),)


def _blocks(answer: str) -> Iterator[list[str]]:
    """Yield the paragraphs, lists and tables. A line before a list that ends with a colon belongs to it."""
    block: list[str] = []
    for line in answer.split("\n"):
        if not line.strip():
            if block:
                yield block
            block = []
            continue
        if block and _is_row(block[-1]) != _is_row(line):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _is_row(line: str) -> bool:
    return line.lstrip().startswith("|") or " | " in line


def _facts(lines: Sequence[str], block: int) -> Iterator[StatedFact]:
    if _is_row(lines[0]):
        yield from _rows(lines, block)
        return
    head = ""
    for line in lines:
        item = _ITEM.match(line)
        if item:
            yield StatedFact(line[item.end() :].strip(), head, block, is_item=True)
            continue
        if line.rstrip().endswith(":"):
            head = line.strip()
            continue
        asked, stated = "", _SENTENCES.split(line.strip())
        for at, sentence in enumerate(stated):
            if sentence.endswith("?") and at + 1 < len(stated):
                asked = sentence  # the owner's own question, which the sentences behind it answer
            else:
                yield from _listed(sentence, head or asked, block)


def _listed(sentence: str, head: str, block: int) -> Iterator[StatedFact]:
    """Yield the parts of a sentence that lists things with their prices, else the sentence: "Nail trim £10, teeth £12, flea bath £8."."""
    parts = [part for part in _PIECE.split(sentence) if part.strip()]
    named = [part for part in parts if any(value.kind == "money" and _bare(part[: value.start]) for value in amounts.read(part).values)]
    if ": " in sentence or len(parts) < _FEWEST_LISTED or len(named) < len(parts):
        yield StatedFact(sentence, head, block)
        return
    for part in parts:
        yield StatedFact(_bare(part), head, block, is_item=True)


def _rows(lines: Sequence[str], block: int) -> Iterator[StatedFact]:
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines if not _RULE.fullmatch(line)]
    if not rows:
        return
    ruled = len(lines) > 1 and bool(_RULE.fullmatch(lines[1]))
    if ruled and lines[0].strip().startswith("|"):  # an empty first cell is one
        rows[0] = [cell.strip() for cell in lines[0].strip()[1:].rstrip("|").split("|")]
    heads = rows[0] if ruled or _is_head(rows) else []
    for row in rows[1:] if heads else rows:
        if not any(row):
            continue
        cells = tuple((heads[at] if at < len(heads) else "", cell) for at, cell in enumerate(row) if cell)
        yield StatedFact(said(cells), " ".join(heads), block, cells, is_item=True)


def _is_head(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row names the columns: it states no amount, and others do."""
    if len(rows) < 2:
        return False
    return not amounts.read(" ; ".join(rows[0])).values and any(amounts.read(" ; ".join(row)).values for row in rows[1:])


def said(cells: Sequence[tuple[str, str]]) -> str:
    """Return a row as a sentence says it: the first cell, then the others with their column heads."""
    (_, name), *others = cells
    if len(others) == 1:
        return f"{name}: {others[0][1]}"
    return f"{name}: " + ", ".join(f"{head} {cell}".lstrip() for head, cell in others) if others else name


def options(fact: StatedFact, kind: str) -> list[Option]:
    """Return what a fact offers with an amount of a kind: a row's cells, or the parts of a sentence between commas."""
    if fact.cells:
        name = fact.cells[0][1]
        found = []
        for head, cell in fact.cells[1:]:
            values = [value for value in amounts.read(cell).values if value.kind == kind and value.number is not None]
            if values:
                found.append(Option(name, cell, values[0].number or 0.0, head, _bare(cell[values[-1].end :])))
        return found
    found = []
    text = fact.text.rpartition(": ")[2] if ": " in fact.text and not fact.is_item else fact.text
    for piece in _PIECE.split(text):
        values = [value for value in amounts.read(piece).values if value.kind == kind and value.number is not None]
        if not values:
            continue
        first, last = values[0], values[-1]
        name, unit = _bare(piece[: first.start]), _bare(piece[last.end :])
        if (name or unit) and len(name or unit) <= _LABEL:
            found.append(Option(name or unit, piece[first.start : last.end].strip(), first.number or 0.0, unit=unit if name else ""))
    return found


def _bare(name: str) -> str:
    return name.strip(" ,.:;–—-\t")
