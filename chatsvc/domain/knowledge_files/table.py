"""CSV reader (RFC 4180): a header with `question` and `answer`, then one entry a row.

Optional columns are `alt`, `language`, `synonyms` and `source`. A header with a service and a price is a price list (`prices.py`), and of
any other table each row is an entry.

Several phrasings in one cell stand on lines of their own, or, where it is one line, have `|` between them; so have several groups of
synonyms, whose words have commas between them. What separates the cells, comma or semicolon (as Excel writes where the comma is the
decimal sign), the header tells. A row with nothing but synonyms is one too.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from chatsvc.domain.knowledge_files.documents import is_head, is_table, row_of
from chatsvc.domain.knowledge_files.parsed import MAX_SOURCE, Gathering, Parsed, one_line
from chatsvc.domain.knowledge_files.prices import Price, take_prices
from chatsvc.domain.spreadsheets import with_formulas

COLUMNS = ("question", "alt", "answer", "language", "source", "synonyms")
_NEEDED = ("question", "answer")
_ITEMS = frozenset(["service", "item", "product", "name", "treatment", "hizmet", "ürün", "işlem", "ad", "adı", "isim"])
_PRICES = frozenset(["price", "cost", "fee", "amount", "rate", "fiyat", "fiyatı", "ücret", "ücreti", "tutar", "bedel"])
_NOT_READ = frozenset({"id"})  # what an export may hold besides
_MOST_NAMED = 5  # columns in a fault
_SEPARATORS = ",;\t"
_QUOTED = re.compile(r'"((?:[^"]|"")*+)"')


def parse_csv(text: str, default_language: str, source: str) -> Parsed:
    """Read a table; raises KnowledgeFileError with all its faults."""
    found = Gathering(source, default_language=default_language)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    rows = _rows(text, _separator(text), found)
    first = next(rows, (1, []))
    if priced := _price_columns(first[1]):
        _take_prices(found, rows, *priced, default_language)
        return found.done("no_row")
    if is_head(first[1]) and not set(map(str.lower, map(one_line, first[1]))) & {*COLUMNS, *_NOT_READ}:
        table = [first, *rows]
        if is_table([cells for _, cells in table if any(cells)]):
            return _take_rows(found, table)
        rows = iter(table[1:])
    header = _header(first, found)
    for line, cells in rows:
        if not header:
            break
        if not any(map(str.strip, cells)):
            continue
        if len(cells) != len(header):
            found.fault(line, "cells", cells=len(cells), columns=len(header))
            continue
        for cell in cells:
            found.text(line, cell)
        _take(found, line, dict(zip(header, map(with_formulas, cells), strict=True)))
    return found.done("no_row")


def _take_rows(found: Gathering, rows: list[tuple[int, list[str]]]) -> Parsed:
    """Take each row of a table without questions, by the names of its columns."""
    (_, heads), *others = rows
    for line, cells in others:
        for cell in cells:
            found.text(line, cell)
        if any(cells):
            question, answer = row_of("", heads, list(map(one_line, cells)))
            found.entry(line, question, (), answer, None, once=False)
    return found.done("no_row")


def _price_columns(header: list[str]) -> tuple[int, int] | None:
    """Return the columns of names and prices in a price list."""
    names = [one_line(cell).lower() for cell in header]
    if set(_NEEDED) & set(names):
        return None
    named, priced = ([at for at, name in enumerate(names) if name in known] for known in (_ITEMS, _PRICES))
    return (named[0], priced[0]) if named and priced else None


def _take_prices(found: Gathering, rows: Iterable[tuple[int, list[str]]], named: int, priced: int, language: str) -> None:
    prices = []
    for line, cells in rows:
        for cell in cells:
            found.text(line, cell)
        values = dict(enumerate(map(one_line, cells)))
        if name := values.get(named):
            if not values.get(priced):
                found.fault(line, "no_price", name=name[:40])
            prices.append(Price(line, name, values.get(priced, ""), ""))
    take_prices(found, prices, language)


def _take(found: Gathering, line: int, row: dict[str, str]) -> None:
    source = one_line(row.get("source", ""))
    if len(source) > MAX_SOURCE:
        found.fault(line, "source_too_long", length=len(source), most=MAX_SOURCE)
    for group in _several(row.get("synonyms", "")):
        found.synonyms(line, group.split(","), source)
    said = row.get("language", "")
    language = found.language(line, said) if said.strip() else None
    if row["question"].strip() or row["answer"].strip() or row.get("alt", "").strip():
        alt = [(line, phrasing) for phrasing in _several(row.get("alt", ""))]
        found.entry(line, row["question"], alt, row["answer"], language, source=source)


def together(several: Iterable[str]) -> str:
    """Join phrasings or groups of synonyms into one cell."""
    cell = "\n".join(several)
    return cell + "\n" if "|" in cell and "\n" not in cell else cell


def _several(cell: str) -> list[str]:
    return [one for one in cell.split("\n" if "\n" in cell else "|") if one.strip()]


def _header(first: tuple[int, list[str]], found: Gathering) -> list[str]:
    """Return the names of the columns; empty, with a fault, if they are wrong."""
    line, cells = first
    names = [one_line(cell).lower() for cell in cells]
    lacking = [name for name in _NEEDED if name not in names]
    if lacking:
        found.fault(line, "columns_missing", columns=lacking)
        return []
    unknown = [name[:40] for name in names if name not in COLUMNS and name not in _NOT_READ]
    if unknown:
        found.fault(line, "columns_unknown", columns=", ".join(map(repr, unknown[:_MOST_NAMED])), known=list(COLUMNS))
    twice = sorted(name for name, times in Counter(names).items() if times > 1)[:_MOST_NAMED]
    if twice:
        found.fault(line, "columns_twice", columns=twice)
    return [] if unknown or twice else names


def _separator(text: str) -> str:
    """Return the separator that is most frequent in the first line, outside of quotes."""
    first = _QUOTED.sub("", text.split("\n", 1)[0][:10_000])
    return max(_SEPARATORS, key=first.count)


def _rows(text: str, separator: str, found: Gathering) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with its line; the standard library's reader accepts broken quotes."""
    bare = re.compile(f"[^\\n{re.escape(separator)}]*+")
    at, line = 0, 1
    while at < len(text):
        began, cells = line, list[str]()
        while True:
            quoted = _QUOTED.match(text, at)
            if quoted is None and text.startswith('"', at):
                found.fault(line, "quote_open")
                return
            if quoted:
                cells.append(quoted[1].replace('""', '"'))
                line += quoted[1].count("\n")
                at = quoted.end()
                if rest := bare.match(text, at)[0].strip():  # type: ignore[index]  # it matches nothing at least
                    found.fault(line, "behind_quote", rest=rest[:20])
                at = bare.match(text, at).end()  # type: ignore[union-attr]  # the same
            else:
                cell = bare.match(text, at)[0]  # type: ignore[index]  # the same
                cells.append(cell)
                at += len(cell)
            if not text.startswith(separator, at):
                break
            at += 1
        yield began, cells
        at, line = at + 1, line + 1
