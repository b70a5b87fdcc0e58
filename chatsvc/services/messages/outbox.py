"""Background sender of stored messages by messaging platforms, with a queue per bot and channel.

Messages of a conversation keep their order.

A message is marked in the store before its request is written: whatever ends the process, it is sent at most once. Where nobody knows
whether it was sent its delivery is `unknown`. A platform that cannot be reached holds up its own queue alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Protocol

from chatsvc import background
from chatsvc.domain.channels import ACTIVE, PLATFORMS, digest_of
from chatsvc.domain.models import ConversationKey
from chatsvc.domain.outgoing import OutgoingPart
from chatsvc.outbound.posting import NotConnected, RetryLater, SendingRefused, SendingUncertain
from chatsvc.services.accounts.channel_secrets import OpenChannel
from chatsvc.store import outbox as stored
from chatsvc.store.database import STORE_PAUSE_S, StoreUnavailable, until_written
from chatsvc.store.outbox import OutgoingMessage

if TYPE_CHECKING:
    from chatsvc.services.services import Services


log = logging.getLogger(__name__)

IN_FLIGHT = 16  # requests of a queue at a time
AHEAD = 256  # messages that are read at a time
STOP_S = 45.0  # longer than any request to a platform
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 60.0


class PlatformSender(Protocol):
    def parts(self, text: str) -> list[str]: ...

    async def send(self, part: OutgoingPart) -> str:
        """Send a part; return the platform's id of it.

        Raises SendingRefused, RetryLater, NotConnected and SendingUncertain. Any other exception counts as SendingUncertain.
        """
        ...

    async def close(self) -> None: ...


@dataclass(eq=False)
class OutboxQueue:
    """Messages of one bot and channel. `held`: conversations that wait until a time of the loop; `paused_until` holds up all.

    `ahead` are messages that were read to be sent next, `conversations` those of messages under way. `failures` counts attempts in a
    row without a connection.
    """

    name: str
    sender: PlatformSender | None = None
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
        channel, _, bot_id = self.name.partition(" ")
        return channel, bot_id

    def wait_s(self, now: float) -> float | None:
        """Return the seconds until something that is held up may be sent. None where nothing is."""
        until = [*self.held.values()] + ([self.paused_until] if self.paused_until > now else [])
        return max(0.0, min(until) - now) if until else None


WriteOutcome = Callable[[], Awaitable[None]]


def sent_digest(bot_id: str, channel: str, platform_id: str) -> bytes:
    """Return the digest by which a sent message is found again. `platform_id` is what its sender returned."""
    return digest_of(bot_id, channel, f"sent {platform_id}")


class Outbox:
    """Sender of the messages that wait in the store."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._queues: dict[str, OutboxQueue] = {}
        self._senders: dict[str, tuple[OpenChannel, PlatformSender]] = {}
        # With earlier tokens; a request may still be in flight.
        self._retired: list[PlatformSender] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_started = False
        self.stopping = False

    async def start(self) -> None:
        """Settle what the end of a process interrupted, and send from then on what its queues are woken for."""
        await self.interrupt()
        self._services.events.observers.append(self._noticed)
        self._is_started = True

    async def interrupt(self) -> None:
        """Settle what the end of a process interrupted."""
        interrupted = await stored.interrupt(self._services.db)
        if interrupted:
            log.warning("%d messages were being sent when the service ended; their delivery is unknown", interrupted)

    def _noticed(self, conversation: ConversationKey) -> None:
        bot_id, channel, _ = conversation
        if channel in PLATFORMS:
            self.wake(f"{channel} {bot_id}")

    async def wake_all(self) -> None:
        """Let the queues in which something waits look for messages."""
        for name in await stored.waiting(self._services.db, self._services.clock()):
            self.wake(name)

    def wake(self, name: str) -> None:
        """Let a queue look for messages."""
        if self.stopping or not self._is_started:
            return
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = OutboxQueue(name)
            background.run("outbox queue", partial(self._run, queue), STORE_PAUSE_S, self._tasks, once=True)
        queue.changed.set()

    async def _run(self, queue: OutboxQueue) -> None:
        """Send until nothing waits. No await between the last look and the removal: a later wake starts anew."""
        loop = asyncio.get_running_loop()
        while not self.stopping:
            queue.changed.clear()
            found = await self._advance(queue, loop.time())
            wait_s = queue.wait_s(loop.time())
            if not queue.conversations and wait_s is None and not found and not queue.changed.is_set():
                break
            if not found:
                await background.wait(queue.changed, wait_s)
        self._queues.pop(queue.name, None)

    async def _advance(self, queue: OutboxQueue, now: float) -> bool:
        """Begin to send what may be sent now. Return whether to look again at once."""
        is_ready = await self._ready(queue)
        queue.held = {conversation: until for conversation, until in queue.held.items() if until > now}
        # While the platform cannot be reached, one message is enough to learn that it can be again.
        room = (1 if queue.failures else IN_FLIGHT) - len(queue.conversations)
        if queue.paused_until > now or not is_ready:
            # Read anew afterwards, when it may have changed.
            queue.ahead.clear()
        if room <= 0 or queue.paused_until > now or not is_ready:
            return False
        if not queue.ahead:
            queue.ahead.extend(await stored.upcoming(self._services.db, queue.name, AHEAD, {*queue.held, *queue.conversations}))
        began = False
        while queue.ahead and room > 0 and not self.stopping:
            message = queue.ahead.popleft()
            if message.conversation in queue.held or message.conversation in queue.conversations:
                continue
            room, began = room - 1, True
            queue.conversations.add(message.conversation)
            # Not repeated after a fault: nothing is sent twice.
            background.start("sending of a message", self._send(queue, message), self._tasks)
        return began

    async def _ready(self, queue: OutboxQueue) -> bool:
        """Find the sender of a queue. False where its channel sends nothing at the moment."""
        channel, bot_id = queue.place
        found = (await self._services.channels.of_bot(bot_id)).get(channel)
        if found is None:
            queue.forget_pauses()
            await stored.fail_all(self._services.db, queue.name, "channel_removed")
            return False
        if found.channel.state != ACTIVE or not found.secrets or channel not in self._services.platforms:
            return False
        queue.sender = self.sender_of(found)
        return True

    def sender_of(self, channel: OpenChannel) -> PlatformSender:
        """Return the sender of a channel. Another one where its secrets or settings were changed."""
        kind, name = channel.channel.channel, f"{channel.channel.channel} {channel.channel.bot_id}"
        made_of, sender = self._senders.get(name, (None, None))
        if sender is None or made_of is None or (made_of.secrets, made_of.channel.settings) != (channel.secrets, channel.channel.settings):
            if sender is not None:
                self._retired.append(sender)
                if name in self._queues:
                    self._queues[name].forget_pauses()
            sender = resolve_name(self._services.platforms[kind].sender)(self._services, channel)
            self._senders[name] = channel, sender
        return sender

    async def _send(self, queue: OutboxQueue, message: OutgoingMessage) -> None:
        try:
            if await self._is_marked(queue, message):
                await self._send_marked(queue, message)
        finally:
            queue.conversations.discard(message.conversation)
            queue.changed.set()

    async def _is_marked(self, queue: OutboxQueue, message: OutgoingMessage) -> bool:
        """Mark a message before its request is written. False where it is not sent now."""
        loop = asyncio.get_running_loop()
        if self.stopping or queue.paused_until > loop.time():
            return False
        try:
            return await stored.mark(self._services.db, message.number)
        except StoreUnavailable as fault:
            log.error("messages wait to be sent: %s", fault)
            queue.paused_until = max(queue.paused_until, loop.time() + STORE_PAUSE_S)
            return False

    async def _send_marked(self, queue: OutboxQueue, message: OutgoingMessage) -> None:
        outcome: WriteOutcome = partial(self._settle, message, "unknown", "internal_error")
        try:
            outcome = await self._attempt(queue, message)
        finally:
            try:
                await self._written(outcome)
            finally:
                self._services.events.notify((message.bot_id, message.channel, message.user_id))

    async def _written(self, outcome: WriteOutcome) -> None:
        await until_written(outcome, lambda: self.stopping, "sent messages")

    async def _attempt(self, queue: OutboxQueue, message: OutgoingMessage) -> WriteOutcome:
        """Send the remaining parts of a message. Return the function that writes the outcome."""
        if queue.sender is None:
            raise RuntimeError("a message was claimed without a sender")
        try:
            platform_id = await self._send_parts(queue.sender, message)
        except SendingRefused as refusal:
            log.warning("bot %s: %s refuses a message: %s", message.bot_id, message.channel, refusal)
            queue.failures = 0
            return partial(self._settle, message, "failed", refusal.code)
        except RetryLater as later:
            self._hold(queue, message, later)
            return self._put_back(message, later.code, queue.name if later.whole else None)
        except NotConnected as fault:
            log.warning("bot %s: %s cannot be reached: %s", message.bot_id, message.channel, fault)
            pause = min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2**queue.failures)
            queue.failures = min(queue.failures + 1, 10)
            queue.paused_until = asyncio.get_running_loop().time() + pause
            return self._put_back(message, "not_connected", queue.name)
        except SendingUncertain as fault:
            log.warning("bot %s: nobody knows whether %s has sent a message: %s", message.bot_id, message.channel, fault)
            return partial(self._settle, message, "unknown", fault.code)
        queue.failures = 0
        if platform_id is None:  # the service stops between two parts
            return self._put_back(message)
        return partial(self._settle, message, "sent", None, platform_id)

    async def _send_parts(self, sender: PlatformSender, message: OutgoingMessage) -> str | None:
        parts = sender.parts(message.text)
        platform_id = None
        for place, text in enumerate(parts[message.parts_sent :], start=message.parts_sent + 1):
            if self.stopping and place > message.parts_sent + 1:
                return None
            is_last = place == len(parts)
            choices = message.choices if is_last else ()
            part = OutgoingPart(message.id, message.conversation_id, message.user_id, text, choices, is_last)
            platform_id = await sender.send(part)
            if place < len(parts):
                await self._written(partial(stored.note_part, self._services.db, message.number, place))
        if platform_id is None:
            raise SendingRefused("empty")
        return platform_id

    def _hold(self, queue: OutboxQueue, message: OutgoingMessage, later: RetryLater) -> None:
        until = asyncio.get_running_loop().time() + later.seconds
        if later.whole:
            queue.paused_until = max(queue.paused_until, until)
        else:
            queue.held[message.conversation] = until

    def _put_back(self, message: OutgoingMessage, error: str | None = None, blocked: str | None = None) -> WriteOutcome:
        return partial(stored.put_back, self._services.db, message.number, self._services.clock(), error, blocked=blocked)

    def _settle(self, message: OutgoingMessage, delivery: str, error: str | None = None, platform_id: str | None = None) -> Awaitable[None]:
        digest = sent_digest(message.bot_id, message.channel, platform_id) if platform_id is not None else None
        return stored.settle(self._services.db, message.number, delivery, error, digest)

    async def close(self) -> None:
        """Finish requests in flight; start none."""
        self.stopping = True
        for queue in self._queues.values():
            queue.changed.set()
        # A queue that is claiming a message begins to send it after the first look at the tasks.
        loop = asyncio.get_running_loop()
        deadline = loop.time() + STOP_S
        while self._tasks and loop.time() < deadline:
            await asyncio.wait(set(self._tasks), timeout=deadline - loop.time())
        await background.cancel(*self._tasks)
        for sender in (*self._retired, *(sender for _, sender in self._senders.values())):
            await sender.close()
