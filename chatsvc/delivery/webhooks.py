"""Delivery of webhook events (help/webhooks.md). Events are built, signed and posted, and each bot has a lane of its own."""

import json
import logging
from collections.abc import Callable, Collection, Iterable

from chatsvc.delivery.queue import DeliveryQueue, Outcome
from chatsvc.domain.webhooks import PostResult, Webhook, build_headers, build_request, sign
from chatsvc.outbound.webhook import WebhookSender
from chatsvc.store import deliveries, mail_notices, webhooks
from chatsvc.store.database import Connection, Database
from chatsvc.store.deliveries import Sending, Terms, UnusableKey
from chatsvc.store.master_key import MasterKey
from chatsvc.store.sealing import Unsealable, row_name, unseal
from chatsvc.store.tables import SIGNING_KEYS
from chatsvc.store.webhooks import Event

log = logging.getLogger(__name__)

AT_ONCE = 32  # deliveries of a bot once its receiver has answered; one until then, and while it is silent


class WebhookQueue(DeliveryQueue[Event, Sending]):
    """Queue that sends pending webhook events. `plans` are the plans that include webhooks.

    `secret` decrypts the signing keys. If `sends_mail` is true, failed deliveries are mailed to the operators who want it.
    """

    # A failed handshake costs far more than a delivery, and a receiver that just restarts misses fewer events.
    pause_s = longest_pause_s = 0.1
    stop_s = 120.0
    interrupted = "%d webhook deliveries were in flight when the service ended; they are recorded as interrupted"

    def __init__(
        self,
        db: Database,
        sender: WebhookSender,
        secret: MasterKey,
        plans: frozenset[str],
        clock: Callable[[], int],
        *,
        sends_mail: bool = False,
    ) -> None:
        super().__init__(db)
        self.sender, self._secret = sender, secret
        self._plans, self._clock, self._sends_mail = plans, clock, sends_mail
        self.outcomes["delivered"] = 0

    @property
    def terms(self) -> Terms:
        return Terms(self._plans, self.sign, self.db.node)

    def sign(self, event: Event, delivery_id: str, webhook: Webhook) -> tuple[bytes, str]:
        """Return the body of a delivery and its signature. Raise UnusableKey if the signing key cannot be decrypted."""
        try:
            key = unseal(self._secret, SIGNING_KEYS, webhook.sealed_key, row_name("webhooks", webhook.bot_id))
        except Unsealable as fault:
            log.error("a webhook cannot be signed: %s", fault)
            raise UnusableKey from None
        body = build_request(event.event, delivery_id, event.created_at, event.bot_id, json.loads(event.data))
        return body, sign(key, body)

    async def settle_interrupted(self) -> int:
        return await webhooks.interrupt(self.db)

    async def waiting(self) -> Iterable[str]:
        return await webhooks.bots_with_pending(self.db)

    def most(self, lane: str) -> int:
        return AT_ONCE if self.answers.get(lane) else 1

    def find(self, connection: Connection, lane: str, room: int, held: Collection[int]) -> list[Event]:
        del held
        return deliveries.pending(connection, lane, room)

    def mark(self, connection: Connection, rows: list[Event]) -> list[Sending]:
        bot_id = rows[0].bot_id
        sendings = deliveries.begin(connection, bot_id, rows, self._clock(), self.terms)
        self._note_failed(connection, bot_id, sum(sending.refusal is not None for sending in sendings))
        return [sending for sending in sendings if sending.refusal is None]

    def _note_failed(self, connection: Connection, bot_id: str, count: int) -> None:
        if self._sends_mail and count:
            mail_notices.note(connection, "webhook", bot_id, None, self._clock(), causes=count)

    async def send(self, item: Sending) -> Outcome:
        headers = build_headers(item.event, item.delivery_id, item.signature)
        return self._outcome(item, await self.sender.post(item.url, item.body, headers))

    def broken(self, item: Sending) -> Outcome:
        return self._outcome(item, PostResult(False, None, "internal_error", 0))

    def _outcome(self, sending: Sending, result: PostResult) -> Outcome:
        def write(connection: Connection) -> None:
            deliveries.settle(connection, sending.attempt_id, result)
            self._note_failed(connection, sending.bot_id, not result.success)

        return Outcome(result.error or "delivered", write, is_answered=result.status_code is not None)

    async def deliver(self, sending: Sending) -> None:
        """Make one attempt that a person requested, and record its outcome."""
        await self.write(await self.attempt(sending.bot_id, sending))
        # An event may have waited for this attempt.
        self.wake(sending.bot_id)

    async def close(self) -> None:
        await super().close()
        await self.sender.close()
