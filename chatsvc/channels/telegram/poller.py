"""Long polling of one bot: updates are stored, then confirmed by the offset of the next call, then answered.

An update that is not stored is not confirmed, so it comes again; one that comes again is recognised by its id, which is stored in the
transaction of its message.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from chatsvc import background
from chatsvc.channels.telegram import updates
from chatsvc.channels.telegram.updates import Myself, ReadMessage
from chatsvc.domain.channels import TELEGRAM, TOKEN_ELSEWHERE, TOKEN_REFUSED
from chatsvc.domain.hand_off import BOT
from chatsvc.outbound.sending import NotConnected, RetryLater, SendingRefused, SendingUncertain
from chatsvc.outbound.telegram import TelegramClient
from chatsvc.store.database import StoreUnavailable
from chatsvc.usecases import channel_messages, channel_states
from chatsvc.usecases.channel_messages import ArrivedMessage
from chatsvc.usecases.channel_secrets import OpenChannel
from chatsvc.usecases.services import Services

log = logging.getLogger(__name__)

POLL_S = 25
ANSWER_S = 15.0  # beyond the time for which Telegram waits
OF_A_CALL = 100
SEEN_EVERY_MS = 60_000
TYPING_EVERY_S = 4.5  # it is shown for 5
TYPING_AFTER_S = 0.7  # most replies of the knowledge come sooner
_REFUSED_PAUSE_S = 60.0
_ELSEWHERE_PAUSE_S = 15.0
_STORE_PAUSE_S = 2.0
_LONGEST_PAUSE_S = 30.0
_UNAUTHORIZED, _CONFLICT = ("telegram_401", "telegram_404"), "telegram_409"


class TelegramPoller:
    """Poller of one bot's token. `elsewhere` gets messages of a group that is the team's and returns whether it took one."""

    def __init__(
        self,
        services: Services,
        channel: OpenChannel,
        client: TelegramClient,
        elsewhere: Callable[[ReadMessage], Awaitable[bool]] | None = None,
    ) -> None:
        self._services, self._channel, self._client, self._elsewhere = services, channel, client, elsewhere
        self._me: Myself | None = None
        self._offset = 0
        self._seen_at = 0
        self._fault: str | None = channel.channel.fault
        self._failures = 0

    async def run(self) -> None:
        """Ask for updates until the task is cancelled."""
        while True:
            pause_s = await self._once()
            if pause_s:
                await asyncio.sleep(pause_s)

    async def _once(self) -> float:
        """Ask once; return the seconds to wait before the next call."""
        try:
            await self._poll()
        except RetryLater as later:
            return later.seconds
        except SendingRefused as refusal:
            return await self._refused(refusal)
        except (NotConnected, SendingUncertain) as fault:
            self._failures = min(self._failures + 1, 10)
            if self._failures == 1:
                log.warning("bot %s: Telegram cannot be asked for messages: %s", self._channel.channel.bot_id, fault)
            return min(_LONGEST_PAUSE_S, 2.0 ** (self._failures - 1))
        except StoreUnavailable as fault:
            log.error("bot %s: messages of Telegram wait: %s", self._channel.channel.bot_id, fault)
            return _STORE_PAUSE_S
        self._failures = 0
        return 0.0

    async def _poll(self) -> None:
        if self._me is None:
            self._me = _myself(await self._client.call("getMe", {}))
            # A webhook set elsewhere excludes polling. What it has not delivered is kept.
            await self._client.call("deleteWebhook", {"drop_pending_updates": False})
        # A fault that has passed shows at the first answer.
        patience = POLL_S if self._fault is None else 1
        asked: dict[str, object] = {"timeout": patience, "limit": OF_A_CALL, "allowed_updates": list(updates.WANTED)}
        if self._offset:
            asked["offset"] = self._offset
        found = await self._client.call("getUpdates", asked, POLL_S + ANSWER_S)
        await self._note_fault(None)
        await self._take([update for update in found if isinstance(update, dict)] if isinstance(found, list) else [])

    async def _refused(self, refusal: SendingRefused) -> float:
        if refusal.code in _UNAUTHORIZED:
            await self._note_fault(TOKEN_REFUSED)
            return _REFUSED_PAUSE_S
        if refusal.code == _CONFLICT:
            # Either another program polls, or a webhook was set: the next round removes that.
            self._me = None
            if "webhook" in str(refusal):
                return 1.0
            await self._note_fault(TOKEN_ELSEWHERE)
            return _ELSEWHERE_PAUSE_S
        log.error("bot %s: Telegram refuses to tell messages: %s", self._channel.channel.bot_id, refusal)
        return _LONGEST_PAUSE_S

    async def _note_fault(self, fault: str | None) -> None:
        if fault != self._fault:
            if fault is not None:
                log.error("bot %s: Telegram cannot be asked for messages: %s", self._channel.channel.bot_id, fault)
            await channel_states.note_fault(self._services, self._channel.channel, fault)
            self._fault = fault

    async def _take(self, found: Sequence[Mapping[str, Any]]) -> None:
        """Store the messages of updates in their order, confirm them all, and begin the answers."""
        ordered = sorted(found, key=lambda update: updates.update_id_of(update) or 0)
        if not ordered or self._me is None:
            return
        messages = [message for update in ordered if (message := updates.read(update, self._me)) is not None]
        taken = [message for message in messages if self._elsewhere is None or not await self._elsewhere(message)]
        stored = await asyncio.gather(*(channel_messages.receive(self._services, self._arrived(message)) for message in taken))
        await self._note_seen()
        # Repeated ones may be older than what was confirmed before.
        self._offset = max(self._offset, (updates.update_id_of(ordered[-1]) or 0) + 1)
        for message, kept in zip(taken, stored, strict=True):
            if message.query_id is not None:
                background.start("answer to a button", self._quietly("answerCallbackQuery", {"callback_query_id": message.query_id}))
            if kept is not None:
                is_awaited = kept.is_new and kept.handling in (None, BOT)
                typing = background.start("typing mark", self._type(message.chat)) if is_awaited else None
                self._services.answers.begin(self._channel.account_id, kept, typing.cancel if typing else None)

    def _arrived(self, message: ReadMessage) -> ArrivedMessage:
        now, channel = self._services.clock(), self._channel.channel
        return ArrivedMessage(
            self._channel.account_id,
            channel.bot_id,
            TELEGRAM,
            str(message.chat),
            message.text,
            f"{channel.identity} {message.update_id}",
            min(message.at or now, now),
            kind=message.kind,
        )

    async def _note_seen(self) -> None:
        now = self._services.clock()
        if now - self._seen_at >= SEEN_EVERY_MS:
            self._seen_at = now
            await channel_states.note_seen(self._services, self._channel.channel)

    async def _type(self, chat: int) -> None:
        """Show that a reply is being written, until the task is cancelled."""
        await asyncio.sleep(TYPING_AFTER_S)
        while await self._quietly("sendChatAction", {"chat_id": chat, "action": "typing"}):  # noqa: ASYNC110  # a call, no condition
            await asyncio.sleep(TYPING_EVERY_S)

    async def _quietly(self, method: str, parameters: Mapping[str, object]) -> bool:
        """Call a method whose failure changes nothing."""
        try:
            await self._client.call(method, parameters)
        except (SendingRefused, RetryLater, NotConnected, SendingUncertain):
            return False
        return True


def _myself(told: object) -> Myself:
    """Read the answer to getMe."""
    me = told if isinstance(told, dict) else {}
    identity, username = me.get("id"), me.get("username")
    if not isinstance(identity, int) or not isinstance(username, str) or not username:
        raise SendingUncertain("telegram_bad_answer")
    return Myself(identity, username)
