"""Rewriting of a page's tree, so that its lines of text say what a browser shows.

Spanning cells of tables are repeated, lines in bold become headings, and prices are separated from the names before them. Elements
that are not content are removed.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from chatsvc.domain.knowledge_files.documents import is_price
from chatsvc.domain.knowledge_files.parsed import one_line

# Elements that are no content of the page.
_NEVER = """
    script, style, template, svg, iframe, noscript, select, input, textarea, label, del, s, strike, [style*="line-through" i]
"""
_CHROME = """
    nav, footer, aside, form, dialog, body > header, [hidden], [aria-hidden=true], [role=navigation], [role=banner], [role=contentinfo],
    [role=dialog], [role=alertdialog], [role=search], [aria-label*=cookie i], [class*=cookie i], [id*=cookie i], [class*=consent i],
    [id*=consent i], [class*=breadcrumb i], [class*=newsletter i], [class*=skip-link i], [class*=share i], [class*=sidebar i],
    [class*=header-group i], [class*=location-header i], [class*=location-footer i], [class*=visually-hidden i], [class~=sr-only],
    [class*=screen-reader i], [class*=related i], [class*=recommend i], [class*=comments i], [id=comments], [class~=meta],
    [class*=entry-meta i], [class*=post-meta i], [class*=testimonial i], [id=SITE_HEADER], [id=SITE_FOOTER], [id=header], [id=footer]
"""
_HIDDEN = "nav, footer, [hidden]:not([id])"  # in a file; what has an id, a click may show
_CALLS = "a[class*=btn i], a[class*=button i]"  # links to act on, as buttons are
_OPENERS = ("aria-controls", "data-target", "data-bs-target", "href")
_JOINT = "\u2063"  # stands before a colon that joins the text before it, blanks left out
JOINED = re.compile(rf"(?<!\s)\s*+{_JOINT}")
_CONTENT = frozenset({"html", "body", "main", "article"})
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "summary", "dt"})
_INLINE = frozenset({"a", "abbr", "b", "em", "font", "i", "mark", "small", "span", "strong", "sub", "sup", "u"})
_BOLD = frozenset({"b", "strong", "u"})
_HEADING, _LEAD, _CALL = 120, 60, 40  # characters of a bold line that is a heading, of one that begins a paragraph, and of a link to act on
_LEADS = 3  # paragraphs below each other that begin in bold, each of a subject of its own
_LARGE = 5  # size of a font of a page's own heading
_BESIDE = 20  # empty elements beside an inline one that are passed over
_DEPTH = 256  # below which elements are text alone; browsers stop at 512
_ROWS, _COLUMNS, _CELL = 2_000, 40, 300  # of a table, and characters of a cell of one that holds data


def rewrite(tree: LexborHTMLParser, *, is_site: bool) -> None:
    """Remove elements that are not content, and rewrite tables, bold lines and prices."""
    _limit_depth(tree)
    for node in tree.css(_NEVER if is_site else f"{_NEVER}, {_HIDDEN}"):
        node.decompose()
    if is_site:
        _leave_out_chrome(tree)
    _unfold_tables(tree)
    _make_headings(tree)
    _part_prices(tree)


def _leave_out_chrome(tree: LexborHTMLParser) -> None:
    """Remove elements such as navigation and buttons. An element with most of the page's text, or with its main heading, is kept."""
    opened = {value.lstrip("#") for name in _OPENERS for node in tree.css(f"[{name}]") for value in (node.attributes[name] or "").split()}
    most = len(tree.body.text()) // 2 if tree.body else 0
    for node in tree.css(_CHROME):
        attributes = node.attributes
        is_panel = attributes.get("role") == "tabpanel" or attributes.get("id") in opened
        if is_panel and ("hidden" in attributes or "aria-hidden" in attributes):
            continue  # a tab or an answer that a click shows
        if node.tag not in _CONTENT and not node.css_first("main, article, h1") and len(node.text()) <= most:
            node.decompose()
    for node in tree.css(f"button, {_CALLS}"):
        is_in_heading = any(above.tag in _HEADINGS for above in islice(_beside(node, "parent"), 4))
        if not is_in_heading and (node.tag == "button" or len(one_line(node.text())) <= _CALL):
            node.decompose()


def _limit_depth(tree: LexborHTMLParser) -> None:
    """Replace elements that are nested too deeply by their text. Otherwise the time to read them grows with the square of the depth."""
    depths: dict[int, int] = {}
    deep = []
    for node in tree.css("*"):
        depth = depths[node.mem_id] = depths.get(node.parent.mem_id, 0) + 1 if node.parent is not None else 1
        if depth == _DEPTH:
            deep.append(node)
    for node in deep:
        text = node.text(separator=" ")
        for child in [*node.iter(include_text=True)]:
            child.decompose()
        node.insert_child(text)


def _beside(node: LexborNode, direction: str) -> Iterator[LexborNode]:
    """Yield the siblings before ("prev") or after ("next") a node, or the nodes above it ("parent")."""
    while (beside := getattr(node, direction)) is not None:
        yield beside
        node = beside


def _part_prices(tree: LexborHTMLParser) -> None:
    """Put a separator between adjacent inline elements. Thus "Soup" and "£4" do not become "Soup£4"."""
    prose: dict[int, bool] = {}  # parents, each of which is looked at once
    for node in tree.css("span, a, small, b, strong"):
        if not (text := one_line(node.text())):
            continue
        around = islice(_beside(node, "prev"), _BESIDE + 1)
        before = next((beside for beside in around if beside.tag not in _INLINE or beside.text().strip()), None)
        if before is None or before.tag not in {*_INLINE, "-text"}:
            continue
        words = before.text()
        ends_name = len(words.strip()) > 1 and words.strip()[-1] not in ":.…,("
        if ends_name and is_price(text) and _is_last(node) and not _is_prose(node.parent, prose):
            node.insert_before(f"{_JOINT}: ")
        elif before.tag in _INLINE and len(words) > 1 and len(text) > 1 and words[-1].isalnum() and text[0].isalnum():
            node.insert_before(" ")


def _is_prose(parent: LexborNode | None, known: dict[int, bool]) -> bool:
    if parent is not None and parent.mem_id not in known:
        known[parent.mem_id] = len(parent.text()) > _LEAD + _CALL
    return parent is not None and known[parent.mem_id]


def _is_last(node: LexborNode) -> bool:
    after = next((beside for beside in islice(_beside(node, "next"), _BESIDE + 1) if beside.text().strip()), None)
    return after is None or after.tag not in {*_INLINE, "-text"}


def _make_headings(tree: LexborHTMLParser) -> None:
    """Replace bold lines by headings, and add headings above paragraphs with bold beginnings. Many pages have no other headings."""
    # Of nested bold elements only the outermost one is used, since it contains the others.
    bold_nodes = [node for node in tree.css("b, strong, u, font[size]") if node.parent is None or node.parent.tag not in _BOLD]
    for node in bold_nodes:
        _make_heading(tree, node)
    leads: dict[int, list[tuple[LexborNode, str]]] = {}
    for paragraph in tree.css("p"):
        first = next((child for child in paragraph.iter(include_text=True) if child.tag != "-text" or child.text().strip()), None)
        if first is not None and first.tag in {"b", "strong"} and paragraph.parent is not None:
            text = one_line(first.text()).rstrip(" :.")
            if text and len(text) <= _LEAD and one_line(paragraph.text()).rstrip(" :.") != text:
                leads.setdefault(paragraph.parent.mem_id, []).append((paragraph, text))
    for group in leads.values():
        for paragraph, text in group if len(group) >= _LEADS else ():
            paragraph.insert_before(_element(tree, "h6", text))


def _make_heading(tree: LexborHTMLParser, bold: LexborNode) -> None:
    size = (bold.attributes.get("size") or "").lstrip("+")
    text, top = one_line(bold.text()), bold
    large = bold.tag == "font" and size.isdigit() and int(size) >= _LARGE
    if not text or len(text) > _HEADING or not (large or bold.tag != "font") or text[-1] in ".,;" or bold.parent is None:
        return
    while top.parent is not None and top.parent.tag in _INLINE and _is_alone(top):
        top = top.parent
    parent = top.parent
    if parent is None or parent.tag in {"li", "th", "dt", "dd", "caption", *_HEADINGS, *_INLINE} or not _is_line(top):
        return
    if parent.tag == "td" and one_line(parent.text()) == text:
        return  # the head of a column
    (parent if parent.tag == "p" else top).insert_before(_element(tree, "h2" if large else "h5", text))
    top.decompose()


def _is_alone(node: LexborNode) -> bool:
    """Return whether an element is alone in its parent, apart from a few blank nodes."""
    beside = [[*islice(_beside(node, direction), _BESIDE + 1)] for direction in ("prev", "next")]
    return all(len(nodes) <= _BESIDE and not any(other.text().strip() for other in nodes) for nodes in beside)


def _is_line(node: LexborNode) -> bool:
    for direction in ("prev", "next"):
        beside = next((other for other in _beside(node, direction) if other.tag != "-text" or other.text().strip()), None)
        if beside is not None and beside.tag in {*_INLINE, "-text", "img"}:
            return False
    return True


class _Cell(NamedTuple):
    """A cell of a table's grid. `owner` is the number of the HTML element that covers it. `shown` is true if the text is shown in it."""

    text: str
    heads: bool
    owner: int
    shown: bool
    below: bool = False  # whether the element began in a row above


def _unfold_tables(tree: LexborHTMLParser) -> None:
    """Give each row of a data table all of its cells. Rows of column heads are joined, and rows of a single cell become headings."""
    for table in tree.css("table"):
        grid = _grid(table) if len(table.css("table")) == 1 else []
        if not grid:
            continue
        pieces = LexborHTMLParser("")
        div = pieces.create_node("div")
        for title, rows in _parts(grid):
            if title:
                div.insert_child(_element(pieces, "h5", title))
            if rows:
                lines = [_element(pieces, "tr", *(_element(pieces, "td", cell) for cell in row)) for row in rows]
                div.insert_child(_element(pieces, "table", *lines))
        if caption := table.css_first("caption"):
            table.insert_before(caption)
        table.replace_with(div)


def _element(tree: LexborHTMLParser, tag: str, *children: LexborNode | str) -> LexborNode:
    node = tree.create_node(tag)
    for child in children:
        node.insert_child(child)
    return node


def _grid(table: LexborNode) -> list[list[_Cell]]:
    """Return the cells of a data table, row by row. Return an empty list for a table that only serves the page's layout."""
    grid: list[list[_Cell]] = []
    open_rows: dict[int, tuple[int, _Cell]] = {}  # column -> rows that its cell still spans
    owner = 0
    for row in table.css("tr")[: _ROWS + 1]:
        cells: list[_Cell] = []
        given = [child for child in row.iter() if child.tag in {"td", "th"}]
        in_head = row.parent is not None and row.parent.tag == "thead"
        while given or len(cells) in open_rows:
            if len(cells) in open_rows:
                left, cell = open_rows.pop(len(cells))
                if left > 1:
                    open_rows[len(cells)] = (left - 1, cell)
                cells.append(cell._replace(below=True))
                continue
            element = given.pop(0)
            text = one_line(element.text(separator=" "))
            bold = element.css_first("b, strong")
            heads = in_head or element.tag == "th" or (bold is not None and one_line(bold.text()) == text)
            across, down = (_span(element, name) for name in ("colspan", "rowspan"))
            # A row's name stands in its first column; what is said of several columns stands in the last of them.
            shown = 0 if not cells else across - 1
            for nth in range(across):
                cell = _Cell(text, heads, owner, nth == shown)
                if down > 1:
                    open_rows[len(cells)] = (down - 1, cell)
                cells.append(cell)
            owner += 1
            if len(text) > _CELL or len(cells) > _COLUMNS:
                return []
        grid.append(cells)
    width = max(map(len, grid), default=0)
    return grid if width > 1 and 1 < len(grid) <= _ROWS else []


def _span(cell: LexborNode, name: str) -> int:
    value = (cell.attributes.get(name) or "").strip()
    return min(int(value), _COLUMNS) if value.isascii() and value.isdigit() and int(value) else 1


def _parts(grid: Sequence[Sequence[_Cell]]) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the parts of a table, each as its title and rows. If the table has column heads, they are the first row."""
    width = max(map(len, grid))
    named_twice = any(row and row[0].below and not all(cell.heads for cell in row) for row in grid)
    title, heads, rows = "", list[str](), list[list[str]]()
    for row in grid:
        filled = [cell for cell in row if cell.text]
        if not filled:
            continue
        owners = len({cell.owner for cell in row})
        is_title = owners == 1 and not row[0].below
        spans = owners < len(row) and not any(is_price(cell.text) for cell in filled)
        is_heads = not is_title and (all(cell.heads for cell in filled) or (spans and not rows and len(filled) > 1))
        if rows and (is_title or is_heads):
            yield title, _finished(heads, rows, named_twice=named_twice)
            title, rows, heads = "", [], [] if is_heads else heads
        if is_title:
            title = filled[0].text
        elif is_heads:
            below = [*(cell.text for cell in row), *[""] * (width - len(row))]
            heads = [head if upper in head else f"{upper} {head}".strip() for upper, head in zip(heads or below, below, strict=True)]
        else:
            rows.append([*(cell.text if cell.shown else "" for cell in row), *[""] * (width - len(row))])
    yield title, _finished(heads, rows, named_twice=named_twice) if rows else []


def _finished(heads: list[str], rows: list[list[str]], *, named_twice: bool) -> list[list[str]]:
    """Join column heads and rows into one list. A column of row numbers is removed, and two names of a row become one cell."""
    all_rows = [list(heads), *rows] if heads else rows
    if len(rows[0]) > 2 and all(row[0] == str(nth) for nth, row in enumerate(rows, start=1)):
        all_rows = [row[1:] for row in all_rows]
    elif named_twice and len(rows[0]) > 2:
        all_rows = [[", ".join(filter(None, dict.fromkeys(row[:2]))), *row[2:]] for row in all_rows]
    if heads and not all_rows[0][0]:
        all_rows[0][0] = "–"
    return all_rows
