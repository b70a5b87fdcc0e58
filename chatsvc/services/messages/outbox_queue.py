"""Sending state of one bot and channel, and the protocol of platform senders."""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Protocol

from chatsvc.domain.outgoing import OutgoingPart
from chatsvc.services.accounts.channel_secrets import OpenChannel
from chatsvc.store.outbox import OutgoingMessage


class PlatformSender(Protocol):
    """Sender of one bot's messages by one platform."""

    def parts(self, text: str) -> list[str]:
        """Divide a text into parts that the platform takes."""
        ...

    async def send(self, part: OutgoingPart) -> str:
        """Send a part; return the platform's id of it.

        Raises SendingRefused, RetryLater, NotConnected and SendingUncertain. Any other exception counts as SendingUncertain.
        """
        ...

    async def close(self) -> None:
        """Close connections."""
        ...


@dataclass(eq=False)
class OutboxQueue:
    """Messages of one bot and channel. `held`: conversations that wait until a time of the loop; `paused_until` holds up all.

    `ahead` are messages that were read to be sent next, `conversations` those of messages under way. `failures` counts attempts in a
    row without a connection.
    """

    name: str
    sender: PlatformSender | None = None
    made_of: OpenChannel | None = None
    ahead: deque[OutgoingMessage] = field(default_factory=deque)
    conversations: set[int] = field(default_factory=set)
    held: dict[int, float] = field(default_factory=dict)
    paused_until: float = 0.0
    failures: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def forget_pauses(self) -> None:
        """Forget for what time the platform asked to wait."""
        self.held, self.paused_until, self.failures = {}, 0.0, 0

    @property
    def place(self) -> tuple[str, str]:
        """Channel and bot."""
        channel, _, bot_id = self.name.partition(" ")
        return channel, bot_id

    def wait_s(self, now: float) -> float | None:
        """Return the seconds until something that is held up may be sent. None where nothing is."""
        until = [*self.held.values()] + ([self.paused_until] if self.paused_until > now else [])
        return max(0.0, min(until) - now) if until else None
