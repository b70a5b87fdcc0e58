"""Decoding of files in UTF-8, UTF-16 and Windows encodings, and detection of other encodings and formats."""

import codecs
import re

from chatsvc.domain.knowledge_files.parsed import KnowledgeFileError, single_fault

MAX_BYTES = 32 * 1024 * 1024  # of one file

_SAMPLE = 100_000
_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_DECLARED = re.compile(rb"""charset\s*=\s*["']?([\w-]{1,40})""", re.IGNORECASE)
_LATIN = frozenset({b"windows-1254", b"windows-1252", b"iso-8859-9", b"iso-8859-1", b"utf-16", b"utf-8", b"us-ascii"})
_FORMATS = {b"PK\x03\x04": "a Word, Excel or zip file", b"%PDF": "a PDF file", b"\xd0\xcf\x11\xe0": "an old Word or Excel file"}


def decode(name: str, data: bytes) -> str:
    """Decode UTF-8, with or without a byte order mark. Otherwise raise KnowledgeFileError, which names the encoding or format."""
    if len(data) > MAX_BYTES:
        raise single_fault(name, "file_too_large", most=MAX_BYTES // 1024 // 1024)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = data.count(b"\n", 0, fault.start) + 1
    if format_ := next((format_ for begins, format_ in _FORMATS.items() if data.startswith(begins)), None):
        raise single_fault(name, "other_format", format=format_)
    sample = data[:_SAMPLE]
    if data.startswith(tuple(_MARKS)) or sample.count(b"\0") > len(sample) // 4:
        encoding = "UTF-16"
    elif b"\0" in sample:
        encoding = "no text"
    else:  # ğ, ı, ş and İ stand where Western Europe has ð, ý, þ and Ý, which hardly anybody writes here
        is_turkish = not set(b"\xd0\xdd\xde\xf0\xfd\xfe").isdisjoint(sample)
        encoding = "Windows-1254 (Turkish)" if is_turkish else "an older encoding such as Windows-1252"
    raise single_fault(name, "other_encoding", line, encoding=encoding)


def decode_any(name: str, data: bytes) -> str:
    """Decode UTF-8, UTF-16, and the Windows encodings of Turkey and Western Europe. Raises KnowledgeFileError."""
    try:
        return decode(name, data)
    except KnowledgeFileError as fault:
        if fault.faults[0].code != "other_encoding" or (
            (declared := _DECLARED.search(data, 0, 2048)) and declared[1].lower() not in _LATIN
        ):
            raise
        marked = next((codec for mark, codec in _MARKS.items() if data.startswith(mark)), "")
        zeros = data[1:_SAMPLE:2].count(0), data[0:_SAMPLE:2].count(0)
        most = len(data[:_SAMPLE]) // 4  # in UTF-16 without a mark, most letters have a byte of zero
        codec = marked or ("utf-16-le" if zeros[0] > most else "utf-16-be" if zeros[1] > most else "cp1254")
        letters = [byte for byte in data[:_SAMPLE] if byte >= 0x80 or chr(byte).isalpha()]
        # Of Turkish every tenth letter is no ASCII; of what is written in another alphabet nearly all are.
        if codec == "cp1254" and (b"\0" in data or sum(byte >= 0x80 for byte in letters) * 2 > len(letters)):
            raise
        try:
            return data.decode(codec).removeprefix("\ufeff")
        except UnicodeDecodeError:
            raise fault from None
