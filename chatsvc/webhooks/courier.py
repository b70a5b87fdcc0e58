"""Takes an event to its receiver: makes the bytes, signs them with the webhook's current key, posts them and says how it went."""

from __future__ import annotations

import logging
from socket import socket
from typing import TYPE_CHECKING

import orjson

from chatsvc.config import Config
from chatsvc.domain.addresses import Networks, Own, TargetRefused
from chatsvc.domain.egress import Egress, EgressRefused
from chatsvc.domain.errors import Refused
from chatsvc.domain.signing import sign
from chatsvc.domain.targets import Target, check_url
from chatsvc.store.master_key import MasterKey
from chatsvc.store.webhooks import Event, Outcome, Sending, UnusableKey, Webhook
from chatsvc.webhooks import sealing
from chatsvc.webhooks.connector import open_socket, tls_context
from chatsvc.webhooks.delivery import Sender
from chatsvc.webhooks.envelope import build_headers, build_request
from chatsvc.webhooks.machine import own
from chatsvc.webhooks.resolver import Resolve, SystemResolver, check_target

if TYPE_CHECKING:
    from aiohttp import AddrInfoType

log = logging.getLogger(__name__)

_KEPT = 1024


def row(bot_id: str) -> str:
    """To which row a signing key is bound."""
    return f"webhooks/{bot_id}"


class Courier:
    """`secret` opens the signing keys; `own` and `allowed` decide which targets there are (SPEC.md 6.4)."""

    def __init__(self, sender: Sender, own: Own, allowed: Networks, resolve: Resolve, secret: MasterKey, egress: Egress) -> None:
        self._sender = sender
        self._own = own
        self._allowed = allowed
        self._resolve = resolve
        self._secret = secret
        self._egress = egress
        self._targets: dict[str, Target] = {}
        self._keys: dict[tuple[str, bytes], str] = {}

    async def check(self, url: str) -> None:
        """Whether a webhook may have this address; raises TargetRefused. Where nothing may go out, its name is not looked up."""
        if not self._egress.allowed:
            check_url(url, self._own, self._allowed)
            return
        await check_target(url, self._own, self._allowed, self._resolve)

    def sign(self, event: Event, delivery_id: str, webhook: Webhook) -> tuple[bytes, str]:
        """The bytes of a delivery and their signature; raises UnusableKey."""
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
        return Outcome(sending.attempt_id, done.success, done.status_code, done.error, done.duration_ms)

    def _target(self, url: str) -> Target:
        target = self._targets.get(url)
        if target is None:
            if len(self._targets) >= _KEPT:
                self._targets.clear()
            target = self._targets[url] = check_url(url, self._own, self._allowed)
        return target

    async def close(self) -> None:
        """Close the connections."""
        await self._sender.close()


def make_courier(config: Config, secret: MasterKey, port: int, egress: Egress) -> Courier:
    """A courier as the configuration has it; `port` is the one really bound, `egress` what lets its connections out.

    Raises Refused where `webhooks.ca_file` cannot be used.
    """
    settings, server = config.webhooks, config.server
    try:
        tls = tls_context(settings.ca_file)
    except OSError as fault:
        raise Refused(f"webhooks.ca_file {settings.ca_file} cannot be used: {fault.strerror or fault}") from None
    listeners = ([(server.host, port)] if server.socket is None else []) + ([server.http] if server.http else [])
    listeners += [config.metrics.listen] if config.metrics.listen else []
    ours = own(listeners, server.public_url)
    resolve = SystemResolver()

    def make_socket(info: AddrInfoType) -> socket:
        egress.open("webhook")
        return open_socket(info)

    sender = Sender(ours, settings.allowed_networks, timeout_s=settings.timeout_s, tls=tls, resolve=resolve, make_socket=make_socket)
    return Courier(sender, ours, settings.allowed_networks, resolve, secret, egress)
