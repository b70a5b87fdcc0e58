"""Markdown reader: a list of questions with their answers, or a document.

    language: en                 (optional: for the whole file)
    synonyms: bike, bicycle      (optional, as many as there are: words that mean the same to this bot)

    ## When are you open?
    alt: opening hours
    alt: are you open on sundays
    language: en-GB              (optional: for this entry)

    Monday to Friday from 9 to 6.

A `# title` starts a section and belongs to no answer; `<!-- comments -->` are left out; `##` inside a code block is code. A backslash
before what would be read as one of these (`\\## so`, `\\alt: so`) makes it text. Text that is struck out (`~~so~~`) is left out.

A file is taken for questions and answers where an `alt:` or `language:` line stands right below one of its `##` headings, or where
each of these ends with a question mark. Any other is a document, whose sections and paragraphs become passages.
"""

import re
from dataclasses import dataclass, field

from chatsvc.domain.knowledge_files import documents
from chatsvc.domain.knowledge_files.parsed import Gathering, Parsed, is_language, lines_of, one_line

_QUESTION = re.compile(r" {0,3}##(?!#)(.*)")
_TITLE = re.compile(r" {0,3}#(\s.*)?")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:\s+(.*))?")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_FIELD = re.compile(r"\A\s*+(?:[-*+]\s++)?(alt|language|synonyms)\s*+:\s*+(.*)", re.IGNORECASE)
_MOST_PLAIN = 20_000  # lines of a text in which headings of plain text are looked for
_COMMENTS = re.compile(r"\A(?:\s*+<!--.*?-->)++")
# What means something at the beginning of a line; behind a backslash it does not.
_MEANS = r"<!--|`{3}|~{3}|(?:[-*+]\s+)?(?:alt|language|synonyms)\s*:|(?:={3,}|-{4,})\s*$"
_ESCAPED = re.compile(rf"^(\s*)\\(\\*(?:#|{_MEANS}))", re.IGNORECASE)
_TO_ESCAPE = re.compile(rf"^(\s*)(##(?!#)|#(?!\S)|{_MEANS}|\\+(?:#|{_MEANS}))", re.IGNORECASE)
_ESCAPED_END = re.compile(r"(?<!\S)\\(\\*#+)$")
_END_TO_ESCAPE = re.compile(r"(?<!\S)(\\*#+)$")


_FRONT_MATTER = 100  # lines
_KEY = re.compile(r"[\w-]{1,60}\s?[:=]|\s|#|- |$")
_STRUCK = re.compile(
    r"(?<![\\~])~~(?![~\s])[^~]{1,2000}~~(?!~) ?|(?<!\\)<(del|strike|s)(?:\s[^<>]{0,200})?>(?:(?!</?\1\b).){0,2000}</\1\s*> ?",
    re.IGNORECASE,
)
_STRIKES = r"\\*(?:~~|<(?=/?(?:del|strike|s)\b))"
_STRIKE, _ESCAPED_STRIKE = re.compile(f"({_STRIKES})", re.IGNORECASE), re.compile(rf"\\({_STRIKES})", re.IGNORECASE)


def parse_markdown(text: str, default_language: str, source: str) -> Parsed:
    """Read either form; raises KnowledgeFileError with all faults of the file."""
    lines = _written(lines_of(text))
    if not _asks(lines):
        return _MarkdownParser(default_language, source).read(documents.with_tables(lines))
    reader = _Questions(default_language, source)
    for number, line in enumerate(lines, start=1):
        reader.read(number, line)
    return reader.finish()


def _written(lines: list[str]) -> list[str]:
    """Return lines with underlined headings as marked ones, and without front matter.

    Their number stays, for the messages about faults.
    """
    frame = lines[0].rstrip()
    ends = next((place for place, line in enumerate(lines[1:_FRONT_MATTER], start=1) if line.rstrip() == frame), None)
    if frame in {"---", "+++"} and ends and all(_KEY.match(line) for line in lines[1:ends]):
        lines = ["", *(line if _FIELD.match(line) else "" for line in lines[1:ends]), "", *lines[ends + 1 :]]
    written, fence, underlines = list[str](), "", False
    for place, line in enumerate(lines):
        level = 0
        if fence:
            fence = "" if _closes(line, fence) else fence
        elif opened := _FENCE.match(line):
            fence = opened[1]
        elif not underlines:
            level = documents.underlined(lines, place)
        written.append("" if underlines else f"{'#' * level} {line.strip()}" if level else line)
        underlines = level > 0
    return written


def _unstruck(line: str) -> str:
    """Return a line without what is struck out, which nobody means any more."""
    return _ESCAPED_STRIKE.sub(r"\1", _STRUCK.sub("", line)) if "~~" in line or "<" in line else line


def escaped(answer: str) -> str:
    """Escape an answer for a file of questions; the reader returns the same text."""
    lines = answer.split("\n")
    at = 0
    while at < len(lines):
        fence = _FENCE.match(lines[at])
        end = next((after for after in range(at + 1, len(lines)) if _closes(lines[after], fence.group(1))), None) if fence else None
        if end is not None:
            at = end
        else:
            lines[at] = _TO_ESCAPE.sub(r"\1\\\2", _STRIKE.sub(r"\\\1", lines[at]))
        at += 1
    return "\n".join(lines)


def escaped_question(question: str) -> str:
    """Escape a question for a line that begins with ##."""
    return _END_TO_ESCAPE.sub(r"\\\1", _STRIKE.sub(r"\\\1", question))


def _closes(line: str, marker: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(marker) and set(bare) == {marker[0]}


def _asks(lines: list[str]) -> bool:
    """Tell whether a file is a list of questions; the module's docstring has the rule."""
    comments, fence = _Comments(Gathering("")), ""
    below = False
    headings = questions = 0
    for number, raw in enumerate(lines):
        if not raw:
            continue  # changes nothing, and there may be a million of them
        if fence:
            fence = "" if _closes(raw, fence) else fence
            continue
        line = comments.left_of(number, raw.rstrip())
        if line is None:
            continue
        if heading := _QUESTION.fullmatch(line):
            headings += 1
            questions += _heading(heading[1]).endswith(("?", "？", "؟"))
            below = True
        elif below and _below(line):
            return True
        else:
            below = (below and not line) or (headings > 0 and _TITLE.fullmatch(line) is not None)
            if opened := _FENCE.match(line):
                fence = opened[1]
    return 0 < headings == questions


def _below(line: str) -> bool:
    named = _FIELD.fullmatch(line)
    return named is not None and (named[1].lower() == "alt" or (named[1].lower() == "language" and is_language(named[2].strip())))


def _heading(text: str) -> str:
    """Return a heading's text without the # characters that may close it."""
    bare = text.rstrip()
    if (opened := bare.rstrip("#")) != bare and not opened[-1:].strip():
        bare = opened
    return one_line(_unstruck(_ESCAPED_END.sub(r"\1", one_line(bare))))


@dataclass(slots=True)
class _Draft:
    """Entry under construction."""

    question: str
    line: int
    language: str | None
    alt: list[tuple[int, str]] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)
    begun: bool = False  # whether one of these lines holds text; searching them all for each line would be quadratic

    def add(self, line: str) -> None:
        self.answer.append(line)
        self.begun = self.begun or bool(line)


class _Comments:
    """Filter that removes comments line by line."""

    def __init__(self, gathering: Gathering) -> None:
        self._gathering = gathering
        self._opened: int | None = None  # where the open comment began

    @property
    def open(self) -> bool:
        """Tell whether the next line begins inside a comment."""
        return self._opened is not None

    def left_of(self, number: int, line: str) -> str | None:
        """Return the line without comments at its start; None if it is only comment."""
        was_comment = self._opened is not None
        if was_comment:
            _, end, line = line.partition("-->")
            if not end:
                return None
            self._opened = None
        if closed := _COMMENTS.match(line):
            was_comment = True
            line = line[closed.end() :]
        if line.lstrip().startswith("<!--"):
            self._opened = number
            return None
        return None if was_comment and not line.strip() else line

    def finish(self) -> None:
        if self._opened is not None:
            self._gathering.fault(self._opened, "comment_open")


class _Fence:
    """Tracker of fenced code blocks."""

    def __init__(self, gathering: Gathering) -> None:
        self._gathering = gathering
        self._opened: tuple[str, int] | None = None  # the marker that closes the code block, and where it opened

    @property
    def open(self) -> bool:
        """Tell whether the next line is in a code block."""
        return self._opened is not None

    def holds(self, line: str) -> bool:
        """Tell whether the line is in a block opened before it."""
        if self._opened is None:
            return False
        if _closes(line, self._opened[0]):
            self._opened = None
        return True

    def see(self, number: int, line: str) -> None:
        if fence := _FENCE.match(line):
            self._opened = (fence.group(1), number)

    def finish(self) -> None:
        """Report a block that is still open."""
        if self._opened is not None:
            self._gathering.fault(self._opened[1], "code_open", marker=self._opened[0])


class _Questions:
    """Line-by-line parser of a file of questions and answers."""

    def __init__(self, language: str, source: str) -> None:
        self._found = Gathering(source, default_language=language)
        self._comments = _Comments(self._found)
        self._fence = _Fence(self._found)
        self._language: str | None = None
        self._draft: _Draft | None = None
        self._stray_told = False

    def read(self, number: int, line: str) -> None:
        if not line and not self._comments.open:
            if self._draft is not None:
                self._draft.answer.append(line)
            return
        self._found.text(number, line)
        line = line.rstrip()
        if self._fence.holds(line):
            if self._draft is not None:
                self._draft.add(line)
            return
        left = self._comments.left_of(number, line)
        if left is None:
            return
        if match := _QUESTION.fullmatch(left):
            self._close()
            self._draft = _Draft(_heading(match.group(1)), number, self._language)
        elif _TITLE.fullmatch(left):
            self._close()
        elif self._draft is None:
            self._outside(number, left)
        else:
            self._inside(self._draft, number, left)

    def finish(self) -> Parsed:
        """Close the last entry and return all of them."""
        self._fence.finish()
        self._comments.finish()
        self._close()
        return self._found.done("no_question")

    def _outside(self, number: int, line: str) -> None:
        """Parse a line outside of entries: before the first question, or below a section's title."""
        named = _FIELD.fullmatch(line)
        if not line or set(line) <= set("- "):  # blank, a rule, or the frame of a front matter
            return
        if named is None:
            if not self._stray_told:  # one fault a stretch of stray text, not one a line
                self._stray_told = True
                self._found.fault(number, "stray_text")
        elif named[1].lower() == "alt":
            self._found.fault(number, "stray_alt")
        elif named[1].lower() == "synonyms":
            self._found.synonyms(number, named[2].split(","))
        else:
            self._language = self._found.language(number, named[2]) or self._language

    def _inside(self, draft: _Draft, number: int, line: str) -> None:
        named = _FIELD.fullmatch(line)
        name = named[1].lower() if named else ""
        if named and name == "alt":
            if draft.begun:
                self._found.fault(number, "late_alt")
            else:
                draft.alt.append((number, named[2]))
        elif named and name == "language" and not draft.begun and (not draft.answer or is_language(named[2].strip())):
            draft.language = self._found.language(number, named[2]) or draft.language
        elif named and name == "synonyms" and not draft.answer:
            self._found.fault(number, "synonyms_in_entry")
        else:
            self._fence.see(number, line)
            draft.add(_unstruck(_ESCAPED.sub(r"\1\2", line)))

    def _close(self) -> None:
        draft, self._draft, self._stray_told = self._draft, None, False
        if draft is not None:
            self._found.entry(draft.line, draft.question, draft.alt, "\n".join(draft.answer), draft.language)


class _MarkdownParser:
    """Parser of a document: sections under headings, split into passages."""

    def __init__(self, language: str, source: str) -> None:
        self._found = Gathering(source, default_language=language)
        self._comments = _Comments(self._found)
        self._fence = _Fence(self._found)
        self._language: str | None = None
        self._sections = documents.Sections()

    def read(self, lines: list[str]) -> Parsed:
        """Return the passages; raises KnowledgeFileError. Without one heading of Markdown, the headings are those of plain text."""
        plain = len(lines) <= _MOST_PLAIN and not any(map(_HEADING.fullmatch, lines))
        bare = [line.strip() for line in lines] if plain else []
        first = next((at for at, line in enumerate(bare) if line), 0)
        for number, raw in enumerate(lines, start=1):
            if not raw and not self._comments.open:
                self._sections.line(number, raw, joined=self._fence.open)
                continue
            self._found.text(number, raw)
            line = raw.rstrip()
            if self._fence.holds(line):
                self._sections.line(number, line, joined=True)
                continue
            left = self._comments.left_of(number, line)
            if left is None:
                continue
            heading = _HEADING.fullmatch(left)
            if heading:
                self._sections.heading(len(heading[1]), _heading(heading[2] or ""))
            elif self._sections.empty and (named := _FIELD.fullmatch(left)) and self._head(number, named[1].lower(), named[2]):
                continue
            elif not (self._sections.empty and set(left) <= set("- ")):
                self._fence.see(number, left)
                if self._fence.open or not self._sections.labelled(number, left):
                    self._text(number, left, bare, first)
        self._fence.finish()
        self._comments.finish()
        documents.take(self._found, self._sections, self._language)
        return self._found.done("no_text_markdown")

    def _text(self, number: int, line: str, bare: list[str], first: int) -> None:
        """Take a line of text, which may be a heading without marks: in a document of plain text, or bold as a whole."""
        heading = None
        if not self._fence.open:
            heading = documents.plain_heading(bare, number - 1, first) if bare else documents.bold_heading(line)
        if heading:
            self._sections.heading(2 if bare else documents.QUESTION, heading)
        else:
            self._sections.line(number, line if self._fence.open else _unstruck(line))

    def _head(self, number: int, name: str, value: str) -> bool:
        """Parse a language or synonyms line before the text; False for any other line."""
        if name == "synonyms":
            self._found.synonyms(number, value.split(","))
        elif name == "language" and is_language(value.strip()):
            self._language = value.strip()
        else:
            return False
        return True
