"""Team's group on Telegram. It is notified of waiting visitors, and answers that are written in it are sent to the visitors.

The checks of `chatsvc doctor` send nothing to the group and read no messages.
"""

import asyncio
import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from chatsvc import translations
from chatsvc.config import Config
from chatsvc.doctor import Finding
from chatsvc.domain.actors import Actor, Caller, Role, Scope
from chatsvc.domain.channels import TOKEN_ELSEWHERE, Platform
from chatsvc.domain.refusals import Refused
from chatsvc.domain.shapes import as_object
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.posting import NotConnected, RetryLater, SendingFault, SendingRefused, SendingUncertain
from chatsvc.platforms.telegram import NAME
from chatsvc.platforms.telegram.client import TelegramClient, message_name
from chatsvc.platforms.telegram.update_loop import UpdateLoop
from chatsvc.platforms.telegram.updates import ReadMessage
from chatsvc.services.administration import perform
from chatsvc.services.services import Services
from chatsvc.store import facts, handling
from chatsvc.store.examination import Examined
from chatsvc.store.handling import TeamNotice

log = logging.getLogger(__name__)

TELL_EVERY_S = 2.0
# Telegram takes 20 messages a minute for a group.
SINGLY, PAUSE_S = 3, 10.0
_LONGEST_PAUSE_S = 60.0
# Limits of one message, which has at most 4,096 characters: its visitors, and the characters of their words and of a bot's name.
MOST_VISITORS = 10
_MOST_SAID, _MOST_SAID_OF_SEVERAL, _MOST_NAME = 500, 100, 60


class TeamGroup:
    """The team's group, set in `notices.telegram`. After a crash a notice may be repeated, because a lost notice would be worse."""

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
        """Process a message if it is from the team's group. Return False if it belongs to another chat."""
        if message.chat not in (self._chat, self.client.moved.get(self._chat)):
            return False
        if message.moved_to is not None:
            self.client.moved[self._chat] = message.moved_to
        if message.reply_to is not None:
            async with self._told:
                refusal = await self._answer(message, message.reply_to)
            if refusal is not None:
                try:
                    await self.client.call("sendMessage", {"chat_id": self._chat, "text": refusal})
                except SendingFault as fault:
                    log.warning("notices.telegram: the group cannot be told: %s", fault)
        return True

    async def _answer(self, message: ReadMessage, reply_to: int) -> str | None:
        """Send a team member's answer to the visitor, and take over the conversation from the bot. Return a refusal as text, or None."""
        visitors = await handling.of_notice(self._services.db, _digest(message_name(message.chat, reply_to)))
        if not visitors:
            return None
        account_id, conversation, language = visitors[0]
        if len(visitors) > 1:
            return _text(language, "refused_several")
        if message.kind is not None or not message.text:
            return _text(language, "refused_no_text")
        caller = Caller(Actor("user", f"{NAME} {message.person}", message.speaker), Scope({account_id: Role.EDITOR}), NAME)
        key = _digest(f"answer {self._chat} {message.update_id}")
        try:
            await perform(self._services, caller, "conversation.reply", {"conversation": conversation, "text": message.text, "key": key})
        except handling.AlreadyWritten:
            return None
        except Refused as refusal:
            known = f"refused_{refusal.code}"
            return _text(language, known if translations.has(f"team_notices.{known}") else "refused")
        return None

    async def tell(self) -> None:
        """Notify the group of waiting visitors, then pause. If there are more than a few, one message names all of them."""
        waiting = await handling.untold(self._services.db, MOST_VISITORS)
        for notices in [[notice] for notice in waiting] if len(waiting) <= SINGLY else [waiting]:
            pause_s = await self._tell(notices)
            if pause_s is not None:
                await asyncio.sleep(pause_s)
                return  # somebody else may wait by then
        if waiting:
            await asyncio.sleep(PAUSE_S)

    async def _tell(self, notices: Sequence[TeamNotice]) -> float | None:
        """Notify the group of these visitors in one message. If Telegram did not accept it, return the seconds to wait, else None."""
        async with self._told:
            try:
                message = await self._send(*worded(notices, self._services.platforms, self._services.config.server.public_url))
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
            await handling.note_told(self._services.db, notices, _digest(message) if message is not None else None)
            return None

    async def _send(self, text: str, buttons: Sequence[tuple[str, str]]) -> str | None:
        """Send a notice with its buttons, and return the message's unique name. Return None if Telegram's answer has no message id."""
        keyboard = {"inline_keyboard": [[{"text": label, "url": url}] for label, url in buttons]}
        try:
            result = await self.client.call("sendMessage", {"chat_id": self._chat, "text": text, "reply_markup": keyboard})
        except SendingRefused as refusal:
            if refusal.code != "telegram_400":
                raise
            # Telegram takes no address of a private network behind a button.
            addresses = "\n".join(url for _, url in buttons)
            result = await self.client.call("sendMessage", {"chat_id": self._chat, "text": f"{text}\n\n{addresses}"})
        number = as_object(result).get("message_id")
        return message_name(self.client.moved.get(self._chat, self._chat), number) if isinstance(number, int) else None


def worded(notices: Sequence[TeamNotice], platforms: Mapping[str, Platform], public_url: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the text of a notice about one or more visitors, and its buttons with URLs. The text is in the language of the first bot."""
    text = partial(_text, notices[0].language)
    lines, buttons = [], list[tuple[str, str]]()
    for number, notice in enumerate(notices, start=1):
        channel = platforms[notice.channel].label if notice.channel in platforms else notice.channel
        url = f"{public_url.rstrip('/')}/conversations/{notice.conversation_id}?account={notice.account_id}"
        if len(notices) == 1:
            words = _shortened(notice.words, _MOST_SAID)
            return text("waiting").format(bot=notice.bot, channel=channel, said=words), [(text("open"), url)]
        name = f"{number}. {_shortened(notice.bot, _MOST_NAME)}"
        lines.append(f"{name} ({channel}): “{_shortened(' '.join(notice.words.split()), _MOST_SAID_OF_SEVERAL)}”")
        buttons.append((name, url))
    return "\n".join([text("several_begin").format(count=len(notices)), "", *lines, "", text("several_end")]), buttons


def _text(language: str | None, key: str) -> str:
    return translations.template("tr" if language == "tr" else "en", f"team_notices.{key}")


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _digest(message: str) -> bytes:
    return hashlib.sha256(f"team\n{message}".encode()).digest()


LIMIT_S = 5.0  # for each call


def examine(config: Config, examined: Examined | None, egress: Egress | None) -> Iterator[Finding]:
    """Check the group's bot and the group at Telegram, and report faults that the running service noted. No message is polled."""
    settings = config.notices.team
    if settings is None:
        return
    if egress is not None:
        if settings.token is None:
            yield Finding.fault("notices", "team_without_token")
        else:
            client = TelegramClient(egress, config.channels[NAME], settings.token.reveal())
            yield asyncio.run(_asked(client, settings.chat_id))
    if examined is not None and examined.team_fault == TOKEN_ELSEWHERE:
        yield Finding.fault("notices", "notices_token_elsewhere")


async def _asked(client: TelegramClient, chat: int) -> Finding:
    try:
        try:
            await client.call("getMe", {}, LIMIT_S)
        except SendingRefused as refusal:
            return Finding.fault("notices", "team_token_refused", answer=str(refusal))
        try:
            await client.call("getChat", {"chat_id": chat}, LIMIT_S)
        except SendingRefused as refusal:
            return Finding.fault("notices", "team_chat_refused", chat=chat, answer=str(refusal))
    except (NotConnected, RetryLater, SendingUncertain) as fault:
        return Finding.fault("notices", "team_unreachable", reason=str(fault))
    finally:
        await client.close()
    return Finding.ok("notices", "team_good")
