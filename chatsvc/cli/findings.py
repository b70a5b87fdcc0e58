"""Findings of `doctor` as sentences of the command line, from `translations/doctor.yaml`."""

from __future__ import annotations

from typing import NamedTuple

from chatsvc.doctor.report import OK, Finding
from chatsvc.translations import COMMAND_LINE, template


class Words(NamedTuple):
    """A finding in words, with its remedy for all but good ones."""

    found: str
    remedy: str | None = None


def worded(finding: Finding) -> Words:
    """Word a finding and its remedy."""
    facts = {name: _shown(name, value) for name, value in finding.facts.items()}
    free = finding.facts.get("free")
    if isinstance(free, int):
        facts |= {"gib": free / (1 << 30), "mib": free >> 20}
    found = template(COMMAND_LINE, f"doctor.found_{finding.code}").format(**facts)
    return Words(found, template(COMMAND_LINE, f"doctor.remedy_{finding.code}").format(**facts) if finding.state != OK else None)


def _shown(name: str, value: object) -> object:
    if isinstance(value, list):
        return ("; " if name == "problems" else ", ").join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{purpose} {count}" for purpose, count in value.items())
    return value
