"""Body and headers of webhook requests, byte for byte (SPEC.md 6.2)."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import orjson

from chatsvc.domain.times import with_millis

USER_AGENT = "Service-Webhooks/1.0"


def build_request(event: str, delivery_id: str, created_at: int, bot_id: str, data: Mapping[str, object]) -> bytes:
    """The body: UTF-8 JSON without spaces, in SPEC.md's order. Made once; these bytes are signed, sent and recorded.

    `created_at`: when the event happened, in milliseconds since the epoch. `data`: the record, its fields in their order.
    """
    return orjson.dumps(
        {"event": event, "delivery_id": delivery_id, "created_at": with_millis(created_at), "bot_id": bot_id, "data": dict(data)}
    )


def build_headers(event: str, delivery_id: str, signature: str) -> dict[str, str]:
    """Build the headers of SPEC.md 6.2; `signature` is from domain.signing.sign()."""
    return {
        "Content-Type": "application/json",
        "User-Agent": USER_AGENT,
        "X-Service-Event": event,
        "X-Service-Delivery": delivery_id,
        "X-Service-Signature": signature,
    }


def sent_headers(url: str, event: str, delivery_id: str, signature: str, body: bytes) -> dict[str, str]:
    """Return all headers of a delivery in their order, those of the HTTP client included."""
    host = urlsplit(url).netloc
    return {
        "Host": host.removesuffix(":443"),
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        **build_headers(event, delivery_id, signature),
        "Content-Length": str(len(body)),
    }
