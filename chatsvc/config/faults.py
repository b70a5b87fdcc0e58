"""What is wrong with a configuration, told in one go.

A fault says where and what was expected, never what was found: any value may turn out to be a secret in the wrong place.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Fault(NamedTuple):
    """One fault; lines and columns count from 1, and are 0 where it is the file as a whole that is at fault."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{where}: {self.message}"


class ConfigError(Exception):
    """The configuration cannot be used; its text is a line for each fault, in the order of the file."""

    def __init__(self, faults: Iterable[Fault]) -> None:
        self.faults = tuple(sorted(set(faults)))
        super().__init__("\n".join(map(str, self.faults)))
