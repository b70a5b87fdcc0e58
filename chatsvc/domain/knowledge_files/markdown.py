"""Markdown reader: a list of questions with their answers, or a document.

    language: en                 (optional: for the whole file)
    synonyms: bike, bicycle      (optional, as many as there are: words that mean the same to this bot)

    ## When are you open?
    alt: opening hours
    alt: are you open on sundays
    language: en-GB              (optional: for this entry)

    Monday to Friday from 9 to 6.

A `# title` starts a section and belongs to no answer; `<!-- comments -->` are left out; `##` inside a code block is code. A backslash
before such a mark (`\\## so`, `\\alt: so`) makes it normal text. Text that is struck out (`~~so~~`) is left out.

A file is a list of questions if an `alt:` or `language:` line follows one of its `##` headings directly, or if each of these headings
ends with a question mark. Any other file is a document, whose sections and paragraphs become passages.
"""

import re
from collections.abc import Iterator
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
    """Parse a list of questions or a document; raises KnowledgeFileError with all faults of the file."""
    gathering = Gathering(source, default_language=default_language)
    content = list(_content(_marked(lines_of(text)), gathering))
    return (_read_questions if _asks(content) else _read_document)(gathering, content)


def _marked(lines: list[str]) -> list[str]:
    """Convert underlined headings to headings with `#`, and blank the front matter.

    The number of lines does not change, since messages about faults have line numbers.
    """
    frame = lines[0].rstrip()
    ends = next((index for index, line in enumerate(lines[1:_FRONT_MATTER], start=1) if line.rstrip() == frame), None)
    if frame in {"---", "+++"} and ends and all(_KEY.match(line) for line in lines[1:ends]):
        lines = ["", *(line if _FIELD.match(line) else "" for line in lines[1:ends]), "", *lines[ends + 1 :]]
    marked, fence, underlines = list[str](), "", False
    for index, line in enumerate(lines):
        level = 0
        if fence:
            fence = "" if _closes(line, fence) else fence
        elif opened := _FENCE.match(line):
            fence = opened[1]
        elif not underlines:
            level = documents.underlined(lines, index)
        marked.append("" if underlines else f"{'#' * level} {line.strip()}" if level else line)
        underlines = level > 0
    return marked


def _content(lines: list[str], gathering: Gathering) -> Iterator[tuple[int, str, bool]]:
    """Yield number, text and whether it is code for each line that is not a comment."""
    fence, fence_line, comment_line = "", 0, 0  # what closes the open code block; where that and the open comment began
    for number, raw in enumerate(lines, start=1):
        if not raw and not comment_line:
            yield number, "", bool(fence)
            continue
        gathering.text(number, raw)
        if fence:
            fence = "" if _closes(raw, fence) else fence
            yield number, raw.rstrip(), True
            continue
        line, is_open = _without_comments(raw.rstrip(), is_open=comment_line > 0)
        comment_line = (comment_line or number) if is_open else 0
        if line is not None:
            if opened := _FENCE.match(line):
                fence, fence_line = opened[1], number
            yield number, line, bool(opened)
    if fence:
        gathering.fault(fence_line, "code_open", marker=fence)
    if comment_line:
        gathering.fault(comment_line, "comment_open")


def _without_comments(line: str, *, is_open: bool) -> tuple[str | None, bool]:
    """Return a line without comments, and whether a comment continues in the next line. A line with only a comment becomes None."""
    rest = line
    if is_open:
        _, end, rest = line.partition("-->")
        if not end:
            return None, True
    if closed := _COMMENTS.match(rest):
        rest = rest[closed.end() :]
    if rest.lstrip().startswith("<!--"):
        return None, True
    return None if rest != line and not rest.strip() else rest, False


def _unstruck(line: str) -> str:
    """Return a line without struck-out text, which is no longer valid."""
    return _ESCAPED_STRIKE.sub(r"\1", _STRUCK.sub("", line)) if "~~" in line or "<" in line else line


def escaped(answer: str) -> str:
    """Escape an answer for a list of questions, so that the reader returns the same text."""
    lines = answer.split("\n")
    index = 0
    while index < len(lines):
        fence = _FENCE.match(lines[index])
        end = next((after for after in range(index + 1, len(lines)) if _closes(lines[after], fence[1])), None) if fence else None
        if end is not None:
            index = end
        else:
            lines[index] = _TO_ESCAPE.sub(r"\1\\\2", _STRIKE.sub(r"\\\1", lines[index]))
        index += 1
    return "\n".join(lines)


def escaped_question(question: str) -> str:
    """Escape a question for a line that begins with ##."""
    return _END_TO_ESCAPE.sub(r"\\\1", _STRIKE.sub(r"\\\1", question))


def _closes(line: str, marker: str) -> bool:
    bare = line.strip()
    return len(bare) >= len(marker) and set(bare) == {marker[0]}


def _asks(content: list[tuple[int, str, bool]]) -> bool:
    """Return whether a file is a list of questions. The module's docstring has the rule."""
    is_below = False
    headings = questions = 0
    for _, line, is_code in content:
        if not line and not headings:
            continue
        if is_code:
            is_below = False
        elif heading := _QUESTION.fullmatch(line):
            headings += 1
            questions += _heading(heading[1]).endswith(("?", "？", "؟"))
            is_below = True
        elif is_below and (named := _FIELD.fullmatch(line)):
            if named[1].lower() == "alt" or (named[1].lower() == "language" and is_language(named[2].strip())):
                return True
            is_below = False
        else:
            is_below = (is_below and not line) or (headings > 0 and _TITLE.fullmatch(line) is not None)
    return 0 < headings == questions


def _heading(text: str) -> str:
    """Return a heading's text without the # characters that may close it."""
    bare = text.rstrip()
    if (opened := bare.rstrip("#")) != bare and not opened[-1:].strip():
        bare = opened
    return one_line(_unstruck(_ESCAPED_END.sub(r"\1", one_line(bare))))


@dataclass(slots=True)
class _Draft:
    question: str
    line: int
    language: str | None
    alt: list[tuple[int, str]] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)
    begun: bool = False  # whether one of these lines holds text; searching them all for each line would be quadratic

    def add(self, line: str) -> None:
        self.answer.append(line)
        self.begun = self.begun or bool(line)


def _read_questions(gathering: Gathering, content: list[tuple[int, str, bool]]) -> Parsed:
    draft: _Draft | None = None
    language: str | None = None  # of the entries below
    has_stray = False  # one fault a stretch of stray text, not one a line
    for number, line, is_code in [*content, (0, "#", False)]:  # a title ends the last entry
        if is_code and draft is not None:
            draft.add(line)
            continue
        heading = _QUESTION.fullmatch(line)
        if heading or _TITLE.fullmatch(line):
            if draft is not None:
                gathering.entry(draft.line, draft.question, draft.alt, "\n".join(draft.answer), draft.language)
            draft, has_stray = _Draft(_heading(heading[1]), number, language) if heading else None, False
            continue
        named = _FIELD.fullmatch(line) if line else None
        name, value = (named[1].lower(), named[2]) if named else ("", "")
        if draft is None:  # before the first question, or below a section's title
            if name == "language":
                language = gathering.language(number, value) or language
            elif name == "synonyms":
                gathering.synonyms(number, value.split(","))
            elif name == "alt":
                gathering.fault(number, "stray_alt")
            elif not has_stray and not set(line) <= set("- "):  # neither blank, nor a rule or the frame of a front matter
                has_stray = True
                gathering.fault(number, "stray_text")
        else:
            _read_below(gathering, draft, number, line, name, value)
    return gathering.done("no_question")


def _read_below(gathering: Gathering, draft: _Draft, number: int, line: str, name: str, value: str) -> None:
    """Read a line below a question. `name` and `value` are those of a field such as `alt: hours`, or empty."""
    if name == "alt" and draft.begun:
        gathering.fault(number, "late_alt")
    elif name == "alt":
        draft.alt.append((number, value))
    elif name == "language" and not draft.begun and (not draft.answer or is_language(value.strip())):
        draft.language = gathering.language(number, value) or draft.language
    elif name == "synonyms" and not draft.answer:
        gathering.fault(number, "synonyms_in_entry")
    else:
        draft.add(_unstruck(_ESCAPED.sub(r"\1\2", line)))


def _read_document(gathering: Gathering, content: list[tuple[int, str, bool]]) -> Parsed:
    """Read sections under headings, split into passages. If there are no Markdown headings, use headings of plain text."""
    sections, language = documents.Sections(), None
    lines = documents.with_tables([line for _, line, _ in content])
    plain = len(lines) <= _MOST_PLAIN and not any(map(_HEADING.fullmatch, lines))
    bare = [line.strip() for line in lines] if plain else []
    first = next((index for index, line in enumerate(bare) if line), 0)
    for index, ((number, _, is_code), line) in enumerate(zip(content, lines, strict=True)):
        if is_code or not line:
            sections.line(number, line, joined=is_code and index > 0 and content[index - 1][2])
        elif heading := _HEADING.fullmatch(line):
            sections.heading(len(heading[1]), _heading(heading[2] or ""))
        elif sections.empty and (named := _FIELD.fullmatch(line)) and named[1].lower() == "synonyms":
            gathering.synonyms(number, named[2].split(","))
        elif sections.empty and named and named[1].lower() == "language" and is_language(named[2].strip()):
            language = named[2].strip()
        elif (sections.empty and set(line) <= set("- ")) or sections.labelled(number, line):
            continue
        elif title := documents.plain_heading(bare, index, first) if bare else documents.bold_heading(line):
            sections.heading(2 if bare else documents.QUESTION, title)
        else:
            sections.line(number, _unstruck(line))
    documents.take(gathering, sections, language)
    return gathering.done("no_text_markdown")
