"""Client of Telegram's Bot API, which also sends a bot's messages. The URL contains the token, so no exception's text contains a URL."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from chatsvc.domain import rich_text
from chatsvc.domain.rich_text import split, without_choices
from chatsvc.domain.shapes import as_object
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.posting import PlatformPoster, RetryLater, SendingRefused, SendingUncertain, retry_after_s, words_of
from chatsvc.platforms.telegram import NAME
from chatsvc.services.accounts.channel_secrets import OpenChannel
from chatsvc.services.services import Services
from chatsvc.store.outbox import OutgoingMessage

TIMEOUT_S = 20.0
MOST_BYTES = 4_194_304
MOST_UNITS = 4096
MOST_ENTITIES = 100  # of a message; further ones are ignored
# A keyboard beyond these is refused with its message.
MOST_BUTTONS, MOST_KEYBOARD_BYTES = 100, 10_000


class TelegramClient(PlatformPoster):
    """Client of Telegram's Bot API for one bot, which also sends its messages; see PlatformSender."""

    def __init__(self, egress: Egress, api_url: str, token: str) -> None:
        super().__init__(egress, NAME, api_url, MOST_BYTES)
        self._path = f"/bot{token}/"
        self.moved: dict[int, int] = {}  # groups that have become supergroups, with their new ids

    async def call(self, method: str, parameters: Mapping[str, object], timeout_s: float = TIMEOUT_S) -> Any:
        """Call a method of the Bot API and return its result. If the group has become a supergroup, call the method for the supergroup.

        Raises SendingRefused (`telegram_STATUS`), RetryLater, NotConnected if nothing was written, and otherwise SendingUncertain.
        """
        chat = parameters.get("chat_id")
        followed = {**parameters, "chat_id": self.moved[chat]} if isinstance(chat, int) and chat in self.moved else parameters
        status, answer = await self.post(self._path + method, followed, timeout_s)
        advice = as_object(as_object(answer).get("parameters"))
        moved_to = advice.get("migrate_to_chat_id")
        if isinstance(chat, int) and isinstance(moved_to, int) and self.moved.get(chat) != moved_to:
            self.moved[chat] = moved_to
            return await self.call(method, {**parameters, "chat_id": moved_to}, timeout_s)
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            raise RetryLater("rate_limited", retry_after_s(advice.get("retry_after")))
        if status == HTTPStatus.OK and answer is not None and answer.get("ok") is True:
            return answer.get("result")
        if answer is None or not HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR:
            raise SendingUncertain(f"telegram_{status}")
        raise SendingRefused(f"telegram_{status}", words_of(answer.get("description")))

    def parts(self, text: str) -> list[str]:
        return split(text, MOST_UNITS, utf16_units)

    async def send(self, part: OutgoingMessage) -> str:
        rows = keyboard(part.choices)
        parameters = {**destination(part.user_id), **formatted(without_choices(part.text, part.choices) if rows else part.text)}
        if rows:
            parameters["reply_markup"] = {"inline_keyboard": rows}
        message_id = as_object(await self.call("sendMessage", parameters)).get("message_id")
        if not isinstance(message_id, int):
            raise SendingUncertain("telegram_bad_answer")
        return message_name(part.user_id.partition("/")[0], message_id)


def sender(services: Services, channel: OpenChannel) -> TelegramClient:
    return TelegramClient(services.egress, services.config.channels[NAME], channel.secrets["token"])


def destination(user_id: str) -> dict[str, object]:
    """Return the parameters that tell Telegram where to send: the chat and its topic, if any. `user_id` is ReadMessage.user_id."""
    chat, _, topic = user_id.partition("/")
    return {"chat_id": int(chat), "message_thread_id": int(topic)} if topic else {"chat_id": int(chat)}


def message_name(chat: object, message_id: int) -> str:
    """Return a unique name for a message: its chat and its id. The id alone is unique only within a chat."""
    return f"{chat} {message_id}"


def utf16_units(text: str) -> int:
    """Return the length of a text in UTF-16 code units, in which Telegram counts."""
    return len(text) + sum(character > "\uffff" for character in text)


def formatted(text: str) -> dict[str, object]:
    """Return the parameters that send a text. Its formatting, such as bold, becomes entities with positions in UTF-16 code units."""
    shown, entities, offset = "", list[dict[str, object]](), 0
    for span in rich_text.spans(text):
        is_link = span.link.startswith("http") and span.link != span.text
        words = span.text if is_link else span.text + rich_text.address_behind(span)
        position = {"offset": offset, "length": utf16_units(span.text)}
        kinds = ("bold", span.bold), ("italic", span.italic), ("code", span.code)
        entities += [{"type": kind, **position} for kind, is_so in kinds if is_so]
        if is_link:
            entities.append({"type": "text_link", **position, "url": span.link})
        shown, offset = shown + words, offset + utf16_units(words)
    if not shown.strip():
        return {"text": text}
    return {"text": shown, "entities": entities[:MOST_ENTITIES]} if entities else {"text": shown}


def keyboard(choices: tuple[str, ...]) -> list[list[dict[str, str]]]:
    """Make a keyboard with one choice on each line. Return an empty list if a keyboard cannot contain all choices."""
    rows = [[{"text": choice, "callback_data": str(index)}] for index, choice in enumerate(choices)]
    # Measured with escapes, which is the longest form.
    return rows if len(rows) <= MOST_BUTTONS and len(json.dumps(rows)) < MOST_KEYBOARD_BYTES else []
