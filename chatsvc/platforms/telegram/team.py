"""Team's group at Telegram. The group is notified of waiting visitors, and answers in the group are sent to the visitors."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

from chatsvc.domain.shapes import as_object
from chatsvc.outbound.posting import NotConnected, RetryLater, SendingFault, SendingRefused, SendingUncertain
from chatsvc.platforms.telegram import NAME
from chatsvc.platforms.telegram.client import TelegramClient, message_name
from chatsvc.platforms.telegram.update_loop import UpdateLoop
from chatsvc.platforms.telegram.updates import ReadMessage
from chatsvc.services.conversations import team_notices
from chatsvc.services.conversations.team_notices import TeamAnswer, WaitingVisitor, WordedNotice
from chatsvc.services.services import Services
from chatsvc.store import facts

log = logging.getLogger(__name__)

TELL_EVERY_S = 2.0
# Telegram takes 20 messages a minute for a group.
SINGLY, PAUSE_S = 3, 10.0
_LONGEST_PAUSE_S = 60.0


class TeamGroup:
    """The group of `notices.telegram`. A lost notice would leave a visitor alone, so after a crash one may come twice."""

    def __init__(self, services: Services, token: str, chat: int) -> None:
        self._services, self._chat, self.token = services, chat, token
        self.client = TelegramClient(services.egress, services.config.channels[NAME], self.token)
        # An answer may come before it is written of which notice its message is.
        self._told = asyncio.Lock()
        self._failures = 0
        note_fault = partial(facts.put, services.db, facts.TEAM_FAULT)  # for doctor: no channel is concerned
        # A fault that an earlier process has noted shows at the first answer to be over.
        self.poll = UpdateLoop(self.client, "notices.telegram", self._take_all, note_fault, "").run

    async def _take_all(self, messages: Sequence[ReadMessage]) -> None:
        for message in messages:
            await self.take(message)

    async def take(self, message: ReadMessage) -> bool:
        """Process a message of the group. Return False if the message belongs to another chat."""
        if message.chat not in (self._chat, self.client.moved.get(self._chat)):
            return False
        if message.moved_to is not None:
            self.client.moved[self._chat] = message.moved_to
        if message.reply_to is not None:
            notice, key = message_name(message.chat, message.reply_to), f"answer {self._chat} {message.update_id}"
            text = message.text if message.kind is None else ""
            given = TeamAnswer(notice, key, text, NAME, message.person, message.speaker)
            async with self._told:
                refusal = await team_notices.answer(self._services, given)
            if refusal is not None:
                try:
                    await self.client.call("sendMessage", {"chat_id": self._chat, "text": refusal})
                except SendingFault as fault:
                    log.warning("notices.telegram: the group cannot be told: %s", fault)
        return True

    async def tell(self) -> None:
        """Tell the group of those who wait, of more than a few in one message. Then others may gather for the next."""
        waiting = await team_notices.due(self._services)
        for notices in [[visitor] for visitor in waiting] if len(waiting) <= SINGLY else [waiting]:
            pause_s = await self._tell(notices)
            if pause_s is not None:
                await asyncio.sleep(pause_s)
                return  # somebody else may wait by then
        if waiting:
            await asyncio.sleep(PAUSE_S)

    async def _tell(self, notices: Sequence[WaitingVisitor]) -> float | None:
        """Notify the group of visitors by one message. Return the seconds to wait if Telegram did not accept the message."""
        async with self._told:
            try:
                message = await self._send(team_notices.worded(notices, self._services.platforms))
            except RetryLater as later:
                log.warning("notices.telegram: a notice waits: %s", later)
                return later.seconds
            except NotConnected as fault:
                log.warning("notices.telegram: a notice waits: %s", fault)
                self._failures = min(self._failures + 1, 10)
                return min(_LONGEST_PAUSE_S, 2.0**self._failures)
            except SendingRefused as refusal:
                # Nobody was told: the visitor may still wait when the bot is in the group again.
                log.error("notices.telegram: a notice waits, since the group was not told: %s", refusal)
                return _LONGEST_PAUSE_S
            except SendingUncertain as fault:
                log.error("notices.telegram: nobody knows whether the group was told: %s", fault)
                message = None
            self._failures = 0
            await team_notices.note(self._services, notices, message)
            return None

    async def _send(self, worded: WordedNotice) -> str | None:
        """Send a notice with its buttons, and return the name of the message."""
        buttons = {"inline_keyboard": [[{"text": text, "url": url}] for text, url in worded.buttons]}
        try:
            result = await self.client.call("sendMessage", {"chat_id": self._chat, "text": worded.text, "reply_markup": buttons})
        except SendingRefused as refusal:
            if refusal.code != "telegram_400":
                raise
            # Telegram takes no address of a private network behind a button.
            addresses = "\n".join(url for _, url in worded.buttons)
            result = await self.client.call("sendMessage", {"chat_id": self._chat, "text": f"{worded.text}\n\n{addresses}"})
        number = as_object(result).get("message_id")
        return message_name(self.client.moved.get(self._chat, self._chat), number) if isinstance(number, int) else None
