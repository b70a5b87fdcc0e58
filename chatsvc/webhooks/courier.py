"""Webhook courier: builds the requests of events (help/webhooks.md 2), signs and posts them; checks addresses that are to be set."""

import logging
from collections.abc import Mapping
from urllib.parse import urlsplit

import orjson

from chatsvc.config import Config
from chatsvc.domain.addresses import Own, TargetRefused
from chatsvc.domain.errors import CommandError
from chatsvc.domain.targets import Target
from chatsvc.domain.times import with_millis
from chatsvc.domain.webhooks import sign
from chatsvc.outbound.client import Guard
from chatsvc.outbound.egress import Egress, EgressRefused
from chatsvc.outbound.own_addresses import own_addresses
from chatsvc.outbound.tls import client_context
from chatsvc.store.deliveries import Outcome, Sending, UnusableKey
from chatsvc.store.master_key import MasterKey
from chatsvc.store.webhooks import Event, Webhook
from chatsvc.webhooks import sealing
from chatsvc.webhooks.sender import Sender

log = logging.getLogger(__name__)

_KEPT = 1024


def row(bot_id: str) -> str:
    """Name the row to which a signing key is bound by its encryption."""
    return f"webhooks/{bot_id}"


class Courier:
    """Delivers signed events. `secret` decrypts the signing keys, `guard` has the rules for targets (help/webhooks.md 7)."""

    def __init__(self, sender: Sender, guard: Guard, secret: MasterKey, egress: Egress) -> None:
        self._sender = sender
        self._guard = guard
        self._secret = secret
        self._egress = egress
        self._targets: dict[str, Target] = {}
        self._keys: dict[tuple[str, bytes], str] = {}

    async def check(self, url: str) -> None:
        """Check the address of a webhook; raises TargetRefused."""
        await self._guard.check(url, self._egress)

    def sign(self, event: Event, delivery_id: str, webhook: Webhook) -> tuple[bytes, str]:
        """Build the bytes of a delivery and their signature; raises UnusableKey."""
        body = build_request(event.event, delivery_id, event.created_at, event.bot_id, orjson.loads(event.data))
        return body, sign(self._key(webhook), body)

    def _key(self, webhook: Webhook) -> str:
        place = (webhook.bot_id, webhook.signing_key)
        key = self._keys.get(place)
        if key is None:
            try:
                key = sealing.unseal_with_any(self._secret.every(sealing.PURPOSE), webhook.signing_key, row(webhook.bot_id))
            except sealing.Unsealable as fault:
                log.error("a webhook cannot be signed: %s", fault)
                raise UnusableKey from None
            if len(self._keys) >= _KEPT:
                self._keys.clear()
            self._keys[place] = key
        return key

    async def deliver(self, sending: Sending) -> Outcome:
        """Make one attempt; every failure is an outcome."""
        try:
            self._egress.check("webhook")
            target = self._target(sending.url)
        except EgressRefused:
            return Outcome(sending.attempt_id, success=False, status_code=None, error="egress_refused", duration_ms=0)
        except TargetRefused:
            return Outcome(sending.attempt_id, success=False, status_code=None, error="refused_address", duration_ms=0)
        headers = build_headers(sending.event, sending.delivery_id, sending.signature)
        done = await self._sender.post(target, sending.body, headers, webhook=sending.bot_id)
        return Outcome(sending.attempt_id, done.success, done.status_code, done.error, done.duration_ms, done.answer)

    def _target(self, url: str) -> Target:
        target = self._targets.get(url)
        if target is None:
            if len(self._targets) >= _KEPT:
                self._targets.clear()
            target = self._targets[url] = self._guard.target(url)
        return target

    async def close(self) -> None:
        await self._sender.close()


def make_courier(config: Config, secret: MasterKey, port: int, egress: Egress) -> Courier:
    """Build a courier for the `port` really bound. Raises CommandError where `webhooks.ca_file` cannot be used."""
    settings = config.webhooks
    try:
        tls = client_context(settings.ca_file)
    except OSError as fault:
        raise CommandError(f"webhooks.ca_file {settings.ca_file} cannot be used: {fault.strerror or fault}") from None
    guard = Guard(own_of(config, port), settings.allowed_networks)
    return Courier(Sender(guard, egress, timeout_s=settings.timeout_s, tls=tls), guard, secret, egress)


def own_of(config: Config, port: int) -> Own:
    """Return the addresses of the service itself, which nothing that customers name may reach."""
    server = config.server
    listeners = ([(server.host, port)] if server.socket is None else []) + ([server.http] if server.http else [])
    listeners += [config.metrics.listen] if config.metrics.listen else []
    return own_addresses(listeners, server.public_url)


USER_AGENT = "Service-Webhooks/1.0"


def build_request(event: str, delivery_id: str, created_at: int, bot_id: str, data: Mapping[str, object]) -> bytes:
    """Build the body once: UTF-8 JSON without spaces, fields in the order of help/webhooks.md 2. It is signed, sent and recorded.

    `created_at`: when the event happened, in milliseconds since the epoch. `data`: the record, its fields in their order.
    """
    return orjson.dumps(
        {"event": event, "delivery_id": delivery_id, "created_at": with_millis(created_at), "bot_id": bot_id, "data": dict(data)}
    )


def build_headers(event: str, delivery_id: str, signature: str) -> dict[str, str]:
    """Build the headers of help/webhooks.md 2; `signature` is from domain.signing.sign()."""
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
