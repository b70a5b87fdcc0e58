"""Conversion of PDF files to lines of text with page numbers, by pypdf. Encrypted files and files without text (scans) are refused."""

import io
import logging

import pypdf
from pypdf.errors import PyPdfError

from chatsvc.domain.knowledge_files.documents import parse_lines
from chatsvc.domain.knowledge_files.parsed import KnowledgeFileError, Parsed, single_fault

MOST_PAGES = 2_000
_MOST_UNPACKED = 16 * 1024 * 1024  # bytes of one stream
_FULL = 0.7  # of the longest line: a line that is shorter ends its paragraph

SAMPLE = b"""%PDF-1.4
1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj
2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj
3 0 obj <</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>> endobj
4 0 obj <</Length 20>>stream
BT /F 9 Tf (a) Tj ET
endstream endobj
5 0 obj <</Type/Font/Subtype/Type1/BaseFont/Helvetica>> endobj
trailer <</Size 6/Root 1 0 R>>
startxref
0
%%EOF"""

logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it reports every oddity of a file


def read(name: str, data: bytes, language: str) -> Parsed:
    """Read the entries of a PDF file. Raises KnowledgeFileError, whose faults have page numbers."""
    with pypdf.apply_configuration(
        zlib_maximum_output_length=_MOST_UNPACKED, lzw_maximum_output_length=_MOST_UNPACKED, run_length_maximum_output_length=_MOST_UNPACKED
    ):
        return parse_lines(_lines_of(name, data), language, name, "page")


def _lines_of(name: str, data: bytes) -> list[tuple[int, str]]:
    try:
        document = pypdf.PdfReader(io.BytesIO(data))
        if document.is_encrypted:
            raise single_fault(name, "encrypted", 1, "page")
        pages = len(document.pages)
    except KnowledgeFileError:
        raise
    except (PyPdfError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise single_fault(name, "no_pdf", 1, "page") from None
    if pages > MOST_PAGES:
        raise single_fault(name, "too_many_pages", MOST_PAGES + 1, "page", most=MOST_PAGES)
    lines: list[tuple[int, str]] = []
    for number, page in enumerate(document.pages, start=1):
        try:
            text = page.extract_text()
        except Exception as fault:  # noqa: BLE001  # a broken page makes the library fail in many ways
            raise single_fault(name, "page_unreadable", number, "page", fault=type(fault).__name__) from None
        lines += [*((number, line) for line in _paragraphs([line.rstrip() for line in text.split("\n")])), (number, "")]
    if not any(text for _, text in lines):
        raise single_fault(name, "scanned", 1, "page")
    return lines


def _paragraphs(lines: list[str]) -> list[str]:
    """Join lines into paragraphs. A line that fills the page's width, and does not end a sentence, is joined with the next one."""
    width, paragraphs, continues = max(map(len, lines), default=0), list[str](), False
    for line in lines:
        paragraphs[len(paragraphs) - continues :] = [f"{paragraphs[-1]} {line.strip()}" if continues else line]
        continues = len(line) > max(_FULL * width, 40) and line[-1] not in ".!?:…"
    return paragraphs
