"""Sentences of refusals on pages, from `translations/refusals.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from chatsvc.dashboard import catalogue
from chatsvc.domain import bot_file_faults, opening_hours
from chatsvc.domain.knowledge_files.faults import WORDS, FileFault
from chatsvc.domain.refusals import Refused

# Facts that are names of fields or roles, and the file that translates them.
_SECTIONS = {"field": "fields", "role": "roles", "roles": "roles", "rule": "targets"}


def sentence(language: str, refusal: Refused) -> str:
    """Word a refusal in a language of the dashboard."""
    key = f"refusals.{refusal.code}"
    if not catalogue.has(key):
        key = "refusals.unexpected_fault"
    return catalogue.text(language, key, **_shown(language, refusal.facts))


def _shown(language: str, facts: Mapping[str, object]) -> dict[str, object]:
    """Name fields and roles as the page does."""
    shown = {name: _named(language, _SECTIONS[name], value) if name in _SECTIONS else value for name, value in facts.items()}
    faults = facts.get("faults")
    if isinstance(faults, list):
        shown["faults"] = "\n".join(fault_line(language, one, str(facts.get("file", ""))) for one in faults)
    if isinstance(facts.get("facts"), dict):
        shown["fault"] = opening_hours.sentence(str(facts["fault"]), cast("dict[str, str]", facts["facts"]), language)
    return {name: catalogue.text(language, "refusals.none") if value is None else value for name, value in shown.items()}


def fault_line(language: str, fault: Any, file: str = "") -> str:
    """Word one fault of files, of an entry or of settings, with its place. A text stays as it is."""
    if not isinstance(fault, dict):
        return str(fault)
    if "unit" in fault:
        said = FileFault(fault["line"], fault["code"], fault["facts"]).sentence(language)
        return f"{fault['file']}, {WORDS[fault['unit']].of(language)} {fault['line']}: {said}"
    if fault["code"] in bot_file_faults.SENTENCES:
        said = bot_file_faults.sentence(fault["code"], fault["facts"], language)
        place = f"{file}:{fault['line']}:{fault['column']}" if "column" in fault else _path(language, str(fault["field"]))
        return f"{place}: {said}"
    said = FileFault(fault["line"], fault["code"], fault["facts"]).sentence(language)
    return said[:1].upper() + said[1:]


def _path(language: str, path: str) -> str:
    """Name a value of the settings, such as `closed.0` or `forms.quote.fields.1.name`; places count from 1."""
    first, *rest = path.split(".")
    return " › ".join([str(_named(language, "fields", first)), *(str(int(one) + 1) if one.isdigit() else one for one in rest)])


def _named(language: str, section: str, value: object) -> object:
    """Translate a name, or a list of them; one without a translation stays."""
    if isinstance(value, list):
        return [_named(language, section, one) for one in value]
    key = f"{section}.{str(value).replace('.', '_')}"
    return catalogue.text(language, key) if catalogue.has(key) else value
