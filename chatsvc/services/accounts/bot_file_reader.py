"""Reader of a bot's file, or of plain values like one. Checks all its parts and collects all faults; bot_files.py applies the result."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from chatsvc.config.document import ConfigError, List, Map, Node, Scalar, parse
from chatsvc.domain import profiles
from chatsvc.domain.bot_tests import DECISIONS, EXPECTATIONS, MOST_TESTS, BotTest
from chatsvc.domain.captures import REQUEST_TYPES
from chatsvc.domain.profiles import ClosedDays, Form, FormField, Profile
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
_OF_THE_BOT = frozenset({"ask_back", "hand_off", *NUMBERS})
_SWITCHES = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
_MOST_FIELDS, _MOST_CLOSED, _LONGEST_TEXT = 12, 200, 1_000
_LONGEST_SUGGESTION = 80
_LONGEST_NOTE = 80  # of closed days
_FIELD_KEYS = ("name", "kind", "ask", "choices", "required")
_BRACES = re.compile(r"\{(\w*)\}")


class BotFileFault(NamedTuple):
    """Fault of a bot's file, worded in `domain.profiles`. Line and column count from 1, 0 is the whole file."""

    line: int
    column: int
    code: str
    facts: Mapping[str, Any]


def values_of(value: object) -> tuple[Node, dict[int, str]]:
    """Make the document of plain values. Returns it with the path of each line, such as `forms.quote.fields.0.name`."""
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
            return Scalar(line, 1, "" if value is None else str(value).lower())
        return Scalar(line, 1, str(value), plain=False)

    return node(value, ""), paths


class BotFileReader:
    """Reader of one file; collects its faults.

    `tiers` are the names that `model` may have, None if they are not known. `knowledge` are the patterns of knowledge files that the file
    names, with their places; None where it names none. `bot sync` reads them, `bot apply` leaves them.
    """

    def __init__(self, tiers: Collection[str] | None) -> None:
        self.faults: list[BotFileFault] = []
        self.knowledge: list[Scalar] | None = None
        self._tiers = tiers

    def in_order(self) -> list[BotFileFault]:
        return sorted({fault[:3]: fault for fault in self.faults}.values(), key=lambda fault: fault[:3])[:MAX_FAULTS]

    def read_text(self, text: str, profile: Profile) -> dict[str, object]:
        if len(text) > MAX_CHARACTERS:
            self.faults.append(BotFileFault(0, 0, "file_too_long", {"most": MAX_CHARACTERS}))
            return {}
        try:
            node = parse(text, "")
        except ConfigError as error:
            self.faults += [BotFileFault(fault.line, fault.column, "no_yaml", {"fault": fault.message}) for fault in error.faults]
            node = None
        return self.read(node, profile)

    def read(self, node: Node | None, profile: Profile) -> dict[str, object]:
        readers: dict[str, Callable[[Node], object]] = {
            "closed": self._closed,
            "form_of_address": partial(self._among, known=profiles.FORMS_OF_ADDRESS),
            "texts": self._texts,
            "forms": self._forms,
            "suggestions": self._suggestions,
            "tests": self._tests,
            "ask_back": self._switch,
            "hand_off": self._switch,
            **{name: partial(self._number, name) for name in NUMBERS},
        }
        changes: dict[str, object] = {}
        owned: dict[str, object] = {}
        for key, value in self._items(node) if node is not None else ():
            name = key.text
            if name in SETTINGS:
                changes.update(self._setting(value, name))
            elif name in _OF_THE_BOT:
                changes[name] = readers[name](value)
            elif name == "knowledge":
                self.knowledge = self._patterns(value)
            elif name in readers:
                owned[name] = readers[name](value)
            else:
                self._refuse(key, "part_unknown", part=name, whole="a bot's file", known=[*SETTINGS, *readers, "knowledge"])
        if owned and not self.faults:
            changes["profile"] = profile._replace(**owned).dump()  # type: ignore[arg-type]  # each was read by its name
        return changes

    def _refuse(self, node: Node, code: str, **facts: object) -> None:
        self.faults.append(BotFileFault(node.line, node.column, code, facts))

    def _items(self, node: Node) -> list[tuple[Scalar, Node]]:
        if isinstance(node, Map):
            seen: set[str] = set()
            for key, _ in node.items:
                if key.text in seen:
                    self._refuse(key, "twice", part=key.text)
                seen.add(key.text)
            return node.items
        if not (isinstance(node, Scalar) and node.null):
            self._refuse(node, "no_names")
        return []

    def _list(self, node: Node) -> list[Node]:
        if isinstance(node, List):
            return node.items
        if not (isinstance(node, Scalar) and node.null):
            self._refuse(node, "no_list")
        return []

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

    def _setting(self, node: Node, name: str) -> dict[str, object]:
        if not isinstance(node, Scalar):
            self._refuse(node, "no_text")
            return {}
        return self._checked(node, name, "" if node.null else node.text)

    def _checked(self, node: Node, name: str, value: object) -> dict[str, object]:
        try:
            return bots.checked(self._tiers, {name: value})
        except Refused as fault:
            self._refuse(node, "setting_invalid", setting=name, refusal=fault.code, facts=fault.facts)
            return {}

    def _number(self, name: str, node: Node) -> int:
        text = self._text(node)
        number = int(text[:9]) if text.isascii() and text.isdecimal() else 0
        self._checked(node, name, number)
        return number

    def _switch(self, node: Node) -> bool:
        text = self._text(node).lower()
        if text not in _SWITCHES:
            self._refuse(node, "no_switch")
        return _SWITCHES.get(text, True)

    def _some(self, node: Node, most: int, code: str) -> list[Node]:
        """Return the items of a list, at most `most`."""
        items = self._list(node)
        if len(items) > most:
            self._refuse(node, code, most=most)
        return items[:most]

    def _check_line(self, node: Node, text: str, most: int) -> None:
        if len(text) > most:
            self._refuse(node, "text_too_long", most=most)
        elif not text.isprintable():
            self._refuse(node, "unprintable")

    def _closed(self, node: Node) -> tuple[ClosedDays, ...]:
        closed = set()
        for item in self._some(node, _MOST_CLOSED, "too_many_days"):
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
        for item in self._some(node, profiles.MOST_SUGGESTIONS, "too_many_suggestions"):
            suggestions.append(" ".join(self._text(item).split()))
            self._check_line(item, suggestions[-1], _LONGEST_SUGGESTION)
        return tuple(dict.fromkeys(filter(None, suggestions)))

    def _patterns(self, node: Node) -> list[Scalar]:
        items = self._list(node)
        for item in items:
            if not self._text(item):
                self._refuse(item, "no_text")
        return [item for item in items if isinstance(item, Scalar)]

    def _tests(self, node: Node) -> tuple[BotTest, ...]:
        return tuple(dict.fromkeys(map(self._test, self._some(node, MOST_TESTS, "too_many_tests"))))

    def _test(self, node: Node) -> BotTest:
        given: dict[str, Any] = {}
        for key, value in self._items(node):
            if key.text in ("contains", "lacks"):
                given[key.text] = self._expected_texts(value)
            elif key.text == "decision":
                given[key.text] = self._among(value, DECISIONS)
            elif key.text == "language":
                given[key.text] = self._setting(value, "language").get("language")
            elif key.text in BotTest._fields:
                given[key.text] = " ".join(self._text(value).split())
            else:
                self._refuse(key, "part_unknown", part=key.text, whole="a test", known=list(BotTest._fields))
        if not given.get("ask"):
            self._refuse(node, "test_without_question")
        if not any(given.get(name) for name in EXPECTATIONS):
            self._refuse(node, "test_without_expectation")
        return BotTest(given.pop("ask", ""), **{name: value for name, value in given.items() if value})

    def _expected_texts(self, node: Node) -> tuple[str, ...]:
        texts = [(item, self._text(item).strip()) for item in (node.items if isinstance(node, List) else [node])]
        for item in (item for item, text in texts if not text):
            self._refuse(item, "no_text")
        return tuple(text for _, text in texts)

    def _texts(self, node: Node) -> dict[str, dict[str, str]]:
        texts: dict[str, dict[str, str]] = {}
        for key, value in self._items(node):
            known = catalogue.placeholders(key.text)
            if known is not None:
                texts[key.text] = self._sentences(value, known)
            else:
                self._refuse(key, "sentence_unknown", name=key.text)
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
            kind: str = "time"
            fields: tuple[FormField, ...] = ()
            for name, part in self._items(value):
                if name.text == "is" and key.text == "appointment":
                    kind = self._among(part, profiles.APPOINTMENTS)
                elif name.text == "fields":
                    fields = self._fields(part)
                else:
                    self._refuse(name, "part_unknown", part=name.text, whole="a form", known=["fields", "is (appointment)"])
            forms[key.text] = Form(kind, fields)
        return forms

    def _fields(self, node: Node) -> tuple[FormField, ...]:
        fields = [self._field(item) for item in self._some(node, _MOST_FIELDS, "too_many_fields")]
        if len({field.name for field in fields}) < len(fields):
            self._refuse(node, "fields_same_name")
        return tuple(fields)

    def _field(self, node: Node) -> FormField:
        given: dict[str, Node] = {}
        for key, value in self._items(node):
            if key.text not in _FIELD_KEYS:
                self._refuse(key, "part_unknown", part=key.text, whole="a field", known=list(_FIELD_KEYS))
            given[key.text] = value
        name = self._text(given["name"]).strip() if "name" in given else ""
        kind = self._among(given["kind"], profiles.KINDS) if "kind" in given else "text"
        choices = tuple(self._text(choice) for choice in self._list(given["choices"])) if "choices" in given else ()
        if not name:
            self._refuse(node, "field_without_name")
        if (kind == "choice") != bool(choices):
            self._refuse(node, "choices")
        ask = self._sentences(given["ask"]) if "ask" in given else {}
        required = _SWITCHES.get(self._text(given["required"]).lower()) if "required" in given else True
        if required is None:
            self._refuse(given["required"], "no_switch")
        return FormField(name, kind, ask, choices, bool(required))
