"""Readers of files with an entry a row: CSV and JSONL.

CSV (RFC 4180) has a header with `question` and `answer`. Optional columns are `alt`, `language`, `synonyms` and `source`; `soru` and
`yanıt` are headers too. Two columns without a header are questions and answers if the first cell is a question. Other columns are appended
to the answer. A table without questions is read as sections named after the file, with all of its columns. Several phrasings in one cell
are on lines of their own, or separated by `|` in one line. So are several groups of synonyms, whose words are separated by commas. The
separator of cells, comma or semicolon (which Excel writes where the comma is the decimal sign), is detected in the header, or set by a line
`sep=;` above it. A row may have only synonyms.

JSONL has an object in each line, with the fields that `knowledge export` writes:

    {"question": "...", "alt": ["..."], "answer": "...", "language": "en", "source": "faq.md"}

`alt`, `language` and `source` may be left out; `id` is ignored. `synonyms` is a group (`["bike", "bicycle"]`) or a list of groups, in the
object of an entry or in an object of its own, with or without a `source`.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain

from chatsvc.domain.escaping import with_formulas
from chatsvc.domain.knowledge_files.documents import is_price, table_parts
from chatsvc.domain.knowledge_files.parsed import MAX_SOURCE, Gathering, Parsed, lines_of, one_line

COLUMNS = ("question", "alt", "answer", "language", "source", "synonyms")
_NEEDED = ("question", "answer")
_NAMES = {
    **dict.fromkeys(("soru", "sorular", "questions", "q"), "question"),
    **dict.fromkeys(("yanıt", "yanit", "cevap", "yanıtlar", "yanitlar", "cevaplar", "answers", "a"), "answer"),
    "dil": "language",
    "kaynak": "source",
}
_NOT_READ = frozenset({"id"})  # what an export may hold besides
_READ = _NOT_READ.union(COLUMNS)
_MOST_SHOWN = 5  # columns in a fault
_SEPARATORS = ";,\t"
_NAMED = re.compile(r'"?sep=([,;\t|])"?\n', re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*+"')


def parse_csv(text: str, default_language: str, source: str) -> Parsed:
    """Read a table; raises KnowledgeFileError with all its faults."""
    gathering = Gathering(source, default_language=default_language)
    text = "\n".join(lines_of(text))
    # Excel's own line, which names the separator.
    named = _NAMED.match(text)
    # Else it is the one that is most frequent in the first line, outside of quotes.
    heads = _QUOTED.sub("", text.split("\n", 1)[0][:10_000])
    separator = named[1] if named else max(_SEPARATORS, key=heads.count)
    rows = _rows(text[named.end() if named else 0 :].split("\n"), separator, gathering, 2 if named else 1)
    first = next(rows, (1, []))
    if len(first[1]) == len(_NEEDED) and first[1][0].rstrip().endswith("?"):
        rows, first = chain([first], rows), (first[0], list(_NEEDED))
    # Turkish names of columns, and others that people write in English.
    names = [_NAMES.get(name, name) for name in (one_line(cell).lower() for cell in first[1])]
    is_head = len(names) > 1 and all(any(map(str.isalpha, name)) and not is_price(name) for name in names)
    if is_head and not set(names) & {*COLUMNS, *_NOT_READ}:
        return _take_table(gathering, [first, *rows], source)
    if lacking := [name for name in _NEEDED if name not in names]:
        gathering.fault(first[0], "columns_missing", columns=lacking)
        return gathering.done("no_row")
    if twice := sorted(name for name, times in Counter(names).items() if times > 1):
        gathering.fault(first[0], "columns_twice", columns=twice[:_MOST_SHOWN])
        return gathering.done("no_row")
    header = [name if name in _READ else one_line(cell) for name, cell in zip(names, first[1], strict=True)]
    for line, cells in rows:
        if len(cells) == len(header):
            for cell in cells:
                gathering.text(line, cell)
            _take(gathering, line, dict(zip(header, map(with_formulas, cells), strict=True)))
        elif any(map(str.strip, cells)):
            gathering.fault(line, "cells", cells=len(cells), columns=len(header))
    return gathering.done("no_row")


def _take_table(gathering: Gathering, rows: list[tuple[int, list[str]]], source: str) -> Parsed:
    """Add a table without questions as sections with all of its columns, named after the file."""
    (first, heads), *others = rows
    for line, cells in rows:
        for cell in cells:
            gathering.text(line, cell)
    name = source.rpartition("/")[2].rpartition(".")[0].replace("_", " ").replace("-", " ").strip() or one_line(heads[0])
    filled = [(line, _line(cells)) for line, cells in others if any(map(one_line, cells))]
    numbers, top = [first, *(line for line, _ in filled[1:])], [_line(heads), _line(["---"] * len(heads))]
    for index, text in table_parts(top, [row for _, row in filled]) if filled else ():
        gathering.entry(numbers[index], name, (), text, None, once=False)
    return gathering.done("no_row")


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(one_line(cell).replace('|', '/') for cell in cells)} |"


def _take(gathering: Gathering, line: int, row: dict[str, str]) -> None:
    source = one_line(row.get("source", ""))
    if len(source) > MAX_SOURCE:
        gathering.fault(line, "source_too_long", length=len(source), most=MAX_SOURCE)
    for group in _several(row.get("synonyms", "")):
        gathering.synonyms(line, group.split(","), source)
    tag = row.get("language", "")
    language = gathering.language(line, tag) if tag.strip() else None
    if row["question"].strip() or row["answer"].strip() or row.get("alt", "").strip():
        alt = [(line, phrasing) for phrasing in _several(row.get("alt", ""))]
        # A column of the owner's own is a fact of the answer.
        facts = [f"{name}: {one_line(cell)}" for name, cell in row.items() if name not in _READ and one_line(cell)]
        answer = "\n\n".join(filter(None, [row["answer"], "\n".join(facts)]))
        gathering.entry(line, row["question"], alt, answer, language, source=source)


def together(several: Iterable[str]) -> str:
    """Join phrasings or groups of synonyms into one cell."""
    cell = "\n".join(several)
    return cell + "\n" if "|" in cell and "\n" not in cell else cell


def _several(cell: str) -> list[str]:
    return [text for text in cell.split("\n" if "\n" in cell else "|") if text.strip()]


def _rows(lines: list[str], separator: str, gathering: Gathering, first: int) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with its line number. `first` is the line number of the first row."""
    rows = csv.reader((f"{line}\n" for line in lines), delimiter=separator, strict=True)
    while True:
        line = first + rows.line_num
        try:
            yield line, next(rows)
        except StopIteration:
            return
        except csv.Error as fault:
            if "expected after" in str(fault):
                gathering.fault(line, "behind_quote")
            else:  # the text has ended, or the cell is longer than any may be
                gathering.fault(line, "quote_open")
                return


FIELDS = ("id", "question", "alt", "answer", "language", "source", "synonyms")


def parse_jsonl(text: str, default_language: str, source: str) -> Parsed:
    """Parse a file with a JSON object in each line; raises KnowledgeFileError with all of its faults."""
    gathering = Gathering(source, default_language=default_language)
    for number, line in enumerate(lines_of(text), start=1):
        try:
            value = json.loads(line, object_pairs_hook=_object) if line.strip() else None
        except json.JSONDecodeError as fault:
            gathering.fault(number, "no_json", fault=f"{fault.msg[0].lower()}{fault.msg[1:]}", character=fault.pos + 1)
        except RecursionError:
            gathering.fault(number, "json_too_deep")
        except ValueError as fault:
            gathering.fault(number, "unreadable", fault=str(fault))
        else:
            if isinstance(value, dict):
                _take_object(gathering, number, value)
            elif line.strip():
                gathering.fault(number, "no_object")
    return gathering.done("no_entry")


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field is there twice")
    return fields


def _take_object(gathering: Gathering, number: int, value: dict[str, object]) -> None:
    before = len(gathering.faults)
    if unknown := [name[:40] for name in value if name not in FIELDS]:
        gathering.fault(number, "fields_unknown", fields=", ".join(map(repr, unknown[:5])), known=list(FIELDS))
    source, question, answer, tag = (_field_text(gathering, number, value, name) for name in ("source", "question", "answer", "language"))
    if len(source) > MAX_SOURCE:
        gathering.fault(number, "source_too_long", length=len(source), most=MAX_SOURCE)
    language = gathering.language(number, tag) if tag else None
    alt, synonyms = _field_texts(gathering, number, value.get("alt"), "alt"), value.get("synonyms")
    is_list_of_groups = isinstance(synonyms, list) and synonyms and all(isinstance(group, list) for group in synonyms)
    for group in synonyms if isinstance(synonyms, list) and is_list_of_groups else [synonyms]:
        if words := _field_texts(gathering, number, group, "synonyms"):
            gathering.synonyms(number, words, one_line(source))
    alone = "synonyms" in value and not ({"question", "alt", "answer"} & value.keys())
    if len(gathering.faults) == before and not alone:
        gathering.entry(number, question, [(number, phrasing) for phrasing in alt], answer, language, source=one_line(source))


def _field_text(gathering: Gathering, number: int, value: dict[str, object], name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str | None):
        gathering.fault(number, "field_no_text", field=name)
    if not isinstance(text, str):
        return ""
    gathering.text(number, text)
    return text


def _field_texts(gathering: Gathering, number: int, value: object, name: str) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        gathering.fault(number, "field_no_list", field=name)
        return []
    for text in value:
        gathering.text(number, text)
    return value
