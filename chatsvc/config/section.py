"""Reader of one map of settings, and of secrets. It records every fault with its place and continues with the default."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from chatsvc.config import values
from chatsvc.config.document import NOTHING, ConfigFault, List, Map, Node, Scalar, why
from chatsvc.domain.errors import CommandError
from chatsvc.local_user import open_own

T = TypeVar("T")
_VARIABLE = re.compile(r"(\$)?\$\{([^{}]*)\}?")
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_MAX_SECRET = 1 << 16  # bytes
_SHOWABLE = re.compile(r"[A-Za-z_-]{1,40}")  # a mistyped key has no digits, an API key in the wrong place has


class Unset(Exception):
    """Raised for a value with ${NAME} if this environment variable is not set or is empty."""


class Source(NamedTuple):
    """The file that settings come from, and the faults found in it so far."""

    file: str
    folder: Path
    environ: Mapping[str, str]
    faults: list[ConfigFault]

    def refuse(self, node: Node, path: str, message: str) -> None:
        """Record a fault at the line and column of `node`. `path` is the path of the setting."""
        self.faults.append(ConfigFault(self.file, node.line, node.column, f"{path}: {message}" if path else message))

    def expand(self, text: str) -> tuple[str, list[str]]:
        """Replace each ${NAME} in `text` by the environment variable. Return the new text and the names. $${ becomes ${."""
        names: list[str] = []

        def value(match: re.Match[str]) -> str:
            if match[1]:
                return match[0][1:]
            if not match[0].endswith("}") or not _VARIABLE_NAME.fullmatch(match[2]):
                raise ValueError("expected the name of an environment variable in ${NAME} (where ${ is meant as such: $${)")
            if not (content := self.environ.get(match[2])):
                raise Unset(f"the environment variable {match[2]} is not set")
            names.append(match[2])
            return content

        return _VARIABLE.sub(value, text), names


class Section:
    """A map of settings. `known` are the allowed keys. If `known` is empty, the file may choose the keys."""

    def __init__(self, source: Source, node: Node, path: str, *known: str) -> None:
        self.source, self.node, self.path = source, node, path
        self.keys: dict[str, Scalar] = {}
        self.nodes: dict[str, Node] = {}
        if not isinstance(node, Map):
            if not (isinstance(node, Scalar) and node.null):
                source.refuse(node, path, f"expected settings ({', '.join(known)})" if known else "expected names, each with its settings")
            return
        for key, value in node.items:
            if known and key.text not in known:
                source.refuse(key, path, _unknown(key.text, known))
            elif first := self.keys.get(key.text):
                source.refuse(key, self._path(key.text), f"given twice, first at {first.line}:{first.column}")
            else:
                self.keys[key.text], self.nodes[key.text] = key, value

    def _path(self, key: str) -> str:
        shown = key if _NAME.fullmatch(key) else "?"
        return f"{self.path}.{shown}" if self.path else shown

    def gives(self, key: str) -> bool:
        return not (isinstance(node := self.nodes.get(key, NOTHING), Scalar) and node.null)

    def writes_out(self, key: str) -> bool:
        """Return whether the file itself contains the value of `key`, without an environment variable."""
        node = self.nodes.get(key)
        return isinstance(node, Scalar) and not node.null and bool(node.text) and not _VARIABLE.search(node.text)

    def refuse(self, message: str, key: str | None = None) -> None:
        """Record a fault at `key`, or at the section as a whole if `key` is None."""
        self.source.refuse(self.keys[key] if key else self.node, self._path(key) if key else self.path, message)

    def need(self, key: str, others: Sequence[str], message: str) -> None:
        """Record a fault at `key` if it is given, and none of the keys `others` is given."""
        if self.gives(key) and not any(map(self.gives, others)):
            self.refuse(message, key)

    def section(self, key: str, *known: str) -> Section:
        """Return the map under `key`, or an empty one if it is missing."""
        return Section(self.source, self.nodes.get(key, NOTHING), self._path(key), *known)

    def sections(self, key: str, name: Callable[[str], str], *known: str) -> Iterator[tuple[str, Section]]:
        """Yield each name and its map under `key`, where at least one is required. `name` checks a name."""
        table = self.section(key)
        if isinstance(table.node, Map) and not table.node.items:
            self.refuse("expected at least one", key)
        for given, value in table.nodes.items():
            try:
                path = table._path(name(given))  # noqa: SLF001  # of the same class
            except ValueError as fault:
                self.source.refuse(table.keys[given], table.path, str(fault))
                continue
            if isinstance(value, Map):
                section = Section(self.source, value, path, *known)
                section.node = table.keys[given]
                yield given, section
            else:
                self.source.refuse(value, path, f"expected settings ({', '.join(known)})")

    def text(self, key: str, read: Callable[[str], T], default: T, *, quotes: bool = True) -> T:
        """Read a setting, with or without quotes in the file. It may be null if the default is None."""
        if key not in self.nodes or (default is None and not self.gives(key)):
            return default
        value = self._read(self._path(key), self.nodes[key], read, quotes=quotes)
        return default if value is None else value

    def plain(self, key: str, read: Callable[[str], T], default: T) -> T:
        """Read a number, true or false. Refuse a value in quotes, unless it is an environment variable such as "${NAME}"."""
        return self.text(key, read, default, quotes=False)

    def texts(self, key: str, read: Callable[[str], T], default: tuple[T, ...] = ()) -> tuple[T, ...]:
        """Read a list of texts, which may be null."""
        node = self.nodes[key] if self.gives(key) else List(0, 0, [])
        if not isinstance(node, List):
            self.source.refuse(node, self._path(key), "expected a list, such as [] or [10.0.0.0/8]")
            return default
        items = [self._read(f"{self._path(key)}[{index}]", item, read) for index, item in enumerate(node.items)]
        return tuple(item for item in items if item is not None)

    def file(self, key: str, read: Callable[[str], str] = values.path, default: str | None = None) -> Path | None:
        """Read a path, which may be relative to the file's folder. It may be null if the default is None."""
        path = self.text(key, read, default)
        return None if path is None else self.source.folder / path

    def secret(self, key: str, read: Callable[[str], str], default: str | None = None) -> values.Secret | None:
        """Return the secret under `key`, or the one in the file that `key`_file names.

        Return None if there is no secret, or if its environment variable is not set.
        """
        key_file = f"{key}_file"
        if not self.gives(key_file):
            node = self.nodes.get(key) or Scalar(self.node.line, self.node.column, default or "")
            text = self._read(self._path(key), node, read, may_be_unset=True)
            return values.Secret(text) if text else None
        if self.gives(key):
            self.refuse(f"expected either {key} or {key_file}, not both", key_file)
        path = self.file(key_file)
        if path is None:
            return None
        try:
            with os.fdopen(open_own(path), "rb") as stream:
                # A character that is not ASCII is replaced by one that every reader of secrets refuses.
                return values.Secret(read(stream.read(_MAX_SECRET).decode("ascii", "replace").strip()))
        except OSError as fault:
            self.refuse(f"the file cannot be read: {why(fault)}", key_file)
        except CommandError as fault:
            self.refuse(str(fault), key_file)
        except ValueError as fault:
            self.refuse(f"in the file: {fault}", key_file)
        return None

    def _read(self, path: str, node: Node, read: Callable[[str], T], *, quotes: bool = True, may_be_unset: bool = False) -> T | None:
        """Return the value of a node, or None after a fault. With `may_be_unset`, null, "" and an unset variable are no faults."""
        names: list[str] = []
        try:
            if not isinstance(node, Scalar) or (node.null and not may_be_unset):
                raise ValueError(_expectation(read))
            text, names = self.source.expand(node.text)
            if may_be_unset and (node.null or not text):
                return None
            if not (quotes or node.plain or names):
                raise ValueError(f"{_expectation(read)}, without quotes")
            return read(text)
        except Unset as fault:
            if not may_be_unset:
                self.source.refuse(node, path, str(fault))
        except ValueError as fault:
            origin = f" (it comes from the environment: {', '.join(names)})" if names else ""
            self.source.refuse(node, path, f"{fault}{origin}")
        return None


def _expectation(read: Callable[[str], object]) -> str:
    """Return the message that the reader `read` raises for an invalid text."""
    try:
        read("")
    except ValueError as fault:
        return str(fault)
    raise AssertionError("every reader of values refuses an empty text")


def _unknown(key: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    if key == "<<":
        return "merge keys (<<) are not taken here"
    shown = f"unknown setting {key}" if _SHOWABLE.fullmatch(key) else "unknown setting"
    near = get_close_matches(key.lower().replace("-", "_"), known, n=1)
    return f"{shown}: did you mean {near[0]}?" if near else f"{shown}: expected {', '.join(known)}"


def keys_of(kind: Any) -> list[str]:
    """Return the keys of the settings that a dataclass declares."""
    declared = [(field.metadata["key"] or field.name, field.metadata["how"]) for field in fields(kind) if field.metadata]
    return [key for name, how in declared for key in ((name, f"{name}_file") if how is Section.secret else (name,))]


def settings(kind: type[T], section: Section, **given: Any) -> T:
    """Read the settings that the dataclass `kind` declares. Return its instance with these settings and the fields `given`."""
    arguments = dict(given)
    for declared in fields(kind):  # type: ignore[arg-type]  # a dataclass
        if about := declared.metadata:
            default = about["otherwise"] or declared.default
            arguments[declared.name] = about["how"](section, about["key"] or declared.name, about["read"], default)
    return kind(**arguments)
