"""Records of webhooks and deliveries, and signatures: HMAC-SHA256 over the raw bytes of the body (help/webhooks.md 5)."""

import hashlib
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from chatsvc.domain.times import with_millis

SUBSCRIBED = ("request.created", "appointment.created")
TEST = "webhook.test"
# Values of the filter `status` of attempts.
DELIVERED, FAILED, IN_FLIGHT = "delivered", "failed", "in_flight"
STATUSES = (DELIVERED, FAILED, IN_FLIGHT)
# Errors of attempts without a connection: nothing was sent.
NOT_SENT = frozenset(
    ("refused_address", "egress_refused", "dns_failed", "connect_failed", "tls_failed", "webhook_removed", "plan_lost", "unusable_key")
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


@dataclass(frozen=True, slots=True)
class PostResult:
    """Result of an attempt.

    `error` is None for a success; `duration_ms` is the time until the status was known; `answer` is the beginning of the answer's body,
    or None without an answer.
    """

    success: bool
    status_code: int | None
    error: str | None
    duration_ms: int
    answer: bytes | None = field(default=None, repr=False)


class AttemptDetail(NamedTuple):
    """An attempt with its request, and the beginning of the answer's body.

    `signature` is None if the request was not signed, or an old version did not store it; `body` is empty if no request was made;
    `answer` is None if none was received.
    """

    attempt: Attempt
    event_number: int
    event_created_at: int
    signature: str | None
    body: bytes
    answer: bytes | None

    @property
    def headers(self) -> dict[str, str]:
        """Return all headers of the request in their order, those of the HTTP client included."""
        attempt = self.attempt
        if not (self.body and attempt.url and self.signature):
            return {}
        return {
            "Host": urlsplit(attempt.url).netloc.removesuffix(":443"),
            "Accept": "*/*",
            "Accept-Encoding": "identity",
            **build_headers(attempt.event, attempt.delivery_id, self.signature),
            "Content-Length": str(len(self.body)),
            "Connection": "close",
        }

    @property
    def was_sent(self) -> bool:
        return bool(self.body) and self.attempt.error not in NOT_SENT


class Webhook(NamedTuple):
    """A bot's webhook; `url` is None if events are only stored (`--pull`). `signing_key` is only set when the webhook is created."""

    bot_id: str
    url: str | None
    events: tuple[str, ...]
    sealed_key: bytes
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
    """Page of re-sent events: the attempts, and the number of events left. `next` is the `after` of the next page, or None at the end."""

    attempts: list[Attempt]
    left: int
    next: int | None


def build_request(event: str, delivery_id: str, created_at: int, bot_id: str, data: Mapping[str, object]) -> bytes:
    """Return the body of a delivery: UTF-8 JSON without spaces, with fields in the order of help/webhooks.md 2.

    The same bytes are signed, sent and stored. `created_at` is when the event happened, in milliseconds since the epoch. `data` is the
    record with its fields in order.
    """
    envelope = {"event": event, "delivery_id": delivery_id, "created_at": with_millis(created_at), "bot_id": bot_id, "data": data}
    return json.dumps(envelope, ensure_ascii=False, separators=(",", ":")).encode()


def build_headers(event: str, delivery_id: str, signature: str) -> dict[str, str]:
    """Build the headers of help/webhooks.md 2; `signature` is from sign()."""
    return {
        "Content-Type": "application/json",
        "User-Agent": "Service-Webhooks/1.0",
        "X-Service-Event": event,
        "X-Service-Delivery": delivery_id,
        "X-Service-Signature": signature,
    }


def generate_signing_key() -> str:
    """Generate a new signing key: `whsec_` and 43 characters of base64url (256 bits). It is shown once."""
    return "whsec_" + secrets.token_urlsafe(32)


def sign(key: str, body: bytes) -> str:
    """Return the value of X-Service-Signature: `sha256=` and lowercase hex. The HMAC key is the whole string's bytes, prefix included."""
    return f"sha256={hmac.digest(key.encode(), body, hashlib.sha256).hex()}"


def verify(key: str, body: bytes, signature: str) -> bool:
    """Return whether `signature` (the header's value) belongs to `body`, the raw bytes received. Compare in constant time."""
    return hmac.compare_digest(sign(key, body).encode(), signature.encode("utf-8", "surrogatepass"))
