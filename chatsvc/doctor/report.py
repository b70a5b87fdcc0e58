"""Findings of `doctor`. A finding has a code and facts; each front end words it for its own users (translations/doctor.yaml)."""

from collections.abc import Mapping
from typing import NamedTuple

OK, WARNING, FAULT = "ok", "warning", "fault"


class Finding(NamedTuple):
    """The result of one check. `name` is what was checked; `state` is OK, WARNING (it works, but should not stay so) or FAULT."""

    code: str
    name: str
    state: str
    facts: Mapping[str, object]


def ok(name: str, code: str, **facts: object) -> Finding:
    """Report that what was checked is in order."""
    return Finding(code, name, OK, facts)


def warning(name: str, code: str, **facts: object) -> Finding:
    """Report what works, but should not stay so."""
    return Finding(code, name, WARNING, facts)


def fault(name: str, code: str, **facts: object) -> Finding:
    """Report what keeps the installation from working."""
    return Finding(code, name, FAULT, facts)
