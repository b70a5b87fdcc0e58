"""One thing found in a line: where it stands and what it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

Value = TypeVar("Value")


@dataclass(slots=True)
class Mention(Generic[Value]):
    """`first` and `end` are tokens; a `value` of None is something understood that is no date ("every Monday").

    `gone` is a day that is over ("dün", "last Friday").
    `explicit` tells the 15th of March from a mere Friday: where both stand side by side the weekday only repeats it.
    """

    first: int
    end: int
    value: Value | None
    explicit: bool = True
    gone: bool = False
