"""HTML reader: headings, paragraphs, lists and tables; `summary` and `dt` are questions.

The standard library's parser takes minutes for 100 KB of tags that are never closed. This one goes through a page once, and tells what
is never closed.
"""

import re
from collections.abc import Iterator
from html import unescape as unescape_references
from typing import Any, NamedTuple

from chatsvc.domain.knowledge_files import documents, page_lines
from chatsvc.domain.knowledge_files.parsed import NO_TEXT, FileFault, Gathering, Parsed, is_language, one_line

_TAG = re.compile(r"""<(/?)([A-Za-z][^\s/>]*+)((?:=\s*+(?:"[^"]*+"|'[^']*+')|=|[^>=]++)*+)>""")
_NO_CHARACTER = re.compile(r"&#(?:[0-9]{9,}+|[xX][0-9A-Fa-f]{9,}+);?")
_OPENS = re.compile(r"<(?:!--|[!?]|/?[A-Za-z])")
_LANGUAGE = re.compile(r"""(?:^|\s)lang\s*=\s*["']?([A-Za-z0-9-]+)""", re.IGNORECASE)
_RAW = frozenset({"script", "style", "title", "textarea", "iframe", "noscript", "template", "svg", "select"})  # what they hold is not read
_LEFT_OUT = frozenset({"nav", "footer"})
_STRUCK = frozenset({"del", "s", "strike"})
_NEVER_STRUCK = frozenset({"html", "body", "br", "hr", "img", "input", "meta", "link", "wbr"})
_ENDED_BY_THE_NEXT = frozenset({"p", "li", "tr", "td", "th", "dt", "dd"})
_LINE_THROUGH = re.compile(r"""style\s*=\s*(?:"[^"]*line-through|'[^']*line-through)""", re.IGNORECASE)
_QUOTED = re.compile(r""""[^"]*"|'[^']*'""")
_HIDDEN = re.compile(r"(?:^|\s)hidden(?:\s*=\s*)?(?=\s|/|$)", re.IGNORECASE)
_BLOCK_NAMES = """
    address article aside blockquote body caption dd details div dl fieldset figcaption figure form header hr html main ol p pre section
    table tbody tfoot thead ul
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_LINES = frozenset({"br", "li", "tr"})
MAX_CHARACTERS = 8_000_000  # of a page; a tag costs more time than a line
_CELLS = frozenset({"td", "th"})
_QUESTIONS = {"summary": "details", "dt": "dl"}  # what asks -> what it asks in
_HEADINGS = {f"h{level}": level for level in range(1, 7)}


class _TagToken(NamedTuple):
    """A tag, a text (`tag` is "") or a fault. `at` is its place in the page, `text` the text or the tag's attributes."""

    at: int
    tag: str
    closes: bool
    text: str
    fault: FileFault | None = None


def parse_html(text: str, default_language: str, source: str, unit: str = "line") -> Parsed:
    """Read a page in its declared language, else the default; raises KnowledgeFileError."""
    page = _PageParser(text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n"), Gathering(source, unit, default_language))
    return page.read()


def lines_of_page(text: str) -> list[tuple[str, Any]]:
    """Return the headings and lines of a page that is well formed, for `page_lines.replay`."""
    sections = page_lines.RecordedSections()
    _PageParser(text, Gathering(""), sections).walk()
    return sections.calls


def unescape(text: str) -> str:
    """Replace character references; the standard library fails at one of thousands of digits."""
    return unescape_references(_NO_CHARACTER.sub("\ufffd", text))


def _tokens(text: str) -> Iterator[_TagToken]:
    at = 0
    while opens := _OPENS.search(text, at):
        start = opens.start()
        if start > at:
            yield _TagToken(at, "", False, text[at:start])
        tag = None if opens[0] in {"<!--", "<!", "<?"} else _TAG.match(text, start)
        name = tag[2].lower() if tag else ""
        if tag:
            yield _TagToken(start, name, bool(tag[1]), tag[3])
            at = tag.end()
            if name not in _RAW or tag[1] or tag[3].endswith("/"):
                continue
            end = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(text, at)
            at = end.start() if end else -1
        elif opens[0] == "<!--":
            at = text.find("-->", start) + 3 if text.find("-->", start) > 0 else -1
        else:
            at = text.find(">", start) + 1 if opens[0] in {"<!", "<?"} else -1
            at = at or -1
        if at < 0:
            if opens[0] == "<!--":
                yield _TagToken(start, "", False, "", FileFault(0, "page_comment_open"))
            elif name:
                yield _TagToken(start, "", False, "", FileFault(0, "element_open", {"name": name}))
            else:
                yield _TagToken(start, "", False, "", FileFault(0, "tag_open", {"tag": text[start : start + 12].strip()}))
            return
    if at < len(text):
        yield _TagToken(at, "", False, text[at:])


def _is_struck(token: _TagToken) -> bool:
    """Report whether an element is struck out, by its name or its style, or hidden for good. What has an id, a click may show."""
    if token.tag in _STRUCK or not token.text or token.tag in _NEVER_STRUCK:
        return token.tag in _STRUCK
    bare = _QUOTED.sub("", token.text)
    return _LINE_THROUGH.search(token.text) is not None or (_HIDDEN.search(bare) is not None and "id=" not in bare.lower())


class _PageParser:
    def __init__(self, text: str, found: Gathering, sections: documents.Sections | None = None) -> None:
        self._text, self._found = text, found
        self._language: str | None = None
        self._sections = sections or documents.Sections(found.unit)
        self._place, self._line = 0, 1  # the line of the place up to which lines have been counted
        self._skipped, self._depth = "", 0  # the element that is left out, and how deep in it we are
        self._struck = ""  # the element that strikes out or hides what it holds
        self._words: list[str] = []  # of the line or heading that is coming
        self._says = False  # whether these are more than blanks
        self._began = 1  # where it began
        self._prefix = ""
        self._heading = ""  # the element that is becoming a heading
        self._pre = 0
        # Paragraphs that are bold as a whole are headings of a file. Not of a website, whose entries are known by their headings.
        self._bold, self._is_bold, self._bold_heads = 0, True, sections is None

    def read(self) -> Parsed:
        """Return the entries; raises KnowledgeFileError."""
        if len(self._text) > MAX_CHARACTERS:
            self._found.fault(1, "page_too_long", length=len(self._text), most=MAX_CHARACTERS)
            return self._found.done("no_text_page")
        if bad := NO_TEXT.search(self._text):
            self._found.text(self._text.count("\n", 0, bad.start()) + 1, bad.group())
        self.walk()
        documents.take(self._found, self._sections, self._language)
        return self._found.done("no_text_page")

    def walk(self) -> None:
        """Pass headings and lines on to the sections."""
        for token in _tokens(self._text):
            self._line += self._text.count("\n", self._place, token.at)
            self._place = token.at
            if token.fault:
                self._found.fault(self._line, token.fault.code, **token.fault.facts)
            elif self._skipped:
                self._skip(token)
            elif self._struck:
                self._strike(token)
            elif not token.closes and _is_struck(token):
                self._struck, self._depth = token.tag, 0
            elif token.tag in {"b", "strong"}:
                self._bold = max(0, self._bold + (-1 if token.closes else 1))
            elif token.tag:
                self._element(token)
            else:
                self._say(unescape(token.text))
        self._end_line()

    def _skip(self, token: _TagToken) -> None:
        if token.tag == self._skipped:
            self._depth += -1 if token.closes else 1
            self._skipped = self._skipped if self._depth else ""

    def _strike(self, token: _TagToken) -> None:
        """Leave struck-out and hidden text out, which nobody means. The end of the element around it ends it too."""
        if token.tag in _STRUCK and self._struck in _STRUCK and token.closes:
            self._struck = ""
        elif token.tag == self._struck in _ENDED_BY_THE_NEXT and not token.closes and not self._depth:
            self._struck = ""
            self._element(token)
        elif token.tag in {*_BLOCKS, *_HEADINGS, *_CELLS, "li", self._struck}:
            self._depth += -1 if token.closes else 1
            if self._depth < 0:
                self._struck = ""
                if token.tag not in _STRUCK:
                    self._element(token)

    def _say(self, text: str) -> None:
        if self._pre and not self._heading:
            for nth, line in enumerate(text.split("\n")):
                if nth:
                    self._end_line()
                if line:
                    self._began = self._line + nth if not self._words else self._began
                    self._words.append(line)
            return
        self._is_bold = self._is_bold and (self._bold > 0 or not text.strip())
        if not self._says and text.strip():
            self._says, self._began = True, self._line + text[: len(text) - len(text.lstrip())].count("\n")
        self._words.append(text)

    def _element(self, token: _TagToken) -> None:
        tag, closes = token.tag, token.closes
        if tag in _LEFT_OUT:
            self._end_line()
            self._skipped, self._depth = ("", 0) if closes else (tag, 1)
        elif tag in _HEADINGS or tag in _QUESTIONS:
            self._becomes_heading(tag, closes=closes)
        elif tag in _QUESTIONS.values():
            self._end_block()
            self._sections.asked(closes=closes)
        elif tag in _CELLS:
            self._words.append(" " if closes or not self._says else " | ")
        elif tag in _LINES and not self._heading:
            self._end_line()
            if tag == "li":
                self._prefix = "" if closes else "- "
        elif tag in _BLOCKS and not (self._heading in _HEADINGS and tag not in {"p", "dd"}):
            self._end_block(closes=closes)
            self._pre = max(0, self._pre + (-1 if closes else 1)) if tag == "pre" else self._pre
        elif tag in _LINES or tag in _BLOCKS:
            self._words.append(" ")
        if tag in {"html", "body"} and (said := _LANGUAGE.search(token.text)) and is_language(said[1]):
            self._language = said[1]

    def _becomes_heading(self, tag: str, *, closes: bool) -> None:
        """Begin or end a heading; a heading inside a question is part of the question."""
        if self._heading in _QUESTIONS and tag in _HEADINGS:
            self._words.append(" ")
            return
        self._end_block()
        self._heading = "" if closes else tag

    def _end_block(self, *, closes: bool = True) -> None:
        self._end_line()
        if closes or not self._prefix:  # a paragraph that begins an item goes on with the list
            self._prefix = ""
            self._sections.line(self._line, "")

    def _end_line(self) -> None:
        """Pass the collected words on as a heading or a line of text."""
        said = "".join(self._words)
        text = said.rstrip() if self._pre and not self._heading else one_line(said).removesuffix(" |")
        is_bold = self._bold_heads and self._is_bold and self._says and not self._prefix and not self._pre
        self._words, self._says, self._is_bold, heading, self._heading = [], False, True, self._heading, ""
        if heading in _HEADINGS:
            self._sections.heading(_HEADINGS[heading], text)
        elif heading:
            self._sections.question(text)
        elif is_bold and documents.is_short(text):
            self._sections.heading(6, text.rstrip(" :"))
        elif text:
            if not self._sections.labelled(self._began, text):
                self._sections.line(self._began, self._prefix + text)
            self._prefix = ""
