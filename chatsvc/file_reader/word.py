"""Conversion of Word files (.docx) to HTML by mammoth. It supports headings, lists, tables and links, and needs no lxml.

The file is a zip of XML: its unpacked size is limited, and document type declarations, which define entities, are refused.
"""

import io
import re
import zipfile

import mammoth

from chatsvc.domain.knowledge_files.parsed import KnowledgeFileError, Parsed, single_fault
from chatsvc.file_reader.html import read_text

MOST_UNPACKED = 64 * 1024 * 1024  # bytes of all parts
_MOST_PARTS = 5_000
_RATIO = 200  # unpacked to packed, of the whole file; text reaches 20
_SMALL = 1024 * 1024  # bytes; the ratio of less does not matter
_RUN = re.compile(rb"<w:r(?:\s[^>]*)?>(?:(?!<w:r[\s>]).)*?</w:r>", re.DOTALL)
_UNSEEN = rb"<w:(?:vanish|strike|dstrike)(?:\s*/>|\s+w:val=\"(?:1|true|on)\"\s*/>|></w:)"  # hidden or struck out
_STYLE = re.compile(rb'<w:style\s[^>]*w:styleId="([^"<]{1,200})"[^>]*>(?:(?!</w:style>).)*?' + _UNSEEN, re.DOTALL)
_DOCUMENT = """<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:tbl><w:tr><w:tc>
<w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr></w:tbl></w:body></w:document>"""
_PACKED = io.BytesIO()
with zipfile.ZipFile(_PACKED, "w", zipfile.ZIP_DEFLATED) as _file:
    _file.writestr("word/document.xml", _DOCUMENT)
SAMPLE = _PACKED.getvalue()
_STYLES = "p[style-name='Title'] => h1:fresh\np[style-name='Subtitle'] => h2:fresh"


def read(name: str, data: bytes, language: str) -> Parsed:
    """Read the entries of a Word file. Raises KnowledgeFileError, whose faults have numbers of paragraphs."""
    _check(name, data)
    try:
        html = mammoth.convert_to_html(
            _without_hidden(name, data),
            style_map=_STYLES,
            convert_image=lambda _: [],
            ignore_empty_paragraphs=False,
            external_file_access=False,
        ).value
    except KnowledgeFileError:
        raise
    except Exception as fault:  # noqa: BLE001  # a broken file makes the library fail in many ways
        raise single_fault(name, "word_unreadable", unit="paragraph", fault=type(fault).__name__) from None
    return read_text(name, html, language)


def _without_hidden(name: str, data: bytes) -> io.BytesIO:
    """Copy a Word file without hidden and struck-out text, which mammoth would read. Raises KnowledgeFileError for a DOCTYPE."""
    copy = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as parts, zipfile.ZipFile(copy, "w") as target:
        styles = _STYLE.findall(parts.read("word/styles.xml")) if "word/styles.xml" in parts.namelist() else []
        unseen = re.compile(b"|".join([_UNSEEN, *(rb'<w:rStyle\s+w:val="' + re.escape(style) + b'"' for style in styles)]))
        for info in parts.infolist():
            part = parts.read(info)
            # Whatever the part's name and encoding: the file's own relations say which parts are read. Pictures may declare something.
            if b"<!DOCTYPE" in part.replace(b"\0", b"") and not info.filename.startswith("word/media/"):
                raise single_fault(name, "declares_entities", unit="paragraph")
            if info.filename.startswith("word/") and info.filename.endswith(".xml"):
                part = _RUN.sub(lambda run: b"" if unseen.search(run[0]) else run[0], part)
            target.writestr(info.filename, part)
    return copy


def _check(name: str, data: bytes) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as parts:
            infos = parts.infolist()
            unpacked = sum(info.file_size for info in infos)
            if len(infos) > _MOST_PARTS or unpacked > MOST_UNPACKED or (unpacked > _SMALL and unpacked > _RATIO * len(data)):
                raise single_fault(name, "unpacks_too_far", unit="paragraph", bytes=unpacked)
            if any(info.flag_bits & 1 for info in infos):
                raise single_fault(name, "encrypted", unit="paragraph")
            if "word/document.xml" not in parts.namelist():
                raise single_fault(name, "no_word_document", unit="paragraph")
    except KnowledgeFileError:
        raise
    except (zipfile.BadZipFile, EOFError, OSError, NotImplementedError, RuntimeError, ValueError):
        old = data.startswith(b"\xd0\xcf\x11\xe0")  # an OLE file, which holds encrypted ones as well
        raise single_fault(name, "old_word_file" if old else "no_word_file", unit="paragraph") from None
