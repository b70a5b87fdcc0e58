"""Parser of the configuration file: YAML becomes scalars, maps and lists, each with its line and column.

It reads YAML's events, not its values, since YAML 1.1 reads 9:30 as 570 and `no` as False. So every scalar remains the text that was
written, until it is converted to the type that its setting declares. Anchors, aliases and tags have no use in this file and are refused,
which excludes merge bombs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from chatsvc.local_user import open_own

if TYPE_CHECKING:
    from yaml import MarkedYAMLError


MAX_BYTES = 1 << 20
MAX_DEPTH = 20
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
# What YAML calls printable, turned round; the parser would refuse these too, but not tell the line.
_LINES = {ord(character): None for character in "\t\n\r"}
_UNPRINTABLE = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufeff\uff00-\ufffd\U00010000-\U0010ffff]"


class Scalar(NamedTuple):
    """A text as written in the file. `plain` is true if it has no quotes. `null` is true if it is also empty, `~` or `null`."""

    line: int
    column: int
    text: str = ""
    plain: bool = True
    null: bool = False


class Map(NamedTuple):
    """A map of the file: its keys and values in their order. The same key may occur twice."""

    line: int
    column: int
    items: list[tuple[Scalar, Node]]


class List(NamedTuple):
    """A list of the file: its values in their order."""

    line: int
    column: int
    items: list[Node]


Node = Scalar | Map | List
NOTHING = Scalar(0, 0, null=True)


def read_text(path: Path) -> str:
    """Return the file's text. Raises ConfigError."""
    file = str(path)
    try:
        with os.fdopen(open_own(path), "rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as fault:
        raise ConfigError([ConfigFault(file, 0, 0, f"cannot be read: {why(fault)}")]) from None
    if len(raw) > MAX_BYTES:
        raise ConfigError([ConfigFault(file, 0, 0, "is larger than 1 MiB: not a configuration")])
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        before = raw[: fault.start].decode("utf-8-sig", "replace")
        raise ConfigError([ConfigFault(file, *_position(before), "not UTF-8: save the file with this encoding")]) from None
    # The pattern takes as long to compile as the rest of a small file to read, and hardly any file needs it.
    if not text.translate(_LINES).isprintable() and (odd := re.search(_UNPRINTABLE, text)):
        position = _position(text[: odd.start()])
        raise ConfigError([ConfigFault(file, *position, f"the character U+{ord(odd.group()):04X} has no place in a configuration")])
    return text


def why(fault: OSError) -> str:
    """Return the reason of an operating system error without the path. The path may be a secret, written in the wrong setting."""
    return (fault.strerror or type(fault).__name__).lower()


def _position(before: str) -> tuple[int, int]:
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def parse(text: str, file: str) -> Node:
    """Parse the only document in `text`. Return NOTHING if it is empty. Raises ConfigError for a text that is not plain YAML."""
    import yaml

    events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    root: Node | None = None
    try:
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    raise _refused(event, file, "a second document begins here: expected one")
                root = _node(yaml, events, next(events), file)
    except yaml.MarkedYAMLError as fault:
        raise ConfigError([_syntax_fault(fault, text, file)]) from None
    except yaml.YAMLError:
        raise ConfigError([ConfigFault(file, 0, 0, "is not valid YAML")]) from None
    return NOTHING if root is None or (isinstance(root, Scalar) and root.null) else root


def _refused(event: Any, file: str, message: str) -> ConfigError:
    return ConfigError([ConfigFault(file, event.start_mark.line + 1, event.start_mark.column + 1, message)])


def _node(yaml: Any, events: Iterator[Any], event: Any, file: str, depth: int = 0) -> Node:
    for is_refused, message in (
        (depth > MAX_DEPTH, "nested too deeply for a configuration"),
        (isinstance(event, yaml.AliasEvent), "aliases (*name) are not taken here: write the value out"),
        (event.anchor is not None, "anchors (&name) are not taken here: write the value where it is needed"),
        (getattr(event, "tag", None) is not None, "tags (!name) are not taken here"),
    ):
        if is_refused:
            raise _refused(event, file, message)
    line, column = event.start_mark.line + 1, event.start_mark.column + 1
    if isinstance(event, yaml.ScalarEvent):
        plain = not event.style  # None or "", the C parser's way
        return Scalar(line, column, event.value, plain, plain and event.value in _NULL)
    if isinstance(event, yaml.SequenceStartEvent):
        items: list[Node] = []
        while not isinstance(item := next(events), yaml.SequenceEndEvent):
            items.append(_node(yaml, events, item, file, depth + 1))
        return List(line, column, items)
    pairs: list[tuple[Scalar, Node]] = []
    while not isinstance(item := next(events), yaml.MappingEndEvent):
        key, value = _node(yaml, events, item, file, depth + 1), _node(yaml, events, next(events), file, depth + 1)
        if not isinstance(key, Scalar):
            raise _refused(item, file, "expected the name of a setting")
        if isinstance(value, Scalar) and value.plain and not value.text:
            value = Scalar(key.line, key.column, null=True)  # of an absent value parsers have no common idea where it is
        pairs.append((key, value))
    return Map(line, column, pairs)


def _syntax_fault(fault: MarkedYAMLError, text: str, file: str) -> ConfigFault:
    message = f"not valid YAML: {fault.problem or 'cannot be understood'}"
    mark = fault.problem_mark or fault.context_mark
    if mark is None:
        return ConfigFault(file, 0, 0, message)
    begun = fault.context_mark
    if begun is not None and begun.line != mark.line and fault.context:
        message += f" ({fault.context}, begun at {begun.line + 1}:{begun.column + 1})"
    lines = text.split("\n")
    if mark.line < len(lines) and lines[mark.line][mark.column : mark.column + 1] == "\t":
        message += " (a tab: indent with spaces)"
    return ConfigFault(file, mark.line + 1, mark.column + 1, message)


class ConfigFault(NamedTuple):
    """One fault; lines and columns count from 1, and 0 stands for the whole file."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{where}: {self.message}"


class ConfigError(Exception):
    """Raised for an invalid configuration; its text has a line for each fault."""

    def __init__(self, faults: Iterable[ConfigFault]) -> None:
        self.faults = tuple(sorted(set(faults)))
        super().__init__("\n".join(map(str, self.faults)))
