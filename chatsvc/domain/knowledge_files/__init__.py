"""Parsers and writers of knowledge files. A parser returns the entries of a text, or raises all of its faults at once. No I/O.

All formats report to `parsed.Gathering`, which applies the shared limits. PDF, Word and HTML files are read in `chatsvc.file_reader`.
"""

import codecs
from collections.abc import Callable

from chatsvc.domain.knowledge_files.documents import parse_text
from chatsvc.domain.knowledge_files.markdown import parse_markdown
from chatsvc.domain.knowledge_files.parsed import Parsed
from chatsvc.domain.knowledge_files.rows import parse_csv, parse_jsonl

# ending -> reader of (text, default language, source)
READERS: dict[str, Callable[[str, str, str], Parsed]] = {
    ".md": parse_markdown,
    ".markdown": parse_markdown,
    ".txt": parse_text,
    ".csv": parse_csv,
    ".jsonl": parse_jsonl,
}


def kind_of(name: str, data: bytes) -> str:
    """Return the ending of a file by the format of its content, or else by its name.

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
