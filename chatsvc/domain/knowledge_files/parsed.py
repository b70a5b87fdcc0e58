"""Decoding of files, and the result of all readers: entries, synonyms and faults, with the limits shared by all formats."""

import codecs
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypedDict

from chatsvc import translations
from chatsvc.domain import escaping
from chatsvc.domain.folding import is_tag, primary
from chatsvc.domain.models import Synonyms

MAX_PHRASING = 500  # characters of a question or an alt line
MAX_ANSWER = 8_000  # characters of an answer
MAX_ENTRIES = 50_000  # entries of one file
MAX_SOURCE = 500  # characters of the name of a source
MAX_SYNONYMS = 100  # characters of one word or expression of a group
MAX_GROUPS = 2_000  # groups of synonyms in one file
_MAX_GROUP = 50  # words and expressions of one group
_ENOUGH_FAULTS = 1_000  # the rest of the file is not read then
_MAX_FAULTS = 200  # a file that is no knowledge at all is not told off line by line

NO_TEXT = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")

_POSITIONS = frozenset({"first", "character"})  # numbers of a position: written without separators


@dataclass(frozen=True, slots=True)
class FileFault:
    """Fault in a file, to be shown to its author. `line` counts from 1; `facts` are the values in the fault's sentence."""

    line: int
    code: str
    facts: Mapping[str, object] = field(default_factory=dict)

    def sentence(self, language: str = "en") -> str:
        """Return the sentence of the fault in "en" or "tr"."""
        facts = translations.named("file_words", self.facts, language)
        return translations.worded("file_faults", self.code, facts, language, places=_POSITIONS)


class KnowledgeFileError(ValueError):
    """Exception with all faults of a file, in its order. `unit` is what their line numbers count: lines, pages or paragraphs."""

    def __init__(self, source: str, faults: Sequence[FileFault], unit: str = "line") -> None:
        super().__init__(source, faults)
        self.source = source
        self.faults = tuple(faults)
        self.unit = unit

    def __str__(self) -> str:
        """Return the sentences of all faults in English, one a line."""
        return "\n".join(f"{escaping.one_line(self.source)}, {self.unit} {fault.line}: {fault.sentence()}" for fault in self.faults)


def single_fault(source: str, code: str, line: int = 1, unit: str = "line", **facts: object) -> KnowledgeFileError:
    return KnowledgeFileError(source, [FileFault(line, code, facts)], unit)


class ParsedEntry(NamedTuple):
    """Entry of a file, before it is stored for a bot; `line` counts from 1."""

    question: str
    alt: tuple[str, ...]
    answer: str
    language: str
    source: str
    line: int


class Parsed(NamedTuple):
    """Contents of a file without faults. `assumed` are the indexes of entries whose language the file does not declare."""

    entries: list[ParsedEntry]
    synonyms: list[Synonyms]
    assumed: tuple[int, ...] = ()


class ReadFile(TypedDict):
    """Contents of a file, returned by the process that reads files. Tuples are lists here, since they were sent as JSON."""

    name: str
    entries: Sequence[ParsedEntry]
    synonyms: Sequence[Synonyms]


@dataclass(slots=True)
class Gathering:
    """Collector that checks entries and synonyms, and returns them or all faults."""

    source: str
    unit: str = "line"  # what the numbers of its faults count
    default_language: str = ""
    faults: list[FileFault] = field(default_factory=list)
    entries: list[ParsedEntry] = field(default_factory=list)  # those with faults too
    _assumed: list[int] = field(default_factory=list)
    _synonyms: dict[Synonyms, None] = field(default_factory=dict)
    _asked: dict[tuple[str, str, str], int] = field(default_factory=dict)  # (source, language, question) -> line

    def fault(self, line: int, code: str, **facts: object) -> None:
        """Add a fault of a line; raises KnowledgeFileError at 1,000 faults."""
        self.faults.append(FileFault(line, code, facts))
        if len(self.faults) == _ENOUGH_FAULTS:
            raise self._error()

    def text(self, line: int, text: str) -> None:
        """Add a fault if a line contains a control character."""
        if bad := NO_TEXT.search(text):
            self.fault(line, "not_text", character=f"U+{ord(bad.group()):04X}")

    def language(self, line: int, value: str) -> str | None:
        """Return a language tag. If it is invalid, add a fault and return None."""
        value = value.strip()
        if is_language(value):
            return value
        self.fault(line, "language_unknown", value=value[:40])
        return None

    def entry(
        self,
        line: int,
        question: str,
        alt: Iterable[tuple[int, str]],
        answer: str,
        language: str | None,
        *,
        source: str = "",
        once: bool = True,
    ) -> None:
        """Add an entry. `alt` has pairs of line and phrasing. If `once` is true, a question may occur only once in the file."""
        if language is None:
            self._assumed.append(len(self.entries))
            language = self.default_language
        question, source = one_line(question), source or self.source
        if not question:
            self.fault(line, "question_missing")
        elif len(question) > MAX_PHRASING:
            self.fault(line, "question_too_long", length=len(question), most=MAX_PHRASING)
        phrasings = self._phrasings(alt, question)
        # Without blanks at the ends of lines, and empty lines around it.
        answer = "\n".join(line.rstrip() for line in answer.replace("\r\n", "\n").replace("\r", "\n").split("\n")).strip("\n")
        if not answer:
            self.fault(line, "answer_missing")
        elif len(answer) > MAX_ANSWER:
            self.fault(line, "answer_too_long", length=len(answer), most=MAX_ANSWER)
        first = self._asked.setdefault((source, language.lower(), question.casefold()), line)
        if once and question and first != line:
            self.fault(line, "question_twice", unit=self.unit, first=first)
        if len(self.entries) == MAX_ENTRIES:
            self.fault(line, "too_many_entries", most=MAX_ENTRIES)
            raise self._error()
        self.entries.append(ParsedEntry(question, phrasings, answer, language, source, line))

    def _phrasings(self, alt: Iterable[tuple[int, str]], question: str) -> tuple[str, ...]:
        phrasings: dict[str, None] = {}
        for line, phrasing in ((line, one_line(text)) for line, text in alt):
            if not phrasing:
                self.fault(line, "phrasing_missing")
            elif len(phrasing) > MAX_PHRASING:
                self.fault(line, "phrasing_too_long", length=len(phrasing), most=MAX_PHRASING)
            elif phrasing != question:
                phrasings[phrasing] = None
        return tuple(phrasings)

    def synonyms(self, line: int, words: Iterable[str], source: str = "") -> None:
        group = tuple(dict.fromkeys(word for word in map(one_line, words) if word))
        if len(group) < 2:
            self.fault(line, "synonyms_too_few")
        elif any("," in word for word in group):
            self.fault(line, "synonym_with_comma")
        elif len(group) > _MAX_GROUP or max(map(len, group)) > MAX_SYNONYMS:
            self.fault(line, "synonyms_too_many", most=_MAX_GROUP, longest=MAX_SYNONYMS)
        elif len(self._synonyms) == MAX_GROUPS:
            self.fault(line, "too_many_groups", most=MAX_GROUPS)
        else:
            self._synonyms[Synonyms(group, source or self.source)] = None

    def done(self, nothing: str) -> Parsed:
        """Return the contents. Raises KnowledgeFileError with all faults; the fault of an empty file has the code `nothing`."""
        if not self.entries and not self._synonyms and not self.faults:
            self.fault(1, nothing)
        if self.faults:
            raise self._error()
        return Parsed(self.entries, list(self._synonyms), tuple(self._assumed))

    def _error(self) -> KnowledgeFileError:
        return KnowledgeFileError(self.source, sorted(self.faults, key=lambda fault: fault.line)[:_MAX_FAULTS], self.unit)


def is_language(value: str) -> bool:
    """Return whether a text is a language tag with a code of two or three letters. Longer codes, such as "english", are refused."""
    return is_tag(value) and len(primary(value)) <= 3


def lines_of(text: str) -> list[str]:
    """Split lines as editors count them; str.splitlines() also splits at form feeds and U+2028."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def one_line(value: str) -> str:
    return " ".join(value.split())


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
