"""Parsers and writers of knowledge files: text in, entries or all faults at once out. No I/O.

A format is a module with a function of type `Reader` and a line in `READERS`. All formats report to `parsed.Gathering`, which applies the
shared limits.
"""

import codecs
from collections.abc import Callable, Mapping
from typing import TypeVar

from chatsvc.domain.knowledge_files.documents import parse_text
from chatsvc.domain.knowledge_files.jsonl import parse_jsonl
from chatsvc.domain.knowledge_files.markdown import parse_markdown
from chatsvc.domain.knowledge_files.parsed import FileFault, KnowledgeFileError, Parsed, ParsedEntry
from chatsvc.domain.knowledge_files.table import parse_csv
from chatsvc.domain.knowledge_files.webpage import parse_html

R = TypeVar("R")
Reader = Callable[[str, str, str], Parsed]

READERS: dict[str, Reader] = {
    ".md": parse_markdown,
    ".markdown": parse_markdown,
    ".txt": parse_text,
    ".html": parse_html,
    ".htm": parse_html,
    ".csv": parse_csv,
    ".jsonl": parse_jsonl,
}


def read(name: str, text: str, default_language: str) -> Parsed:
    """Read `text` in the format that the ending of `name` tells; raises KnowledgeFileError."""
    return reader_of(name, READERS)(text, default_language, name)


def ending_of(name: str) -> str:
    """Return a file name's ending, in lower case and with its dot. Nothing where it has none."""
    dot = name.rfind(".")
    return name[dot:].lower() if dot > max(name.rfind("/"), name.rfind("\\")) else ""


def kind_of(name: str, data: bytes) -> str:
    """Return the ending of the format that a file's content shows, whatever its name says; else that of its name."""
    if data.startswith(b"%PDF-"):
        return ".pdf"
    if data.startswith(b"PK\x03\x04") and b"word/document.xml" in data:
        return ".docx"
    begins = data[:200].removeprefix(codecs.BOM_UTF8).lstrip().lower()
    return ".html" if begins.startswith((b"<!doctype html", b"<html")) else ending_of(name)


def reader_of(name: str, readers: Mapping[str, R]) -> R:
    """Return the reader of a file's format; raises KnowledgeFileError where its ending is not known."""
    ending = ending_of(name)
    reader = readers.get(ending)
    if reader is None:
        known = {"known": list(readers)}
        fault = FileFault(1, "ending_unknown", {"ending": ending, **known}) if ending else FileFault(1, "ending_missing", known)
        raise KnowledgeFileError(name, [fault])
    return reader


def parse_file(name: str, text: str, default_language: str) -> list[ParsedEntry]:
    """Return the entries that `read` finds, without synonyms."""
    return read(name, text, default_language).entries
