"""Parsers and writers of knowledge files. A parser returns the entries of a text, or raises all of its faults at once.

Reading a written file returns the same entries. There is no I/O here.

All formats report to `parsed.Gathering`, which applies the shared limits. PDF, Word and HTML files are read in `chatsvc.file_reader`.
"""

import codecs
from collections.abc import Callable, Iterator, Sequence

from chatsvc.domain.escaping import BYTE_ORDER_MARK, row, to_json
from chatsvc.domain.knowledge_files.documents import parse_text
from chatsvc.domain.knowledge_files.markdown import escaped, escaped_question, parse_markdown
from chatsvc.domain.knowledge_files.parsed import Parsed, one_line
from chatsvc.domain.knowledge_files.rows import COLUMNS, parse_csv, parse_jsonl, together
from chatsvc.domain.models import Entry, Synonyms

# ending -> reader of (text, default language, source)
READERS: dict[str, Callable[[str, str, str], Parsed]] = {
    ".md": parse_markdown,
    ".markdown": parse_markdown,
    ".txt": parse_text,
    ".csv": parse_csv,
    ".jsonl": parse_jsonl,
}


def kind_of(name: str, data: bytes) -> str:
    """Return the ending of a file name for the format of the content. If the content shows no format, use the name's ending.

    The ending is in lower case, such as ".pdf". It is "" for a name without an ending.
    """
    if data.startswith(b"%PDF-"):
        return ".pdf"
    if data.startswith(b"PK\x03\x04") and b"word/document.xml" in data:
        return ".docx"
    begins = data[:200].removeprefix(codecs.BOM_UTF8).lstrip().lower()
    if begins.startswith((b"<!doctype html", b"<html")):
        return ".html"
    dot = name.rfind(".")
    return name[dot:].lower() if dot > max(name.rfind("/"), name.rfind("\\")) else ""


def _jsonl(entries: Sequence[Entry], synonyms: Sequence[Synonyms]) -> Iterator[str]:
    for group in synonyms:
        yield _line({"synonyms": group.words, "source": group.source})
    for entry in entries:
        yield _line(entry._asdict())


def _line(value: object) -> str:
    return to_json(value) + "\n"


def _csv(entries: Sequence[Entry], synonyms: Sequence[Synonyms]) -> Iterator[str]:
    yield BYTE_ORDER_MARK + row(*COLUMNS)
    for group in synonyms:
        yield row("", "", "", "", group.source, together([", ".join(group.words)]))
    for entry in entries:
        yield row(entry.question, together(entry.alt), entry.answer, entry.language, entry.source or "", "")


def _markdown(entries: Sequence[Entry], synonyms: Sequence[Synonyms]) -> Iterator[str]:
    for group in synonyms:
        yield f"synonyms: {one_line(', '.join(group.words))}\n"
    for nth, entry in enumerate(entries):
        yield "\n" if nth or synonyms else ""
        yield question(entry.question, entry.alt, entry.language)
        yield f"\n{escaped(entry.answer)}\n"


def question(text: str, alt: Sequence[str], language: str) -> str:
    """Format an entry's question, other phrasings and language as lines of Markdown. Line breaks in them become blanks."""
    phrasings = "".join(f"alt: {one_line(phrasing)}\n" for phrasing in alt)
    return f"## {escaped_question(one_line(text))}\n{phrasings}language: {one_line(language)}\n"


# Functions that yield the parts of a file.
WRITERS = {"jsonl": _jsonl, "csv": _csv, "markdown": _markdown}
