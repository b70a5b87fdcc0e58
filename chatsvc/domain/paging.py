"""Keyset paging. Cursors of the interface (help/interface.md 4) are opaque, authenticated positions in one list."""

import base64
import binascii
import hashlib
import hmac
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from chatsvc.domain import errors, refusals

T = TypeVar("T")
MOST = 1000
DEFAULT = 100


class ResultPage(NamedTuple, Generic[T]):
    """One page of a list. `next` is the `after` argument for the next page, or None on the last page."""

    items: list[T]
    next: str | None


def clamped(limit: int) -> int:
    """Return `limit`, at least 1 and at most MOST."""
    return max(1, min(limit, MOST))


def number(text: str) -> int:
    """Parse an integer that fits into the store's 64 bits; raises ValueError."""
    value = int(text)
    if not -(2**63) <= value < 2**63:
        raise ValueError(text)
    return value


def position(*values: int | str) -> str:
    """Format the values of a record's keyset position as a text, such as "1700000000000,6f1c..."."""
    return ",".join(map(str, values))


def parsed(after: str | None, *kinds: Callable[[str], Any]) -> tuple[Any, ...] | None:
    """Parse a position into values of the types `kinds`. Return None for None. Raises `position_invalid`."""
    if after is None:
        return None
    values = after.split(",")
    try:
        return tuple(kind(value) for kind, value in zip(kinds, values, strict=True))
    except ValueError:
        raise refusals.position_invalid(position=after) from None


def page_of(rows: Sequence[T], limit: int, position_of: Callable[[T], str]) -> ResultPage[T]:
    """Make a page of the first `limit` of `rows`. The caller has read one more row, which shows whether there is a next page."""
    items = list(rows[:limit])
    return ResultPage(items, position_of(items[-1]) if len(rows) > limit else None)


async def following(first: ResultPage[T], read: Callable[[str], Awaitable[ResultPage[T]]]) -> AsyncIterator[list[T]]:
    """Iterate over the items of a page and of all later pages. `read` returns the page after a position."""
    page = first
    yield page.items
    while page.next is not None:
        page = await read(page.next)
        yield page.items


DEFAULT_LIMIT = 20
MAX_LIMIT = 100


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """The items of one page with its limit, the total of the list, and the cursor of the next page."""

    items: list[T]
    limit: int
    total: int
    next_cursor: str | None


MAX_DEPTH = 10_000
_POSITION = struct.Struct(">qqI")
_MAC_BYTES = 16


class Position(NamedTuple):
    """The last record of a page: its instant and its row number. `depth` is how many records have been returned so far."""

    instant: int
    number: int
    depth: int


class Cursors:
    """Writer and reader of cursors, which are authenticated with one secret."""

    def __init__(self, secret: bytes) -> None:
        self._keyed = hmac.new(secret, digestmod=hashlib.sha256)

    def _mac(self, packed: bytes, walk: tuple[str | None, ...]) -> bytes:
        # Each part carries its length, so that no two walks spell the same bytes; None differs from "".
        parts = (b"-" if part is None else str(len(part)).encode() + b":" + part.encode("utf-8", "surrogatepass") for part in walk)
        mac = self._keyed.copy()
        mac.update(packed + b"|".join(parts))
        return mac.digest()[:_MAC_BYTES]

    def write(self, position: Position, walk: tuple[str | None, ...]) -> str:
        """Return the cursor after `position`. `walk` identifies the list: the operation, the account and the filters."""
        packed = _POSITION.pack(*position)
        return base64.urlsafe_b64encode(packed + self._mac(packed, walk)).decode().rstrip("=")

    def read(self, cursor: str, walk: tuple[str | None, ...]) -> Position:
        """Return the position of a cursor; raises `invalid_cursor` and `cursor_out_of_range`."""
        try:
            raw = base64.b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
            position = Position(*_POSITION.unpack(raw[: _POSITION.size]))
        except (ValueError, binascii.Error, struct.error):
            raise errors.invalid_cursor() from None
        # Compared as text: base64 has several spellings of the same bytes, and only the one received may come back.
        if not hmac.compare_digest(self.write(position, walk).encode(), cursor.encode("ascii")):
            raise errors.invalid_cursor()
        if position.depth >= MAX_DEPTH:
            raise errors.cursor_out_of_range(max_offset=MAX_DEPTH)
        return position
