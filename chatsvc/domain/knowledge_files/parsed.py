"""Result of all readers: entries, synonyms and faults, with the limits shared by all formats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from chatsvc.domain import terminal
from chatsvc.domain.language import is_tag, primary

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


class ParsedEntry(NamedTuple):
    """Entry of a file, before it is stored for a bot; `line` counts from 1."""

    question: str
    alt: tuple[str, ...]
    answer: str
    language: str
    source: str
    line: int


class ParsedSynonyms(NamedTuple):
    """Group of synonyms with its source."""

    words: tuple[str, ...]
    source: str


class Parsed(NamedTuple):
    """Contents of a file without faults."""

    entries: list[ParsedEntry]
    synonyms: list[ParsedSynonyms]


@dataclass(frozen=True, slots=True)
class Fault:
    """Error message for the author of the file; `line` counts from 1."""

    line: int
    text: str


class KnowledgeFileError(ValueError):
    """A file with faults, in its order; `unit` is what their numbers count: line, page or paragraph."""

    def __init__(self, source: str, faults: Sequence[Fault], unit: str = "line") -> None:
        super().__init__("\n".join(f"{terminal.one_line(source)}, {unit} {fault.line}: {fault.text}" for fault in faults))
        self.source = source
        self.faults = tuple(faults)
        self.unit = unit


@dataclass(slots=True)
class Gathering:
    """Collector that checks entries and synonyms, and returns them or all faults."""

    source: str
    unit: str = "line"  # what the numbers of its faults count
    faults: list[Fault] = field(default_factory=list)
    _entries: list[ParsedEntry] = field(default_factory=list)
    _synonyms: dict[ParsedSynonyms, None] = field(default_factory=dict)
    _asked: dict[tuple[str, str, str], int] = field(default_factory=dict)  # (source, language, question) -> line

    def fault(self, line: int, text: str) -> None:
        """Add a fault of a line; raises KnowledgeFileError at 1,000 faults."""
        self.faults.append(Fault(line, text))
        if len(self.faults) == _ENOUGH_FAULTS:
            raise self._error()

    def text(self, line: int, text: str) -> None:
        """Add a fault if a line holds a control character."""
        if bad := NO_TEXT.search(text):
            self.fault(line, f"a character that is no text (U+{ord(bad.group()):04X}); save the file as UTF-8")

    def language(self, line: int, value: str) -> str | None:
        """Return a language tag; None, with a fault, if it is none."""
        value = value.strip()
        if is_language(value):
            return value
        self.fault(line, f"{value[:40]!r} is no language; write a tag such as tr, en or en-GB")
        return None

    def entry(
        self, line: int, question: str, alt: Iterable[tuple[int, str]], answer: str, language: str, *, source: str = "", once: bool = True
    ) -> None:
        """Add an entry; `alt` has lines and phrasings. `once` is False if a question may come twice."""
        question, source = one_line(question), source or self.source
        if not question:
            self.fault(line, "the question is missing")
        elif len(question) > MAX_PHRASING:
            self.fault(line, _too_long("this question", len(question), MAX_PHRASING))
        phrasings = self._phrasings(alt, question)
        answer = tidy(answer)
        if not answer:
            self.fault(line, "this question has no answer")
        elif len(answer) > MAX_ANSWER:
            self.fault(line, _too_long("the answer to this question", len(answer), MAX_ANSWER))
        first = self._asked.setdefault((source, language.lower(), question.casefold()), line)
        if once and question and first != line:
            self.fault(line, f"this question was asked on {self.unit} {first} already; keep one of the two")
        if len(self._entries) == MAX_ENTRIES:
            self.fault(line, f"more than {MAX_ENTRIES:,} entries in one file; spread them over several files")
            raise self._error()
        self._entries.append(ParsedEntry(question, phrasings, answer, language, source, line))

    def _phrasings(self, alt: Iterable[tuple[int, str]], question: str) -> tuple[str, ...]:
        phrasings: dict[str, None] = {}
        for at, raw in alt:
            phrasing = one_line(raw)
            if not phrasing:
                self.fault(at, "another phrasing is missing after alt:")
            elif len(phrasing) > MAX_PHRASING:
                self.fault(at, _too_long("this phrasing", len(phrasing), MAX_PHRASING))
            elif phrasing != question:
                phrasings[phrasing] = None
        return tuple(phrasings)

    def synonyms(self, line: int, words: Iterable[str], source: str = "") -> None:
        """Add a group of synonyms."""
        group = tuple(dict.fromkeys(word for word in map(one_line, words) if word))
        if len(group) < 2:
            self.fault(line, "synonyms are two words or expressions at least, with commas between them: havlu, peştamal, towel")
        elif any("," in word for word in group):
            self.fault(line, "a comma stands between synonyms, never in one")
        elif len(group) > _MAX_GROUP or max(map(len, group)) > MAX_SYNONYMS:
            self.fault(line, f"at most {_MAX_GROUP} synonyms belong together, each of at most {MAX_SYNONYMS} characters")
        elif len(self._synonyms) == MAX_GROUPS:
            self.fault(line, f"more than {MAX_GROUPS:,} groups of synonyms in one file")
        else:
            self._synonyms[ParsedSynonyms(group, source or self.source)] = None

    def done(self, nothing: str) -> Parsed:
        """Return the contents; raises KnowledgeFileError for faults, and with the text `nothing` for an empty file."""
        if not self._entries and not self._synonyms and not self.faults:
            self.fault(1, nothing)
        if self.faults:
            raise self._error()
        return Parsed(self._entries, list(self._synonyms))

    def _error(self) -> KnowledgeFileError:
        return KnowledgeFileError(self.source, sorted(self.faults, key=lambda fault: fault.line)[:_MAX_FAULTS], self.unit)


def is_language(value: str) -> bool:
    """Tell whether a text is a language tag; "english" is well-formed, but not meant as one."""
    return is_tag(value) and len(primary(value)) <= 3


def lines_of(text: str) -> list[str]:
    """Split lines as editors count them; str.splitlines() also splits at form feeds and U+2028."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


def one_line(value: str) -> str:
    """Replace white space by single blanks."""
    return " ".join(value.split())


def tidy(answer: str) -> str:
    """Strip blanks at the ends of an answer's lines, and empty lines around it."""
    return "\n".join(line.rstrip() for line in answer.replace("\r\n", "\n").replace("\r", "\n").split("\n")).strip("\n")


def _too_long(what: str, length: int, limit: int) -> str:
    return f"{what} has {length:,} characters; at most {limit:,} are possible"
