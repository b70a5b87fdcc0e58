"""Checks of an installation. Each fault has a remedy, and nothing is changed.

A finding has a code and facts. Each front end has its own sentences for them (translations/doctor.yaml).
"""

from collections.abc import Mapping
from typing import NamedTuple, Self

OK, WARNING, FAULT = "ok", "warning", "fault"


class Finding(NamedTuple):
    """The result of one check. `name` is what was checked; `state` is OK, WARNING (it works, but should not stay so) or FAULT."""

    code: str
    name: str
    state: str
    facts: Mapping[str, object]

    @classmethod
    def ok(cls, name: str, code: str, **facts: object) -> Self:
        return cls(code, name, OK, facts)

    @classmethod
    def warning(cls, name: str, code: str, **facts: object) -> Self:
        return cls(code, name, WARNING, facts)

    @classmethod
    def fault(cls, name: str, code: str, **facts: object) -> Self:
        return cls(code, name, FAULT, facts)
