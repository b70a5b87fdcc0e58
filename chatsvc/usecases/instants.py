"""Parses an ISO 8601 date or time that a caller gives."""

from __future__ import annotations

from chatsvc.domain import refusals, times


def instant_of(text: str) -> int:
    """Read an ISO 8601 date or time in UTC, as milliseconds; raises `time_invalid`."""
    try:
        return times.parse_utc(text)
    except (ValueError, OverflowError):
        raise refusals.time_invalid(time=text) from None
