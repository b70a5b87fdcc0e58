"""Cursors of lists (SPEC.md 2.1, DECISIONS.md section 1). Opaque, authenticated keyset positions, bound to one list."""

import base64
import binascii
import hashlib
import hmac
import struct
from typing import NamedTuple

from chatsvc.domain import errors

MAX_DEPTH = 10_000
_POSITION = struct.Struct(">qqI")
_MAC_BYTES = 16


class Position(NamedTuple):
    """The last record of a page. Its instant, its number in the store, and how many records the walk has returned so far."""

    instant: int
    number: int
    depth: int


class Cursors:
    """Makes and reads cursors under one secret."""

    def __init__(self, secret: bytes) -> None:
        self._keyed = hmac.new(secret, digestmod=hashlib.sha256)

    def _mac(self, packed: bytes, walk: tuple[str | None, ...]) -> bytes:
        # Each part carries its length, so that no two walks spell the same bytes; None differs from "".
        parts = (b"-" if part is None else str(len(part)).encode() + b":" + part.encode("utf-8", "surrogatepass") for part in walk)
        mac = self._keyed.copy()
        mac.update(packed + b"|".join(parts))
        return mac.digest()[:_MAC_BYTES]

    def write(self, position: Position, walk: tuple[str | None, ...]) -> str:
        """The cursor behind `position`; `walk` is the operation, the account and the filters."""
        packed = _POSITION.pack(*position)
        return base64.urlsafe_b64encode(packed + self._mac(packed, walk)).decode().rstrip("=")

    def read(self, cursor: str | None, walk: tuple[str | None, ...]) -> Position | None:
        """The position of a cursor, None without one; raises `invalid_cursor` and `cursor_out_of_range`."""
        if cursor is None:
            return None
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
