"""The result of one check."""

from __future__ import annotations

from typing import NamedTuple

OK, WARNING, FAULT = "ok", "warning", "fault"


class Check(NamedTuple):
    """The result of one check. `state` is OK, WARNING (it works, but should not stay so) or FAULT; `remedy` says what to do."""

    name: str
    state: str
    found: str
    remedy: str | None = None


def ok(name: str, found: str) -> Check:
    """A check without a fault."""
    return Check(name, OK, found)


def warning(name: str, found: str, remedy: str) -> Check:
    """A check whose subject works, but should not stay as it is."""
    return Check(name, WARNING, found, remedy)


def fault(name: str, found: str, remedy: str) -> Check:
    """A check whose subject does not work."""
    return Check(name, FAULT, found, remedy)
