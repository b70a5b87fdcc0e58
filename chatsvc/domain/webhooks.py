"""What is known of the deliveries of webhooks (SPEC.md 6.5)."""

from __future__ import annotations

from typing import NamedTuple


class Attempt(NamedTuple):
    """One attempt to deliver an event, as it is shown; `success` is None while it is under way."""

    id: str
    delivery_id: str
    event: str
    record_id: str
    url: str | None
    at: int
    success: bool | None
    status_code: int | None
    error: str | None
    duration_ms: int | None
