"""Reading the files a bot's knowledge is written in; pure: text in, entries or every fault at once out.

Markdown is a list of questions with their answers:

    language: en                 (optional: for the whole file)

    ## When are you open?
    alt: opening hours
    alt: are you open on sundays
    language: en-GB              (optional: for this entry)

    Monday to Friday from 9 to 6.

A `# title` starts a section and belongs to no answer; `<!-- comments -->` are left out; `##` inside a code block is code.
Another format is a function of the same shape beside `parse_markdown` and one line in `READERS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from chatsvc.domain.language import is_tag, primary

MAX_PHRASING = 500  # characters of a question or an alt line
MAX_ANSWER = 8_000  # characters of an answer
MAX_ENTRIES = 50_000  # entries of one file
_MAX_FAULTS = 200  # a file that is no knowledge at all is not told off line by line

_QUESTION = re.compile(r" {0,3}##(?!#)(.*)")
_TITLE = re.compile(r" {0,3}#(\s.*)?")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_FIELD = re.compile(r"\s*(?:[-*+]\s+)?(alt|language)\s*:\s*(.*)", re.IGNORECASE)
_COMMENTS = re.compile(r"(?:\s*<!--.*?-->)+")
_NO_TEXT = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class ParsedEntry:
    """An entry as a file gives it, not yet a bot's; `line` is where its question stands, from 1."""

    question: str
    alt: tuple[str, ...]
    answer: str
    language: str
    source: str
    line: int


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, in the words of whoever wrote the file; `line` counts from 1."""

    line: int
    text: str


class KnowledgeFileError(ValueError):
    """The file cannot be taken as it is; `faults` are all that was found, in the file's order."""

    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        super().__init__("\n".join(f"{source}, line {fault.line}: {fault.text}" for fault in faults))
        self.source = source
        self.faults = tuple(faults)


Reader = Callable[[str, str, str], list[ParsedEntry]]


def parse_file(name: str, text: str, default_language: str) -> list[ParsedEntry]:
    """Read `text` in the format that the ending of `name` tells; raises KnowledgeFileError."""
    dot = name.rfind(".")
    ending = name[dot:].lower() if dot > max(name.rfind("/"), name.rfind("\\")) else ""
    reader = READERS.get(ending)
    if reader is None:
        known = ", ".join(READERS)
        what = f"{ending!r} files" if ending else "files without an ending"
        raise KnowledgeFileError(name, [Fault(1, f"{what} cannot be read as knowledge; write it in one of: {known}")])
    return reader(text, default_language, name)


def parse_markdown(text: str, default_language: str, source: str) -> list[ParsedEntry]:
    """Read the Markdown form above; raises KnowledgeFileError with every fault of the file."""
    reader = _MarkdownReader(default_language, source)
    for number, line in enumerate(_lines(text), start=1):
        reader.read(number, line)
    entries = reader.finish()
    if reader.faults:
        raise KnowledgeFileError(source, sorted(reader.faults, key=lambda fault: fault.line)[:_MAX_FAULTS])
    return entries


READERS: dict[str, Reader] = {".md": parse_markdown, ".markdown": parse_markdown}


def _lines(text: str) -> list[str]:
    # not str.splitlines(): it also cuts at form feeds and U+2028, and the line numbers would not be the editor's
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")


@dataclass(slots=True)
class _Draft:
    """An entry while its lines are still coming."""

    question: str
    line: int
    language: str
    alt: list[str]
    answer: list[str]


class _MarkdownReader:
    """Takes the file line by line; collects entries and faults."""

    def __init__(self, language: str, source: str) -> None:
        self.faults: list[Fault] = []
        self._entries: list[ParsedEntry] = []
        self._language = language
        self._source = source
        self._draft: _Draft | None = None
        self._fence: tuple[str, int] | None = None  # the marker that closes the code block, and where it opened
        self._comment: int | None = None  # where the open comment began
        self._stray_told = False
        self._asked: dict[tuple[str, str], int] = {}  # (language, question) -> line

    def read(self, number: int, line: str) -> None:
        """Take the next line."""
        bad = _NO_TEXT.search(line)
        if bad:
            self._fault(number, f"a character that is no text (U+{ord(bad.group()):04X}); save the file as UTF-8")
        line = line.rstrip()
        if self._fence is not None:
            self._code(line, self._fence[0])
            return
        left = self._without_comment(number, line)
        if left is None:
            return
        line = left
        if match := _QUESTION.fullmatch(line):
            self._start(number, match.group(1))
        elif _TITLE.fullmatch(line):
            self._close()
        elif self._draft is None:
            self._outside(number, line)
        else:
            self._inside(self._draft, number, line)

    def finish(self) -> list[ParsedEntry]:
        """Close what is open; the entries read."""
        if self._fence is not None:
            self._fault(self._fence[1], f"this code block is never closed (a line with {self._fence[0]})")
        if self._comment is not None:
            self._fault(self._comment, "this comment is never closed (-->)")
        self._close()
        if not self._entries and not self.faults:
            self._fault(1, "no question in this file: a question is a line that begins with ##")
        return self._entries

    def _fault(self, line: int, text: str) -> None:
        self.faults.append(Fault(line, text))

    def _code(self, line: str, marker: str) -> None:
        if self._draft is not None:
            self._draft.answer.append(line)
        bare = line.strip()
        if len(bare) >= len(marker) and set(bare) == {marker[0]}:
            self._fence = None

    def _without_comment(self, number: int, line: str) -> str | None:
        """The line without comments at its start; None where nothing but comment is left of it."""
        was_comment = self._comment is not None
        if was_comment:
            _, end, line = line.partition("-->")
            if not end:
                return None
            self._comment = None
        if closed := _COMMENTS.match(line):
            was_comment = True
            line = line[closed.end() :]
        if line.lstrip().startswith("<!--"):
            self._comment = number
            return None
        return None if was_comment and not line.strip() else line

    def _start(self, number: int, heading: str) -> None:
        self._close()
        question = _one_line(re.sub(r"\s+#+\s*$", "", heading))
        if not question:
            self._fault(number, "a question is missing after ##")
        elif len(question) > MAX_PHRASING:
            self._fault(number, _too_long("this question", len(question), MAX_PHRASING))
        self._draft = _Draft(question, number, self._language, [], [])

    def _outside(self, number: int, line: str) -> None:
        """A line that belongs to no entry: before the first question, or after a section's title."""
        field = _FIELD.fullmatch(line)
        if not line or set(line) <= set("- "):  # blank, a rule, or the frame of a front matter
            return
        if field and field.group(1).lower() == "language":
            if tag := self._tag(number, field.group(2)):
                self._language = tag
        elif field:
            self._fault(number, "an alt: line belongs under a question (## ...), and there is none above it")
        elif not self._stray_told:  # one fault a stretch of stray text, not one a line
            self._stray_told = True
            self._fault(number, "text that belongs to no question; a question is a line that begins with ##")

    def _inside(self, draft: _Draft, number: int, line: str) -> None:
        field = _FIELD.fullmatch(line)
        begun = any(draft.answer)
        if field and field.group(1).lower() == "alt":
            if begun:
                self._fault(number, "an alt: line after the answer has begun; alt: lines come right below the question")
            else:
                self._alt(draft, number, field.group(2))
        elif field and not begun and (not draft.answer or _is_language(field.group(2).strip())):
            if tag := self._tag(number, field.group(2)):
                draft.language = tag
        else:
            if fence := _FENCE.match(line):
                self._fence = (fence.group(1), number)
            draft.answer.append(line)

    def _alt(self, draft: _Draft, number: int, value: str) -> None:
        phrasing = _one_line(value)
        if not phrasing:
            self._fault(number, "another phrasing is missing after alt:")
        elif len(phrasing) > MAX_PHRASING:
            self._fault(number, _too_long("this alt: line", len(phrasing), MAX_PHRASING))
        elif phrasing not in draft.alt and phrasing != draft.question:
            draft.alt.append(phrasing)

    def _tag(self, number: int, value: str) -> str | None:
        value = value.strip()
        if _is_language(value):
            return value
        self._fault(number, f"{value[:40]!r} is no language; write a tag such as tr, en or en-GB")
        return None

    def _close(self) -> None:
        """The draft is whole: an entry, or faults."""
        draft, self._draft, self._stray_told = self._draft, None, False
        if draft is None:
            return
        answer = "\n".join(draft.answer).strip("\n").rstrip()
        if not answer.strip():
            self._fault(draft.line, "this question has no answer below it")
        elif len(answer) > MAX_ANSWER:
            self._fault(draft.line, _too_long("the answer to this question", len(answer), MAX_ANSWER))
        key = (draft.language.lower(), draft.question.casefold())
        first = self._asked.setdefault(key, draft.line)
        if draft.question and first != draft.line:
            self._fault(draft.line, f"this question was asked on line {first} already; keep one of the two")
        if len(self._entries) == MAX_ENTRIES:
            self._fault(draft.line, f"more than {MAX_ENTRIES:,} questions in one file; spread them over several files")
        self._entries.append(ParsedEntry(draft.question, tuple(draft.alt), answer, draft.language, self._source, draft.line))


def _is_language(value: str) -> bool:
    # "english" is a well-formed tag and surely not what was meant
    return is_tag(value) and len(primary(value)) <= 3


def _one_line(value: str) -> str:
    return " ".join(value.split())


def _too_long(what: str, length: int, limit: int) -> str:
    return f"{what} has {length:,} characters; at most {limit:,} are possible"
