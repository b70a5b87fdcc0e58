"""Markdown as terminal text: headings and code are set apart, paragraphs wrapped, tables become lists."""

import re
import textwrap
from collections.abc import Iterator

import click

_LINK = re.compile(r"\[([^\[\]]+)\]\((?:(\w++)\.md)?[^()]*\)")
_BOLD = re.compile(r"\*\*([^*]+)\*\*")
_CODE = re.compile(r"`([^`]+)`")
_ITEM = re.compile(r"- |[0-9]{1,9}\. ")
_CELLS = re.compile(r"(?<!\\)\|")
_START = re.compile(r"#{1,6} |```|\||- |[0-9]{1,9}\. |$")


def formatted(markdown: str, width: int) -> Iterator[str]:
    """Yield the lines to show on a terminal of `width` columns."""
    lines = markdown.splitlines()
    at = 0
    while at < len(lines):
        begin, line = at, lines[at]
        at += 1
        if line.startswith("```"):
            at = lines.index("```", at) + 1
            yield from (f"    {code}".rstrip() for code in lines[begin + 1 : at - 1])
        elif line.startswith("#"):
            yield click.style(line.lstrip("# "), bold=True, underline=line.startswith("# "))
        elif line.startswith("|"):
            while at < len(lines) and lines[at].startswith("|"):
                at += 1
            yield from _table([_cells(row) for row in lines[begin:at]], width)
        else:
            while line and at < len(lines) and not _START.match(lines[at]):
                at += 1
            yield from _paragraph(" ".join(part.strip() for part in lines[begin:at]), width)


def _plain(text: str) -> str:
    """Replace links: those to other topics by the command that shows them."""
    return _LINK.sub(lambda found: f"{found[1]} (chatsvc help {found[2]})" if found[2] else found[1], text)


def _cells(row: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in _CELLS.split(row.strip("|"))]


def _paragraph(text: str, width: int) -> Iterator[str]:
    """Wrap a paragraph, then style it: escape codes take no space on the screen."""
    mark = _ITEM.match(text)
    lines = textwrap.wrap(_plain(text), width, subsequent_indent="  " if mark else "", break_long_words=False, break_on_hyphens=False)
    yield from _styled("\n".join(lines)).split("\n")


def _styled(text: str) -> str:
    text = _CODE.sub(lambda found: click.style(found[1], fg="cyan"), text)
    return _BOLD.sub(lambda found: click.style(found[1], bold=True), text)


def _table(rows: list[list[str]], width: int) -> Iterator[str]:
    """A row's first cell is a line of its own. The others follow below it, with their column's heading."""
    heading, _, *body = rows
    for row in body:
        yield "  " + click.style(_plain(row[0]).replace("`", ""), bold=True)
        for name, cell in zip(heading[1:], row[1:], strict=True):
            if cell:
                text = f"{name}: {cell}" if len(heading) > 2 and name else cell
                lines = textwrap.wrap(
                    _plain(text), width, initial_indent="    ", subsequent_indent="      ", break_long_words=False, break_on_hyphens=False
                )
                yield from _styled("\n".join(lines)).split("\n")
