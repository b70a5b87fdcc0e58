"""A bot in one file (DECISIONS.md section 9): its settings, closed days, texts and forms as YAML."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from datetime import date

from chatsvc.config.document import List, Map, Node, Scalar, parse
from chatsvc.config.faults import ConfigError, Fault
from chatsvc.domain import profiles, refusals
from chatsvc.domain.actors import Caller
from chatsvc.domain.captures import REQUEST_TYPES
from chatsvc.domain.models import Bot
from chatsvc.domain.profiles import Form, FormField, Profile
from chatsvc.domain.refusals import Refused
from chatsvc.engines.knowledge.dialogue import wording
from chatsvc.store import bots as stored
from chatsvc.usecases import bots
from chatsvc.usecases.services import Services

MAX_CHARACTERS = 200_000
SETTINGS = ("name", "model", "description", "instructions", "timezone", "country", "language", "opening_hours", "greeting", "fallback")
_SWITCHES = {"true": True, "on": True, "yes": True, "false": False, "off": False, "no": False}
_MOST_FIELDS, _MOST_CLOSED, _LONGEST_TEXT = 12, 200, 1_000
_FIELD_KEYS = ("name", "kind", "ask", "choices", "required")
_BRACES = re.compile(r"\{(\w*)\}")


async def take_out(services: Services, caller: Caller, *, bot: str) -> str:
    """Return the bot as YAML, as `apply` reads it."""
    found = await bots.show(services, caller, bot=bot)
    profile = profiles.load(found.profile)
    settings: dict[str, object] = {name: getattr(found, name) or "" for name in SETTINGS}
    settings["fallback"] = found.fallback or "none"
    settings["ask_back"] = found.ask_back is not False
    owned = profile.to_json()
    forms = {
        kind: {"is": form.appointment, "fields": [_field_values(field) for field in form.fields]} for kind, form in profile.forms.items()
    }
    closed = owned.get("closed", [])
    rest = {"closed": closed, "address": profile.address, "texts": dict(profile.texts), "forms": forms}
    return "\n".join(_lines({**settings, **rest})) + "\n"


def _field_values(field: FormField) -> dict[str, object]:
    made: dict[str, object] = {"name": field.name, "kind": field.kind, "ask": dict(field.ask), "required": field.required}
    return {**made, "choices": list(field.choices)} if field.choices else made


def _lines(value: object, indent: str = "") -> Iterable[str]:
    """Write a value in block style; scalars are JSON, which YAML reads."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _entry(f"{indent}{key}:", item, indent + "  ")
    elif isinstance(value, list):
        for item in value:
            first, *others = _lines(item, indent + "  ")
            yield f"{indent}- {first.strip()}"
            yield from others
    else:
        yield indent + json.dumps(value, ensure_ascii=False)


def _entry(head: str, item: object, indent: str) -> Iterable[str]:
    if isinstance(item, (dict, list)) and item:
        yield head
        yield from _lines(item, indent)
    else:
        yield f"{head} {json.dumps(item, ensure_ascii=False)}"


async def apply(services: Services, caller: Caller, *, bot: str, file: str, text: str) -> Bot:
    """Apply a file to a bot; what it does not name stays. Raises `bot_file_invalid` with all faults, each with line and column."""
    state, found = await bots.resolve(services, caller, bot)
    reader = _Reader(services, file)
    changes = reader.read(text, profiles.load(found.profile))
    if reader.faults:
        raise refusals.bot_file_invalid(faults=[str(fault) for fault in sorted(set(reader.faults))])
    differing = {name: value for name, value in changes.items() if getattr(found, name) != value}
    if found.ask_back is None and differing.get("ask_back"):
        del differing["ask_back"]  # on is the default
    if not differing:
        return found
    return await stored.update(services.db, found, {**differing, "updated_at": services.clock()}, state.update_bot)


class _Reader:
    """Reader of one file; collects its faults."""

    def __init__(self, services: Services, file: str) -> None:
        self.faults: list[Fault] = []
        self._services, self._file = services, file

    def read(self, text: str, profile: Profile) -> dict[str, object]:
        """Return the columns of the bot that the file sets."""
        try:
            if len(text) > MAX_CHARACTERS:
                raise ConfigError([Fault(self._file, 0, 0, f"has more than {MAX_CHARACTERS} characters")])
            node = parse(text, self._file, self.faults)
        except ConfigError as fault:
            self.faults += fault.faults
            return {}
        readers: dict[str, Callable[[Node], object]] = {
            "closed": self._closed,
            "address": self._address,
            "texts": self._texts,
            "forms": self._forms,
            "ask_back": self._ask_back,
        }
        changes: dict[str, object] = {}
        owned: dict[str, object] = {}
        for key, value in self._items(node) if node is not None else ():
            name = key.text
            if name in SETTINGS:
                changes.update(self._setting(name, value))
            elif name == "ask_back":
                changes[name] = self._ask_back(value)
            elif name in readers:
                owned[name] = readers[name](value)
            else:
                self._refuse(key, f"{name!r} is no part of a bot's file; there are {', '.join((*SETTINGS, *readers))}")
        if owned and not self.faults:
            changes["profile"] = profile._replace(**owned).dump()  # type: ignore[arg-type]  # each was read by its name
        return changes

    def _refuse(self, node: Node, message: str) -> None:
        self.faults.append(Fault(self._file, node.line, node.column, message))

    def _items(self, node: Node) -> list[tuple[Scalar, Node]]:
        if isinstance(node, Map):
            seen: set[str] = set()
            for key, _ in node.items:
                if key.text in seen:
                    self._refuse(key, f"{key.text!r} is given twice")
                seen.add(key.text)
            return node.items
        if not (isinstance(node, Scalar) and node.null):
            self._refuse(node, "expected names and values")
        return []

    def _list(self, node: Node) -> list[Node]:
        if isinstance(node, List):
            return node.items
        if not (isinstance(node, Scalar) and node.null):
            self._refuse(node, "expected a list")
        return []

    def _text(self, node: Node) -> str:
        if not isinstance(node, Scalar):
            self._refuse(node, "expected a text")
            return ""
        if len(node.text) > _LONGEST_TEXT or "\0" in node.text:
            self._refuse(node, f"expected at most {_LONGEST_TEXT} characters")
        return "" if node.null else node.text

    def _among(self, node: Node, known: Iterable[str]) -> str:
        text, choices = self._text(node), tuple(known)
        if text not in choices:
            self._refuse(node, f"{text!r} is none of {', '.join(choices)}")
        return text

    def _setting(self, name: str, node: Node) -> dict[str, object]:
        if not isinstance(node, Scalar):
            self._refuse(node, "expected a text")
            return {}
        try:
            return bots.checked(self._services, {name: "" if node.null else node.text})
        except Refused as fault:
            told = fault.facts.get("fault") or ", ".join(f"{key}: {value}" for key, value in fault.facts.items())
            self._refuse(node, f"{name} cannot be this ({told})")
            return {}

    def _ask_back(self, node: Node) -> bool:
        text = self._text(node).lower()
        if text not in _SWITCHES:
            self._refuse(node, "expected true or false")
        return _SWITCHES.get(text, True)

    def _address(self, node: Node) -> str:
        return self._among(node, profiles.ADDRESSES)

    def _closed(self, node: Node) -> tuple[tuple[date, date], ...]:
        made = []
        for item in self._list(node)[:_MOST_CLOSED]:
            try:
                made.append(profiles.days(self._text(item)))
            except ValueError:
                self._refuse(item, "expected a day such as 2026-12-31, or days such as 2027-01-01..2027-01-15")
        return tuple(sorted(set(made)))

    def _texts(self, node: Node) -> dict[str, dict[str, str]]:
        made: dict[str, dict[str, str]] = {}
        for key, value in self._items(node):
            known = wording.placeholders(key.text)
            if known is None:
                self._refuse(key, f"the dialogue has no sentence {key.text!r}")
                continue
            made[key.text] = self._sentences(value, known)
        return made

    def _sentences(self, node: Node, known: frozenset[str] | None = None) -> dict[str, str]:
        made: dict[str, str] = {}
        for key, value in self._items(node):
            if key.text not in profiles.LANGUAGES:
                self._refuse(key, f"{key.text!r} is none of {', '.join(profiles.LANGUAGES)}")
                continue
            text = self._text(value)
            if known is not None and (set(_BRACES.findall(text)) - known or re.search(r"[{}]", _BRACES.sub("", text))):
                self._refuse(value, f"the placeholders of this sentence are {', '.join(f'{{{name}}}' for name in sorted(known)) or 'none'}")
            made[key.text] = text
        return made

    def _forms(self, node: Node) -> dict[str, Form]:
        made: dict[str, Form] = {}
        for key, value in self._items(node):
            if key.text not in REQUEST_TYPES:
                self._refuse(key, f"{key.text!r} is none of {', '.join(REQUEST_TYPES)}")
                continue
            kind: str = "time"
            fields: tuple[FormField, ...] = ()
            for name, part in self._items(value):
                if name.text == "is" and key.text == "appointment":
                    kind = self._among(part, profiles.APPOINTMENTS)
                elif name.text == "fields":
                    fields = self._fields(part)
                else:
                    self._refuse(name, f"{name.text!r} is no part of a form; there are fields and, of an appointment, is")
            made[key.text] = Form(kind, fields)
        return made

    def _fields(self, node: Node) -> tuple[FormField, ...]:
        items = self._list(node)
        if len(items) > _MOST_FIELDS:
            self._refuse(node, f"expected at most {_MOST_FIELDS} fields")
        made = [self._field(item) for item in items]
        if len({field.name for field in made}) < len(made):
            self._refuse(node, "two fields have one name")
        return tuple(made)

    def _field(self, node: Node) -> FormField:
        given: dict[str, Node] = {}
        for key, value in self._items(node):
            if key.text not in _FIELD_KEYS:
                self._refuse(key, f"{key.text!r} is no part of a field; there are {', '.join(_FIELD_KEYS)}")
            given[key.text] = value
        name = self._text(given["name"]).strip() if "name" in given else ""
        kind = self._among(given["kind"], profiles.KINDS) if "kind" in given else "text"
        choices = tuple(self._text(choice) for choice in self._list(given["choices"])) if "choices" in given else ()
        if not name:
            self._refuse(node, "a field needs a name")
        if (kind == "choice") != bool(choices):
            self._refuse(node, "choices belong to a field of kind choice, and to no other")
        ask = self._sentences(given["ask"]) if "ask" in given else {}
        required = _SWITCHES.get(self._text(given["required"]).lower()) if "required" in given else True
        if required is None:
            self._refuse(given["required"], "expected true or false")
        return FormField(name, kind, ask, choices, bool(required))
