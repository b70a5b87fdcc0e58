"""One thing that was looked at, and how it is."""

from __future__ import annotations

from typing import NamedTuple

OK, WARNING, FAULT = "ok", "warning", "fault"


class Check(NamedTuple):
    """`state` is OK, WARNING (it works, but should not stay so) or FAULT; `remedy` says what to do, where something is to be done."""

    name: str
    state: str
    found: str
    remedy: str | None = None


def ok(name: str, found: str) -> Check:
    """All is well."""
    return Check(name, OK, found)


def warning(name: str, found: str, remedy: str) -> Check:
    """It works, but should not stay so."""
    return Check(name, WARNING, found, remedy)


def fault(name: str, found: str, remedy: str) -> Check:
    """It does not work."""
    return Check(name, FAULT, found, remedy)
