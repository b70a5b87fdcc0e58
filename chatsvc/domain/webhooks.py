"""Webhooks and deliveries as they are shown, and signatures: HMAC-SHA256 over the raw bytes of the body (help/webhooks.md 5)."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from typing import NamedTuple

SUBSCRIBED = ("request.created", "appointment.created")
TEST = "webhook.test"
# Values of the filter `status` of attempts.
DELIVERED, FAILED, IN_FLIGHT = "delivered", "failed", "in_flight"
STATUSES = (DELIVERED, FAILED, IN_FLIGHT)
# Errors of attempts without a connection: nothing was sent.
NOT_SENT = frozenset(
    {
        *("refused_address", "egress_refused", "dns_failed", "connect_failed"),
        *("tls_failed", "webhook_removed", "plan_lost", "unusable_key"),
    }
)


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
    bot_id: str


class AttemptDetail(NamedTuple):
    """An attempt with its request, and the beginning of the answer's body.

    `headers` and `body` are as sent; `body` is empty where no request was made, `answer` None where none came.
    """

    attempt: Attempt
    event_created_at: int
    headers: Mapping[str, str]
    body: bytes
    answer: bytes | None

    @property
    def was_sent(self) -> bool:
        return bool(self.body) and self.attempt.error not in NOT_SENT


class WebhookSettings(NamedTuple):
    """A bot's webhook; `url` is None if events are only stored (`--pull`). `signing_key` is given at its creation and never again."""

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
    """One page of re-sent events: the attempts, and the number left. next: the `after` of the next page, None at the end."""

    attempts: list[Attempt]
    left: int
    next: int | None


PREFIX = "whsec_"
_FORM = "sha256="


def generate_signing_key() -> str:
    """A new signing key: `whsec_` and 43 characters of base64url (256 bits). It is shown once."""
    return PREFIX + secrets.token_urlsafe(32)


def sign(key: str, body: bytes) -> str:
    """The value of X-Service-Signature: `sha256=` and lowercase hex. The HMAC key is the whole string's bytes, prefix included."""
    return _FORM + hmac.digest(key.encode(), body, hashlib.sha256).hex()


def verify(key: str, body: bytes, signature: str) -> bool:
    """Whether `signature` (the header's value) is that of `body`, the raw bytes received. Compares in constant time."""
    return hmac.compare_digest(sign(key, body).encode(), signature.encode("utf-8", "surrogatepass"))
