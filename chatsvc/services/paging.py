"""One page of a list with its cursor, limit and `pagination` object (SPEC.md 2.1)."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from chatsvc.domain.shapes import Json

T = TypeVar("T")
DEFAULT_LIMIT = 20
MAX_LIMIT = 100


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """The items of one page with what `pagination` says of them."""

    items: list[T]
    limit: int
    total: int
    next_cursor: str | None

    def pagination(self) -> Json:
        """The `pagination` object of SPEC.md 2.1."""
        return {
            "limit": self.limit,
            "returned": len(self.items),
            "total": self.total,
            "has_more": self.next_cursor is not None,
            "next_cursor": self.next_cursor,
        }
