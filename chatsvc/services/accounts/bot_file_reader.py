"""Reader of a bot's file, or of plain values of the same form. It checks all parts and collects all faults.

bot_files.py applies the result.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from chatsvc.config.document import NOTHING, ConfigError, List, Map, Node, Scalar, parse
from chatsvc.domain import profiles
from chatsvc.domain.bot_tests import DECISIONS, EXPECTATIONS, MOST_TESTS, BotTest
from chatsvc.domain.captures import REQUEST_TYPES
from chatsvc.domain.profiles import ClosedDays, Form, FormField
from chatsvc.domain.refusals import Refused
from chatsvc.language import catalogue
from chatsvc.services.accounts import bots

MAX_CHARACTERS = 200_000
MAX_FAULTS = 200  # a file that is no bot's file at all is not judged line by line
SETTINGS = (
    *("name", "model", "description", "instructions", "timezone", "country", "language", "opening_hours", "greeting", "fallback"),
    *("phone", "email", "address"),
)
NUMBERS = ("hand_off_wait", "hand_off_return", "appointment_minutes", "appointments_at_once")
_SWITCHES = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
_MOST_FIELDS, _MOST_CLOSED, _LONGEST_TEXT = 12, 200, 1_000
_LONGEST_SUGGESTION = 80
_LONGEST_NOTE = 80  # of closed days
Reader = Callable[[Node], object]
_BRACES = re.compile(r"\{(\w*)\}")


class BotFileFault(NamedTuple):
    """A fault in a bot's file. Line and column count from 1; both are 0 if the fault is about the whole file."""

    line: int
    column: int
    code: str
    facts: Mapping[str, Any]


def values_of(value: object) -> tuple[Node, dict[int, str]]:
    """Return plain values as a document for `read`, and the path of each of its lines, such as `forms.quote.fields.0.name`."""
    paths: dict[int, str] = {}

    def node(value: object, path: str) -> Node:
        line = len(paths) + 1
        paths[line] = path
        if isinstance(value, Mapping):
            items = [
                (Scalar(line, 1, str(key), plain=False), node(item, f"{path}.{key}" if path else str(key))) for key, item in value.items()
            ]
            return Map(line, 1, items)
        if isinstance(value, (list, tuple)):
            return List(line, 1, [node(item, f"{path}.{index}") for index, item in enumerate(value)])
        if value is None or isinstance(value, bool):
            return Scalar(line, 1, "" if value is None else str(value).lower(), null=value is None)
        return Scalar(line, 1, str(value), plain=False)

    return node(value, ""), paths


class BotFileReader:
    """Reader of one bot's file, which collects the file's faults.

    `tiers` are the allowed values of the setting `model`, or None if they are not known. `knowledge` are the patterns of knowledge files in
    the bot's file, or None if it has no patterns. `bot sync` reads these knowledge files, `bot apply` ignores them.
    """

    def __init__(self, tiers: Collection[str] | None) -> None:
        self.faults: list[BotFileFault] = []
        self.knowledge: list[Scalar] | None = None
        self._tiers = tiers

    def in_order(self) -> list[BotFileFault]:
        return sorted({fault[:3]: fault for fault in self.faults}.values(), key=lambda fault: fault[:3])[:MAX_FAULTS]

    def read_text(self, text: str) -> dict[str, Any]:
        """Read a file, and return its parts by name: columns of a bot, and fields of its profile. Faults are added to `faults`."""
        if len(text) > MAX_CHARACTERS:
            self.faults.append(BotFileFault(0, 0, "file_too_long", {"most": MAX_CHARACTERS}))
            return {}
        try:
            node = parse(text, "")
        except ConfigError as error:
            self.faults += [BotFileFault(fault.line, fault.column, "no_yaml", {"fault": fault.message}) for fault in error.faults]
            node = NOTHING
        return self.read(node)

    def read(self, node: Node) -> dict[str, Any]:
        readers: dict[str, Reader] = {
            **{name: partial(self._setting, name) for name in SETTINGS},
            "closed": self._closed,
            "form_of_address": partial(self._among, known=profiles.FORMS_OF_ADDRESS),
            "texts": self._texts,
            "forms": self._forms,
            "suggestions": self._suggestions,
            "tests": lambda node: tuple(dict.fromkeys(map(self._test, self._list(node, MOST_TESTS, "too_many_tests")))),
            "ask_back": self._switch,
            "hand_off": self._switch,
            **{name: partial(self._number, name) for name in NUMBERS},
            "knowledge": self._patterns,
        }
        parts = self._parts(node, "a bot's file", readers)
        self.knowledge = parts.pop("knowledge", None)
        return parts

    def _parts(self, node: Node, whole: str, readers: Mapping[str, Reader], known: Sequence[str] = ()) -> dict[str, Any]:
        """Read each part of a mapping with the reader for its name. Refuse parts without a reader."""
        parts: dict[str, Any] = {}
        for key, value in self._items(node):
            if key.text in readers:
                parts[key.text] = readers[key.text](value)
            else:
                self._refuse(key, "part_unknown", part=key.text, whole=whole, known=[*(known or readers)])
        return parts

    def _refuse(self, node: Node, code: str, **facts: object) -> None:
        self.faults.append(BotFileFault(node.line, node.column, code, facts))

    def _children(self, node: Node, kind: type[Map | List], code: str) -> list[Any]:
        """Return the items of a map or list, or an empty list for a missing value. Any other value adds a fault with `code`."""
        if isinstance(node, kind):
            return node.items
        if not (isinstance(node, Scalar) and node.null):
            self._refuse(node, code)
        return []

    def _items(self, node: Node) -> list[tuple[Scalar, Node]]:
        items, seen = self._children(node, Map, "no_names"), set[str]()
        for key, _ in items:
            if key.text in seen:
                self._refuse(key, "twice", part=key.text)
            seen.add(key.text)
        return items

    def _list(self, node: Node, most: int | None = None, code: str = "") -> list[Node]:
        """Return at most `most` items of a list. A longer list adds a fault with `code`."""
        items = self._children(node, List, "no_list")
        if most is not None and len(items) > most:
            self._refuse(node, code, most=most)
        return items[:most]

    def _text(self, node: Node) -> str:
        if not isinstance(node, Scalar):
            self._refuse(node, "no_text")
            return ""
        if len(node.text) > _LONGEST_TEXT or "\0" in node.text:
            self._refuse(node, "text_too_long", most=_LONGEST_TEXT)
        return "" if node.null else node.text

    def _among(self, node: Node, known: Iterable[str]) -> str:
        text, choices = self._text(node), tuple(known)
        if text not in choices:
            self._refuse(node, "none_of", value=text, known=list(choices))
        return text

    def _setting(self, name: str, node: Node) -> object:
        if not isinstance(node, Scalar):
            self._refuse(node, "no_text")
            return None
        return self._checked(name, node, "" if node.null else node.text)

    def _checked(self, name: str, node: Node, value: object) -> object:
        try:
            return bots.checked(self._tiers, {name: value})[name]
        except Refused as fault:
            self._refuse(node, "setting_invalid", setting=name, refusal=fault.code, facts=fault.facts)
            return None

    def _number(self, name: str, node: Node) -> int:
        text = self._text(node)
        number = int(text[:9]) if text.isascii() and text.isdecimal() else 0
        self._checked(name, node, number)
        return number

    def _switch(self, node: Node) -> bool:
        text = self._text(node).lower()
        if text not in _SWITCHES:
            self._refuse(node, "no_switch")
        return _SWITCHES.get(text, True)

    def _check_line(self, node: Node, text: str, most: int) -> None:
        if len(text) > most:
            self._refuse(node, "text_too_long", most=most)
        elif not text.isprintable():
            self._refuse(node, "unprintable")

    def _closed(self, node: Node) -> tuple[ClosedDays, ...]:
        closed = set()
        for item in self._list(node, _MOST_CLOSED, "too_many_days"):
            try:
                days = profiles.days(self._text(item))
            except ValueError:
                self._refuse(item, "no_day")
                continue
            closed.add(days)
            self._check_line(item, days.note, _LONGEST_NOTE)
        return tuple(sorted(closed))

    def _suggestions(self, node: Node) -> tuple[str, ...]:
        suggestions = []
        for item in self._list(node, profiles.MOST_SUGGESTIONS, "too_many_suggestions"):
            suggestions.append(" ".join(self._text(item).split()))
            self._check_line(item, suggestions[-1], _LONGEST_SUGGESTION)
        return tuple(dict.fromkeys(filter(None, suggestions)))

    def _patterns(self, node: Node) -> list[Scalar]:
        items = self._list(node)
        for item in items:
            if not self._text(item):
                self._refuse(item, "no_text")
        return [item for item in items if isinstance(item, Scalar)]

    def _test(self, node: Node) -> BotTest:
        readers: dict[str, Reader] = {
            **dict.fromkeys(BotTest._fields, lambda node: " ".join(self._text(node).split())),
            **dict.fromkeys(("contains", "lacks"), self._expected_texts),
            "decision": partial(self._among, known=DECISIONS),
            "language": partial(self._setting, "language"),
        }
        given = {name: value for name, value in self._parts(node, "a test", readers).items() if value}
        if "ask" not in given:
            self._refuse(node, "test_without_question")
        if given.keys().isdisjoint(EXPECTATIONS):
            self._refuse(node, "test_without_expectation")
        return BotTest(**{"ask": "", **given})

    def _expected_texts(self, node: Node) -> tuple[str, ...]:
        texts = []
        for item in node.items if isinstance(node, List) else [node]:
            texts.append(self._text(item).strip())
            if not texts[-1]:
                self._refuse(item, "no_text")
        return tuple(texts)

    def _texts(self, node: Node) -> dict[str, dict[str, str]]:
        texts: dict[str, dict[str, str]] = {}
        for key, value in self._items(node):
            if (known := catalogue.placeholders(key.text)) is None:
                self._refuse(key, "sentence_unknown", name=key.text)
            else:
                texts[key.text] = self._sentences(value, known)
        return texts

    def _sentences(self, node: Node, known: frozenset[str] | None = None) -> dict[str, str]:
        sentences: dict[str, str] = {}
        for key, value in self._items(node):
            if self._among(key, profiles.LANGUAGES) not in profiles.LANGUAGES:
                continue
            text = self._text(value)
            if known is not None and (set(_BRACES.findall(text)) - known or re.search(r"[{}]", _BRACES.sub("", text))):
                self._refuse(value, "placeholders", known=[f"{{{name}}}" for name in sorted(known)] or "none")
            sentences[key.text] = text
        return sentences

    def _forms(self, node: Node) -> dict[str, Form]:
        forms: dict[str, Form] = {}
        for key, value in self._items(node):
            if self._among(key, REQUEST_TYPES) not in REQUEST_TYPES:
                continue
            readers: dict[str, Reader] = {"fields": self._fields}
            if key.text == "appointment":
                readers["is"] = partial(self._among, known=profiles.APPOINTMENTS)
            parts = self._parts(value, "a form", readers, ["fields", "is (appointment)"])
            forms[key.text] = Form(parts.get("is", "time"), parts.get("fields", ()))
        return forms

    def _fields(self, node: Node) -> tuple[FormField, ...]:
        fields = [self._field(item) for item in self._list(node, _MOST_FIELDS, "too_many_fields")]
        if len({field.name for field in fields}) < len(fields):
            self._refuse(node, "fields_same_name")
        return tuple(fields)

    def _field(self, node: Node) -> FormField:
        readers: dict[str, Reader] = {
            "name": lambda node: self._text(node).strip(),
            "kind": partial(self._among, known=profiles.KINDS),
            "ask": self._sentences,
            "choices": lambda node: tuple(map(self._text, self._list(node))),
            "required": self._switch,
        }
        field = FormField(**{"name": "", **self._parts(node, "a field", readers)})
        if not field.name:
            self._refuse(node, "field_without_name")
        if (field.kind == "choice") != bool(field.choices):
            self._refuse(node, "choices")
        return field
