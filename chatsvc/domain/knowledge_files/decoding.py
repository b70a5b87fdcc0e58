"""Decoding of files in UTF-8, and naming of other encodings and formats."""

import codecs

from chatsvc.domain.knowledge_files.parsed import FileFault, KnowledgeFileError

MAX_BYTES = 32 * 1024 * 1024  # of one file

_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SAMPLE = 100_000
_FORMATS = {b"PK\x03\x04": "a Word, Excel or zip file", b"%PDF": "a PDF file", b"\xd0\xcf\x11\xe0": "an old Word or Excel file"}


def decode(name: str, data: bytes) -> str:
    """Decode UTF-8, with or without a byte order mark. Raises KnowledgeFileError that names another encoding or format."""
    if len(data) > MAX_BYTES:
        raise KnowledgeFileError(name, [FileFault(1, "file_too_large", {"most": MAX_BYTES // 1024 // 1024})])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
    what = next((what for begins, what in _FORMATS.items() if data.startswith(begins)), None)
    if what:
        raise KnowledgeFileError(name, [FileFault(1, "other_format", {"format": what})])
    raise KnowledgeFileError(name, [FileFault(line, "other_encoding", {"encoding": _looks_like(data)})])


def _looks_like(data: bytes) -> str:
    """Guess the name of an encoding, for the fault's text."""
    sample = data[:_SAMPLE]
    if data.startswith(_UTF_16) or sample.count(b"\0") > len(sample) // 4:
        return "UTF-16"
    if b"\0" in sample:
        return "no text"
    # ğ, ı, ş and İ stand where Western Europe has ð, ý, þ and Ý, which hardly anybody writes here.
    return (
        "Windows-1254 (Turkish)"
        if any(byte in b"\xd0\xdd\xde\xf0\xfd\xfe" for byte in sample)
        else "an older encoding such as Windows-1252"
    )
