"""Webhooks and their deliveries as they are shown (SPEC.md 6.5)."""

from __future__ import annotations

from typing import NamedTuple


class Attempt(NamedTuple):
    """An attempt to deliver an event; `success` is None while it is in flight."""

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


class WebhookSettings(NamedTuple):
    """A bot's webhook; `url` is None if events are only stored (`--pull`).

    `signing_key` is given at its creation and never again.
    """

    bot_id: str
    url: str | None
    events: tuple[str, ...]
    created_at: int
    updated_at: int
    signing_key: str | None = None


class SignedEvent(NamedTuple):
    """A stored event as a signed delivery, ready to be posted."""

    number: int
    event: str
    record_id: str
    delivery_id: str
    body: str
    signature: str


class ResentPage(NamedTuple):
    """One page of re-sent events: the attempts, and the number left.

    next: the `after` of the next page, None at the end.
    """

    attempts: list[Attempt]
    left: int
    next: int | None
