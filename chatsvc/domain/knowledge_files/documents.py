"""Splitting of documents into passages: at headings, then at paragraphs, then between sentences.

A passage becomes an entry. Its question is the heading above it and the higher headings, except the title of the document. If
a section has several passages, the questions of all but the first also have the passage's first sentence. A passage without a heading
has its first sentence as the question.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

from chatsvc.domain.knowledge_files.parsed import MAX_PHRASING, Gathering, Parsed, lines_of, one_line

LONGEST = 2_400  # characters of a passage
_SHORTEST = 600  # what is left at the end of a section joins the passage before it where it is shorter
_FIRST_SENTENCE = 160  # characters of a first sentence that stands in a question
_SENTENCE_END = re.compile(r"""[.!?…]["'”’»)\]]*\s+""")
_ABBREVIATIONS = "dr prof doç av sn vb vs örn bkz no tel yrd mr mrs ms st eg ie e.g i.e etc cad sok mah apt"
_NO_END = frozenset(_ABBREVIATIONS.split())
HEADING, ASKING = (60, 6), (120, 20)  # characters and words of a line of plain text that may be a heading, and of one that asks
_CAPITALS = 4  # letters of a heading in capitals: fewer are an abbreviation
_BOLD = re.compile(r"(\*\*|__)(?!\s)([^*_]{2,80})(?<!\s)\1:?")
QUESTION = 7  # level of a question, below all headings
_PROSE = 5  # words of a line below it that are more than an address, a name or an item
_ASKED = re.compile(
    r"\A[>\s]*+(?:[-*+]\s++)?[*_]{0,3}(?:(?:question|soru)\s*+\d{0,4}\s*+[:.)]|[qs]\s*+\d{0,4}\s*+:)[*_]{0,3}\s*+(.*)", re.IGNORECASE
)
_ANSWERED = re.compile(
    r"\A[>\s]*+(?:[-*+]\s++)?[*_]{0,3}(?:(?:answer|cevap|yan[ıi]t)\s*+\d{0,4}\s*+[:.)]|[ac]\s*+\d{0,4}\s*+:)[*_]{0,3}\s*+(.*)",
    re.IGNORECASE,
)
_FRAMED = re.compile(r"\A([-=~*])\1++\s*+(\w.{0,60}?)\s*\1{2,}")  # --- Prices ---
TABLE_RULE = re.compile(r"[\s|:+=-]+")  # below the heads of a table
_BOLD_QUESTION = re.compile(
    r"\A[>\s]*+(?:[-*+]\s++)?(\*\*|__)(?=\S)([^*_]{1,200}\?)\1[:\s]*+(.*)"
)  # a question in bold, with its answer behind it or below

_FEWEST_DASHES = 3  # below a heading; as many alone are a rule between paragraphs
_NUMBERING = re.compile(r"^(?:\d{1,2}(?:[.)]|(?:\.\d{1,2}){1,2}[.)]?)|[A-Za-z][.)])\s+")


@dataclass(slots=True)
class _DocumentSection:
    """Blocks of text below one heading, each with its first line's number. `asked` are the lines labelled Q: above the blocks."""

    path: tuple[str, ...]
    blocks: list[tuple[int, list[str]]] = field(default_factory=list)
    asked: list[tuple[int, str]] = field(default_factory=list)
    answered: bool = False


class Passage(NamedTuple):
    """A passage with its line number and its question. `key` has its heading and its position below this heading."""

    line: int
    question: str
    text: str
    key: str


class Sections:
    """Collector of a document's headings and lines, in order."""

    def __init__(self, unit: str = "line") -> None:
        self._step = int(unit == "line")  # pages and paragraphs do not count on with the lines of a block
        self._path: list[tuple[int, str]] = []
        self._list: list[_DocumentSection] = [_DocumentSection(())]
        self._open = False  # whether the next line goes on with the last block
        self._titles, self._title = 0, ""
        self._asking: list[list[tuple[int, str]]] = []  # the headings around each list of questions that is open
        self.empty = True  # whether there is nothing yet but headings

    def heading(self, level: int, text: str) -> None:
        """Begin a section with a heading. The highest level is 1."""
        while self._path and self._path[-1][0] >= level:
            self._path.pop()
        if text:
            if level == 1:
                self._titles, self._title = self._titles + 1, text
            self._path.append((level, text))
        self._begin()

    def take(self, kind: str, value: Any, number: int = 1) -> None:
        """Add an element of this `kind`: "heading" (level and text), "question", "line" or "asked".

        "asked" is the beginning of a list of questions, or its end if `value` is true. A question is the only heading of its
        section. The end of a list restores the headings above the list.
        """
        if kind == "heading":
            self.heading(*value)
        elif kind == "asked" and not value:
            self._asking.append(list(self._path))
        elif kind == "asked":
            if self._asking:
                self._path = self._asking.pop()
                self._begin()
        elif kind == "question":
            self.heading(QUESTION, value)
        elif not (value and self.labelled(number, value)):
            self.line(number, value)

    def _begin(self) -> None:
        is_question = bool(self._path) and self._path[-1][0] == QUESTION
        path = tuple(text for _, text in self._path)[-1 if is_question else 0 :]
        if not self._list[-1].blocks and not self._list[-1].asked:
            self._list[-1].path = path  # nothing stands below the heading before
        else:
            self._list.append(_DocumentSection(path))
        self._open = False

    def labelled(self, number: int, text: str) -> bool:
        """Add a line if it belongs to a labelled question (Q:, A:, Soru:, Cevap: or bold). Return False for any other line."""
        section = self._list[-1]
        if match := _BOLD_QUESTION.match(text):
            self._begin()
            self._list[-1].asked.append((number, match[2].strip()))
            self._list[-1].answered, self.empty = True, False
            if match[3]:
                self.line(number, match[3])
            return True
        if match := _ASKED.match(text):
            if section.answered or not section.asked:
                self._begin()
            self._list[-1].asked.append((number, match[1].strip(" *_")))
            self.empty = False
            return True
        if not section.asked or section.answered:
            return False
        if match := _ANSWERED.match(text):
            section.answered = True
            if match[1]:
                self.line(number, match[1])
        elif text.strip():
            line, asked = section.asked.pop()
            section.asked.append((line, f"{asked} {text.strip()}"[: 2 * MAX_PHRASING]))
        return True

    def line(self, number: int, text: str, *, joined: bool = False) -> None:
        """Add a line of text. An empty line ends the paragraph unless it is `joined`, as in code."""
        if not text and not joined:
            self._open = False
            return
        blocks = self._list[-1].blocks
        if not blocks or not (self._open or joined):
            blocks.append((number, []))
        blocks[-1][1].append(text)
        self._open, self.empty = True, False

    def questions(self) -> list[_DocumentSection]:
        """Return the sections labelled Q: and A:, or none if no question among them has an answer."""
        labelled = [section for section in self._list if section.asked]
        return labelled if any(section.answered for section in labelled) else []

    def passages(self) -> Iterator[Passage]:
        is_labelled = bool(self.questions())
        for section in (section for section in self._list if not (is_labelled and section.asked)):
            # one heading above all others is the document's name, and says nothing about where in it we are
            path = section.path[1:] if self._titles == 1 and section.path[1:] and section.path[0] == self._title else section.path
            headings, blocks = ": ".join(path), [*((line, [text]) for line, text in section.asked), *section.blocks]
            for nth, (line, text) in enumerate(_packed(_pieces(blocks, self._step))):
                yield Passage(line, _question(headings, text, alone=nth == 0), text, f"{headings}#{nth}")


def take(gathering: Gathering, sections: Sections, language: str | None) -> None:
    """Add entries for labelled questions and for all passages to `gathering`. `language` is declared by the file, or None."""
    take_labelled(gathering, sections, language)
    for passage in sections.passages():
        gathering.entry(passage.line, passage.question, (), passage.text, language, once=False)


def take_labelled(gathering: Gathering, sections: Sections, language: str | None) -> None:
    for section in sections.questions():
        (line, question), *others = section.asked
        answer = "\n\n".join("\n".join(lines) for _, lines in section.blocks)
        gathering.entry(line, question, others, answer, language)


def parse_text(text: str, default_language: str, source: str) -> Parsed:
    """Parse plain text: paragraphs with empty lines between them, and headings as people type them. Raises KnowledgeFileError."""
    return parse_lines(list(enumerate(lines_of(text), start=1)), default_language, source)


def parse_lines(numbered: Sequence[tuple[int, str]], default_language: str, source: str, unit: str = "line") -> Parsed:
    """Parse numbered lines of plain text. `unit` is what the numbers count, such as lines or pages. Raises KnowledgeFileError."""
    gathering, sections = Gathering(source, unit, default_language), Sections(unit)
    written = with_tables([line for _, line in numbered])
    lines = [line.strip() for line in written]
    first = next((index for index, line in enumerate(lines) if line), 0)
    level = 0
    for index, (number, line) in enumerate(numbered):
        gathering.text(number, line)
        if level:  # this line underlined the one before
            level = 0
        elif level := underlined(lines, index):
            sections.heading(level, lines[index])
        elif sections.labelled(number, line):
            continue
        elif heading := plain_heading(lines, index, first):
            sections.heading(2, heading)
        else:
            sections.line(number, written[index].rstrip())
    take(gathering, sections, None)
    return gathering.done("nothing")


def underlined(lines: Sequence[str], index: int) -> int:
    """Return the heading level of a line that the next line underlines, or 0 for any other line."""
    under, text = lines[index + 1].strip() if index + 1 < len(lines) else "", lines[index].strip()
    if not text or text[0] in "#>|-=*+" or under[:3] not in {"===", "---"} or set(under) != {under[0]}:
        return 0
    if under[0] == "=":
        return 1
    return 2 if len(under) > _FEWEST_DASHES and is_short(text) and not (index and lines[index - 1].strip()) else 0


def with_tables(lines: list[str]) -> list[str]:
    """Return lines in which pasted tables, whose cells are separated by tabs, are converted to Markdown."""
    written, start = list(lines), 0
    while start < len(lines):
        columns, end = lines[start].count("\t"), start + 1
        if sum(map(bool, map(str.strip, lines[start].split("\t")))) > 1:
            while end < len(lines) and lines[end].strip() and lines[end].count("\t") == columns:
                end += 1
            if end > start + 1:
                rows = ([one_line(cell).replace("|", "/") for cell in line.split("\t")] for line in lines[start:end])
                written[start:end] = [f"| {' | '.join(row)} |" for row in rows]
        start = end
    return written


def plain_heading(lines: Sequence[str], index: int, first: int) -> str | None:
    """Return a line of plain text without its marks if it is a heading, or None for any other line.

    The lines are stripped, and `first` is the index of the first one that is not empty.
    """
    line, below = lines[index], _below(lines, index)
    is_marked = _is_marked(line) and below is not None and not _is_marked(lines[below])
    if not is_marked and not _is_heading(lines, index, first):
        return None
    framed = _FRAMED.fullmatch(line)
    bare = framed[2] if framed else _BOLD.sub(r"\2", line)
    return bare.rstrip(" :") or bare


def _below(lines: Sequence[str], index: int) -> int | None:
    return next((below for below in range(index + 1, min(index + 3, len(lines))) if lines[below]), None)


def bold_heading(line: str) -> str | None:
    bold = _BOLD.fullmatch(line.strip())
    return bold[2].rstrip(" :") if bold and is_short(bold[2]) else None


def is_short(text: str) -> bool:
    """Return whether a text is short enough for a heading and not a sentence."""
    return len(text) <= HEADING[0] and text[-1:] not in {".", ",", ";", ""} and "|" not in text and "\t" not in text


def _is_marked(line: str) -> bool:
    """Return whether a line is marked as a heading: framed, bold as a whole, or in capitals."""
    if len(line) < _CAPITALS or not (line[0] in "-=~*_" or line[0].isdigit() or line.isupper()):
        return False
    if _FRAMED.fullmatch(line):
        return True
    bold = _BOLD.fullmatch(line)
    bare = _NUMBERING.sub("", bold[2] if bold else line, count=1)
    if not is_short(bare):
        return False
    return bold is not None or (bare.isupper() and sum(map(str.isalpha, bare)) >= _CAPITALS and not any(map(str.isdigit, bare)))


def _is_heading(lines: Sequence[str], index: int, first: int) -> bool:
    """Return whether a line of plain text is a heading: short, the first of its paragraph, not a sentence, and above prose."""
    following = _below(lines, index)
    if (index and lines[index - 1]) or not _is_title(lines[index]) or following is None:
        return False
    line, below = lines[index], lines[following]
    has_prose = below[-1] in ".!…" or (len(below.split()) >= _PROSE and not _is_title(below))
    if line[-1] in "?:" or has_prose or (names_price(below) and not names_price(line)):
        return True
    return index == first and _is_heading(lines, following, first)  # the document's own name


def _is_title(line: str) -> bool:
    if not line:
        return False
    begins = _NUMBERING.sub("", line, count=1)[:1]
    characters, words = ASKING if line.endswith("?") else HEADING
    if not begins.isupper() or "\t" in line or len(line) > characters or len(line.split()) > words:
        return False
    return line[-1] not in ".,;!…" and next(_sentences(line)) == line


def _question(headings: str, text: str, *, alone: bool) -> str:
    if headings and alone:
        return _shortened(headings, MAX_PHRASING)
    if heads := heads_of(text.split("\n", 3)):
        text = ", ".join(filter(None, heads))
    plain = one_line(re.sub(r"^[\s>*+#|`~-]+|[*_`|]+", " ", text[: 4 * LONGEST]))
    first = _shortened(next(_sentences(plain), plain), _FIRST_SENTENCE) or one_line(text)[:_FIRST_SENTENCE]
    return f"{_shortened(headings, MAX_PHRASING - _FIRST_SENTENCE - 2)}: {first}" if headings else first


def _shortened(text: str, length: int) -> str:
    if len(text) <= length:
        return text
    return text[: length - 1].rsplit(" ", 1)[0].rstrip(",;:") + "…"


def _pieces(blocks: Sequence[tuple[int, list[str]]], step: int) -> Iterator[tuple[int, str, str]]:
    """Split blocks into pieces no longer than a passage. Yield line number, text, and the separator from the piece before."""
    for line, lines in blocks:
        block = "\n".join(lines)
        if len(block) <= LONGEST:
            yield line, block, "\n\n"
            continue
        if heads_of(lines):
            heads = 1 + bool(TABLE_RULE.fullmatch(lines[1]))
            yield from ((line + (heads + index) * step, text, "\n\n") for index, text in table_parts(lines[:heads], lines[heads:]))
            continue
        for nth, text in enumerate(lines):
            before = "\n" if nth else "\n\n"
            for joint, piece in [("", text)] if len(text) <= LONGEST else _cut(text):
                yield line + nth * step, piece, before + joint
                before = ""


def table_parts(heads: Sequence[str], rows: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Split a long table. Yield for each part the index of its first row, and its text with the column heads."""
    part: list[str] = []
    for index, row in enumerate(rows):
        if part and len("\n".join([*heads, *part, row])) > LONGEST:
            yield index - len(part), "\n".join([*heads, *part])
            part = []
        part.append(row)
    yield len(rows) - len(part), "\n".join([*heads, *part])


def _packed(pieces: Iterator[tuple[int, str, str]]) -> list[tuple[int, str]]:
    """Join pieces into passages of at most LONGEST characters. Avoid a last passage that is very short."""
    passages: list[tuple[int, str]] = []
    joints: list[str] = []
    for line, piece, joint in pieces:
        if passages and len(passages[-1][1]) + len(joint) + len(piece) <= LONGEST:
            passages[-1] = (passages[-1][0], passages[-1][1] + joint + piece)
        elif piece.strip():
            passages.append((line, piece))
            joints.append(joint)
    if len(passages) > 1 and len(passages[-1][1]) < _SHORTEST:
        (line, before), (_, rest) = passages[-2:]
        passages[-2:] = [(line, before + joints[-1] + rest)]
    return passages


def _cut(text: str) -> Iterator[tuple[str, str]]:
    """Split a long paragraph between sentences. Long sentences are split between words, long words anywhere. Yield (separator, part)."""
    held = joint = ""
    for sentence in _sentences(text):
        if held and len(held) + len(sentence) + 1 > LONGEST:
            yield joint, held
            held, joint = "", " "
        start = 0
        while len(sentence) - start > LONGEST:
            blank = sentence.rfind(" ", start + LONGEST // 2, start + LONGEST)
            stop = blank if blank > 0 else start + LONGEST
            yield joint, sentence[start:stop]
            joint = " " if blank > 0 else ""
            start = stop + len(joint)
        held = f"{held} {sentence[start:]}" if held else sentence[start:]
    if held:
        yield joint, held


def _sentences(text: str) -> Iterator[str]:
    ends = [0, *(end.end() for end in _SENTENCE_END.finditer(text) if _ends(text, end)), len(text)]
    for start, stop in pairwise(ends):
        if text[start:stop].strip():
            yield text[start:stop].strip()


def _ends(text: str, end: re.Match[str]) -> bool:
    """Return whether a sentence ends at `end`. It does not after an abbreviation or ordinal ("3. kat"), or before a small letter."""
    if text[end.end() : end.end() + 1].islower():
        return False
    if text[end.start()] != ".":
        return True
    word = text[max(0, end.start() - 12) : end.start()].rsplit(None, 1)
    last = word[-1].lstrip("(\"'").lower() if word else ""
    return last not in _NO_END and not (last.isdigit() and len(last) < 3) and len(last) != 1


# Prices in lines of text, and heads of tables.
_FEWEST_ROWS = 2  # of a table, its heads included
_LONGEST_LINE = 200  # characters of a line
_LONGEST_PRICE = 80  # characters of a price
_SIGNS, _CODES = "₺$€£", "TL|TRY|lira|USD|EUR|GBP|CHF|euros?|avro|dolar|dollars?|pounds?|sterlin"
_DIGITS = r"(?<!\d)\d[\d.,]{0,15}"  # not from within a row of digits, which would take time
_AMOUNT = rf"(?:[{_SIGNS}]\s?{_DIGITS}|{_DIGITS}\s?(?:[{_SIGNS}]|(?:{_CODES})\b))"
_PRICE = re.compile(rf"(?:(?:from|ab|en az)\s{{1,9}})?(?:{_DIGITS}\s?[-–]\s?)?{_AMOUNT}|(?:free|ücretsiz|bedava)\b", re.IGNORECASE)
_MORE = r"[/(+,*].*|(?:per|each|an?|başla\w*|kişi|adet|saat|gece|and up|ve üzeri|başı)\b.*"  # what may stand behind a price
_ALONE = re.compile(rf"\A(?:{_PRICE.pattern})(?:'\w{{1,4}})?(?:\s*[-–]\s*{_AMOUNT})?\s*(?:{_MORE})?", re.IGNORECASE)


def heads_of(lines: Sequence[str]) -> list[str]:
    """Return the column heads of a table whose cells are separated by `|`. Return an empty result if the lines are no table."""
    if len(lines) < _FEWEST_ROWS or any("|" not in line for line in lines[:_FEWEST_ROWS]) or re.search(_AMOUNT, lines[0]):
        return []
    return [cell.strip(" *_") for cell in lines[0].strip().removeprefix("|").removesuffix("|").split("|")]


def names_price(text: str) -> bool:
    """Return whether a line contains a price."""
    return len(text) <= _LONGEST_LINE and _PRICE.search(text) is not None


def is_price(text: str) -> bool:
    """Return whether a text is only a price, such as "from £20 per person"."""
    return len(text) <= _LONGEST_PRICE and _ALONE.fullmatch(text) is not None
