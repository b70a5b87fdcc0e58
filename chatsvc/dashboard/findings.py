"""Findings of an examination on pages, from `translations/doctor.yaml`."""

from __future__ import annotations

from typing import NamedTuple

from chatsvc.dashboard import catalogue, formats
from chatsvc.doctor.report import Finding


class WordedFinding(NamedTuple):
    """A finding of an examination in words. `state` is ok, warning or fault, `remedy` None for ok."""

    name: str
    state: str
    found: str
    remedy: str | None


def worded(language: str, one: Finding) -> WordedFinding:
    """Word a finding in a language of the dashboard."""
    facts = {name: _fact(language, name, value) for name, value in one.facts.items()}
    name = catalogue.text(language, f"doctor.name_{one.name.lower().replace(' ', '_')}")
    remedy = None if one.state == "ok" else catalogue.text(language, f"doctor.remedy_{one.code}", **facts)
    return WordedFinding(name, one.state, catalogue.text(language, f"doctor.found_{one.code}", **facts), remedy)


def _fact(language: str, name: str, value: object) -> object:
    """Write a fact. A size gets its unit, counts their purposes; other numbers stay as they are (a port has no separators)."""
    if name == "free" and isinstance(value, int):
        return formats.size(value, language)
    if isinstance(value, dict):
        return ", ".join(f"{purpose} {count}" for purpose, count in value.items())
    return str(value) if isinstance(value, int) else value
