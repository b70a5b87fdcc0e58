"""Delivery of stored messages by messaging platforms, with a queue for each bot and channel. Messages of a conversation keep their order.

If nobody knows whether a message was sent, its delivery state is `unknown`. A platform that cannot be reached delays only its own queue.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Protocol

from chatsvc.delivery.queue import DeliveryQueue, Outcome
from chatsvc.domain.channels import ACTIVE, PLATFORMS, digest_of
from chatsvc.domain.models import ConversationKey
from chatsvc.outbound.posting import NotConnected, RetryLater, SendingRefused, SendingUncertain
from chatsvc.services.accounts.channel_secrets import OpenChannel
from chatsvc.store import outbox as stored
from chatsvc.store.database import Connection, until_written
from chatsvc.store.outbox import OutgoingMessage

if TYPE_CHECKING:
    from chatsvc.services.services import Services


log = logging.getLogger(__name__)

IN_FLIGHT = 16  # requests of a lane at a time


class PlatformSender(Protocol):
    def parts(self, text: str) -> list[str]: ...

    async def send(self, part: OutgoingMessage) -> str:
        """Send a part of a message, and return the platform's id of the part.

        Raises SendingRefused, RetryLater, NotConnected and SendingUncertain. Any other exception counts as SendingUncertain.
        """
        ...

    async def close(self) -> None: ...


def sent_digest(bot_id: str, channel: str, platform_id: str) -> bytes:
    """Return the digest by which a sent message is found again. `platform_id` is the id that `PlatformSender.send` has returned."""
    return digest_of(bot_id, channel, f"sent {platform_id}")


class Outbox(DeliveryQueue[OutgoingMessage, OutgoingMessage]):
    """Queue that sends stored messages to visitors on messaging platforms."""

    longest_pause_s = 60.0
    stop_s = 45.0
    interrupted = "%d messages were being sent when the service ended; their delivery is unknown"

    def __init__(self, services: Services) -> None:
        super().__init__(services.db)
        self._services = services
        self._senders: dict[str, tuple[object, PlatformSender]] = {}
        # Also those with earlier tokens, of which a request may still be in flight.
        self._opened: list[PlatformSender] = []

    async def start(self) -> None:
        await super().start()
        self._services.events.observers.append(self._noticed)

    def _noticed(self, conversation: ConversationKey) -> None:
        bot_id, channel, _ = conversation
        if channel in PLATFORMS:
            self.wake(f"{channel} {bot_id}")

    async def settle_interrupted(self) -> int:
        return await stored.interrupt(self.db)

    async def waiting(self) -> Iterable[str]:
        return await stored.waiting(self.db, self._services.clock())

    def most(self, lane: str) -> int:
        # While the platform cannot be reached, one message is enough to learn that it can be again.
        return 1 if self.answers.get(lane) is False else IN_FLIGHT

    async def is_ready(self, lane: str) -> bool:
        channel, _, bot_id = lane.partition(" ")
        opened = (await self._services.channels.of_bot(bot_id)).get(channel)
        if opened is None:
            self.forget_pauses(lane)
            await stored.fail_all(self.db, lane, "channel_removed")
            return False
        if opened.channel.state != ACTIVE or not opened.secrets or channel not in self._services.platforms:
            return False
        self.sender_of(opened)
        return True

    def sender_of(self, channel: OpenChannel) -> PlatformSender:
        """Return the sender of a channel. Make a new sender if the channel's secrets or settings were changed."""
        kind, name = channel.channel.channel, f"{channel.channel.channel} {channel.channel.bot_id}"
        settings = channel.secrets, channel.channel.settings
        before, sender = self._senders.get(name, (None, None))
        if sender is None or before != settings:
            self.forget_pauses(name)
            sender = resolve_name(self._services.platforms[kind].sender)(self._services, channel)
            self._senders[name] = settings, sender
            self._opened.append(sender)
        return sender

    def find(self, connection: Connection, lane: str, room: int, held: Collection[int]) -> list[OutgoingMessage]:
        return stored.upcoming(connection, lane, room, held)

    def mark(self, connection: Connection, rows: list[OutgoingMessage]) -> list[OutgoingMessage]:
        stored.mark(connection, [row.number for row in rows], self.db.node)
        return rows

    async def send(self, item: OutgoingMessage) -> Outcome:
        bot_id, channel, lane = item.bot_id, item.channel, f"{item.channel} {item.bot_id}"
        try:
            platform_id = await self._send_parts(self._senders[lane][1], item)
        except SendingRefused as refusal:
            log.warning("bot %s: %s refuses a message: %s", bot_id, channel, refusal)
            return self._settled(item, "failed", refusal.code)
        except RetryLater as later:
            outcome = self._put_back(item, later.code, lane if later.whole else None)
            return outcome._replace(pause_s=later.seconds, conversation=None if later.whole else item.conversation)
        except NotConnected as fault:
            log.warning("bot %s: %s cannot be reached: %s", bot_id, channel, fault)
            return self._put_back(item, "not_connected", lane)._replace(is_answered=False)
        except SendingUncertain as fault:
            log.warning("bot %s: nobody knows whether %s has sent a message: %s", bot_id, channel, fault)
            return self._settled(item, "unknown", fault.code)
        if platform_id is None:
            return self._put_back(item)
        return self._settled(item, "sent", digest=sent_digest(bot_id, channel, platform_id))

    async def _send_parts(self, sender: PlatformSender, message: OutgoingMessage) -> str | None:
        """Send a message in parts. Return the id of the last part, or None if the service stops between two parts."""
        parts = sender.parts(message.text)
        platform_id = None
        for count, text in enumerate(parts[message.parts_sent :], start=message.parts_sent + 1):
            if self.stopping and count > message.parts_sent + 1:
                return None
            is_last = count == len(parts)
            platform_id = await sender.send(message._replace(text=text, choices=message.choices if is_last else (), is_last=is_last))
            if not is_last:
                await until_written(partial(stored.note_part, self.db, message.number, count), lambda: self.stopping, "sent messages")
        if platform_id is None:
            raise SendingRefused("empty")
        return platform_id

    def broken(self, item: OutgoingMessage) -> Outcome:
        return self._settled(item, "unknown", "internal_error")

    def _settled(self, message: OutgoingMessage, delivery: str, error: str | None = None, digest: bytes | None = None) -> Outcome:
        return self._outcome(
            message, lambda connection: stored.settle(connection, message.number, delivery, error, digest), error or delivery
        )

    def _put_back(self, message: OutgoingMessage, error: str | None = None, blocked: str | None = None) -> Outcome:
        now = self._services.clock()
        return self._outcome(message, lambda connection: stored.put_back(connection, message.number, now, error, blocked=blocked), error)

    def _outcome(self, message: OutgoingMessage, write: Callable[[Connection], None], code: str | None) -> Outcome:
        conversation = message.bot_id, message.channel, message.user_id
        return Outcome(code, write, then=lambda: self._services.events.notify(conversation))

    async def close(self) -> None:
        await super().close()
        for sender in self._opened:
            await sender.close()
