"""Conversion of HTML to headings and lines, for files and websites. selectolax (Lexbor) parses a page as a browser does.

It was compared with lxml and trafilatura on 60 generated pages of ten kinds: selectolax and lxml both keep 98 % of the facts,
trafilatura keeps 90 %. selectolax adds 1 MB to the program and needs no other package.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from chatsvc.domain.knowledge_files import documents
from chatsvc.domain.knowledge_files.parsed import Gathering, Parsed, decode_any, is_language, one_line
from chatsvc.file_reader import page_tree

MAX_CHARACTERS = 8_000_000  # of a file; a tag costs more time than a line
SAMPLE = b"<p>a"
_NUMBER = "data-paragraph"
_BLOCK_NAMES = """
    address article aside blockquote body caption dd details div dl fieldset figcaption figure form header hr html main ol p pre section
    table tbody tfoot thead ul
"""
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_LINES = frozenset({"br", "li", "tr"})
_CELLS = frozenset({"td", "th"})
_QUESTIONS = frozenset({"summary", "dt"})
_QUESTION_LISTS = frozenset({"details", "dl"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}


def read(name: str, data: bytes, language: str) -> Parsed:
    """Read an HTML file; raises KnowledgeFileError."""
    return read_text(name, decode_any(name, data), language)


def read_text(name: str, text: str, language: str) -> Parsed:
    """Read HTML text. `language` is used if the page declares none. Raises KnowledgeFileError, whose faults have numbers of paragraphs."""
    gathering = Gathering(name, "paragraph", language)
    if len(text) > MAX_CHARACTERS:
        gathering.fault(1, "page_too_long", length=len(text), most=MAX_CHARACTERS)
        return gathering.done("no_text_page")
    tree = LexborHTMLParser(text)
    paragraphs = tree.css("p, li, h1, h2, h3, h4, h5, h6")
    for number, paragraph in enumerate(paragraphs, start=1):
        paragraph.attrs[_NUMBER] = str(number)
    # If a page ends in the middle of a tag or comment, a browser does not show the rest.
    if (start := text.rfind("<!--")) > text.rfind("-->"):
        gathering.fault(max(1, len(paragraphs)), "page_comment_open")
    elif (start := text.rfind("<")) > text.rfind(">") and text[start + 1 : start + 2].isalpha():
        gathering.fault(max(1, len(paragraphs)), "tag_open", tag=text[start : start + 12].strip())
    declared = [lang for node in (tree.body, tree.root) if node and is_language(lang := node.attributes.get("lang") or "")]
    page_tree.rewrite(tree, is_site=False)
    sections = documents.Sections("paragraph")
    for kind, value, number in page_lines(tree.body):
        gathering.text(number, str(value))
        sections.take(kind, value, number)
    documents.take(gathering, sections, declared[0] if declared else None)
    return gathering.done("no_text_page")


class PageLine(NamedTuple):
    """A line of a page. Its kind is "heading", "question" or "line"; `value` is its text, or for a heading its level and text.

    The kind "asked" marks the beginning (`value` is False) or the end (`value` is True) of a list of questions.
    """

    kind: str
    value: Any
    paragraph: int


def page_lines(node: LexborNode | None) -> list[PageLine]:
    walk = _Walk()
    for child, opens in _events(node) if node is not None else ():
        if child.tag != "-text":
            walk.element(child, opens=opens)
        elif opens:
            walk.text(child.text_content or "")
    walk.end_line()
    return walk.lines


def _events(root: LexborNode) -> Iterator[tuple[LexborNode, bool]]:
    """Yield each node twice: with True when it begins, with False when it ends. There is no recursion, since pages may be nested deeply."""
    node = root
    while True:
        yield node, True
        if (child := node.first_child) is not None:
            node = child
            continue
        while True:
            yield node, False
            if node.mem_id == root.mem_id:
                return
            if (following := node.next) is not None:
                node = following
                break
            node = node.parent  # type: ignore[assignment]  # below the root each node has one


class _Walk:
    def __init__(self) -> None:
        self.lines: list[PageLine] = []
        self._words: list[str] = []  # of the line or heading that is coming
        self._paragraph = 1
        self._prefix = ""
        self._heading = ""  # the element that is becoming a heading
        self._pre = 0

    def element(self, node: LexborNode, *, opens: bool) -> None:
        tag = node.tag
        if opens and (number := node.attributes.get(_NUMBER) if tag in {"p", "li"} or tag in _HEADINGS else None):
            self._paragraph = int(number)
        if self._heading in _QUESTIONS and tag in _HEADINGS:
            self._words.append(" ")  # part of the question
        elif tag in _HEADINGS or tag in _QUESTIONS:
            self._end_block()
            self._heading = tag if opens else ""
        elif tag in _QUESTION_LISTS:
            self._end_block()
            self._add("asked", not opens)
        elif tag in _CELLS:
            self._words.append(" | " if opens and any(map(str.strip, self._words)) else " ")
        elif self._heading and (tag != "p" or self._heading in _QUESTIONS):
            self._words.append(" " if tag in _LINES or tag in _BLOCKS else "")
        elif tag in _LINES:
            self.end_line()
            if tag == "li":
                self._prefix = "- " if opens else ""
        elif tag in _BLOCKS:
            self._end_block(closes=not opens)
            self._pre += (1 if opens else -1) if tag == "pre" else 0

    def _add(self, kind: str, value: object) -> None:
        self.lines.append(PageLine(kind, value, self._paragraph))

    def text(self, text: str) -> None:
        first, *others = text.split("\n") if self._pre and not self._heading else [text]
        self._words.append(first)
        for line in others:
            self.end_line()
            self._words.append(line)

    def _end_block(self, *, closes: bool = True) -> None:
        self.end_line()
        if closes or not self._prefix:  # a paragraph that begins an item goes on with the list
            self._prefix = ""
            self._add("line", "")

    def end_line(self) -> None:
        """Add the collected words to the lines, as a heading, a question or a line of text."""
        words, heading = page_tree.JOINED.sub("", "".join(self._words)), self._heading
        text = words.rstrip() if self._pre and not heading else one_line(words).removesuffix(" |")
        self._words, self._heading = [], ""
        if heading in _HEADINGS:
            self._add("heading", [_HEADINGS[heading], text])
        elif heading:
            self._add("question", text)
        elif text:
            self._add("line", self._prefix + text)
            self._prefix = ""
