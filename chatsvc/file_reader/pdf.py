"""PDF files as lines of text with their pages, by pypdf, within a limit. Encrypted files and files without text (scans) are refused."""

import io
import logging
from collections.abc import Iterator

import pypdf
from pypdf.errors import PyPdfError

from chatsvc.domain.knowledge_files.documents import parse_lines
from chatsvc.domain.knowledge_files.parsed import KnowledgeFileError, Parsed, single_fault

MOST_PAGES = 2_000
_MOST_UNPACKED = 16 * 1024 * 1024  # bytes of one stream
_FULL = 0.7  # of the longest line: a line that is shorter ends its paragraph

_SAMPLE = (
    b"<</Type/Catalog/Pages 2 0 R>>",
    b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
    b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
    b"<</Length 20>>stream\nBT /F 9 Tf (a) Tj ET\nendstream",
    b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
)

logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it reports every oddity of a file


def warm_up() -> None:
    """Import what the library imports at its first use. Later the process may not be allowed to read the program."""
    file, places = b"%PDF-1.4\n", b"0000000000 65535 f \n"
    for number, content in enumerate(_SAMPLE, start=1):
        places += b"%010d 00000 n \n" % len(file)
        file += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    size = len(_SAMPLE) + 1
    end = b"xref\n0 %d\n%btrailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (size, places, size, len(file))
    read("sample.pdf", file + end, "en")


def read(name: str, data: bytes, language: str) -> Parsed:
    """Read a PDF file as a document; raises KnowledgeFileError with the pages of the faults."""
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
    lines = list(_lines(name, document))
    if not any(text for _, text in lines):
        raise single_fault(name, "scanned", 1, "page")
    return lines


def _lines(name: str, document: pypdf.PdfReader) -> Iterator[tuple[int, str]]:
    for number, page in enumerate(document.pages, start=1):
        try:
            text = page.extract_text()
        except Exception as fault:  # noqa: BLE001  # a broken page makes the library fail in many ways
            raise single_fault(name, "page_unreadable", number, "page", fault=type(fault).__name__) from None
        lines = [line.rstrip() for line in text.split("\n")]
        for line in _paragraphs(lines):
            yield number, line
        yield number, ""


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Join the lines of a paragraph. Those that fill the page's width and whose next line continues a sentence."""
    width = max(map(len, lines), default=0)
    held = ""
    for line in lines:
        text = f"{held} {line.strip()}" if held else line
        continues = len(line) > _FULL * width and len(line) > 40 and line[-1] not in ".!?:…"
        held = text if continues else ""
        if not continues:
            yield text
    if held:
        yield held
