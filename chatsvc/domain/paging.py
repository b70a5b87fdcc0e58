"""Keyset paging of administrative lists: a page and the position of its last record."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from chatsvc.domain import refusals

T = TypeVar("T")
MOST = 1000
DEFAULT = 100


class ResultPage(NamedTuple, Generic[T]):
    """Records of a list. `next` is the `after` of the following page, None on the last one."""

    items: list[T]
    next: str | None


def clamped(limit: int) -> int:
    """Return `limit`, at least 1 and at most MOST."""
    return max(1, min(limit, MOST))


def number(text: str) -> int:
    """Read an integer that the store can hold; raises ValueError."""
    value = int(text)
    if not -(2**63) <= value < 2**63:
        raise ValueError(text)
    return value


def position(*values: int | str) -> str:
    """Write the keyset position of a record, such as "1700000000000,6f1c..."."""
    return ",".join(map(str, values))


def parsed(after: str | None, *kinds: Callable[[str], Any]) -> tuple[Any, ...] | None:
    """Read a position whose values are of these types; raises `position_invalid`."""
    if after is None:
        return None
    values = after.split(",")
    try:
        return tuple(kind(value) for kind, value in zip(kinds, values, strict=True))
    except ValueError:
        raise refusals.position_invalid(position=after) from None


def page_of(rows: Sequence[T], limit: int, place: Callable[[T], str]) -> ResultPage[T]:
    """Cut a page from `rows`, which were read with one row more than `limit`."""
    items = list(rows[:limit])
    return ResultPage(items, place(items[-1]) if len(rows) > limit else None)
