"""Faults of a configuration, reported all at once.

A fault names the place and the expected value, never the one found: any value may be a secret in the wrong place.
"""

from collections.abc import Iterable
from typing import NamedTuple


class ConfigFault(NamedTuple):
    """One fault; lines and columns count from 1, and 0 stands for the whole file."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return f"{where}: {self.message}"


class ConfigError(Exception):
    """Raised for an invalid configuration; its text has a line for each fault."""

    def __init__(self, faults: Iterable[ConfigFault]) -> None:
        self.faults = tuple(sorted(set(faults)))
        super().__init__("\n".join(map(str, self.faults)))
