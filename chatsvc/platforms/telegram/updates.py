"""Parser of Telegram's updates, without any input or output.

An update is either a message to the bot or ignored, as are edits, reactions, service messages, and messages in a group that are not for the
bot. Everything in an update comes from strangers and may have any form.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from chatsvc.domain.channels import START
from chatsvc.domain.shapes import as_list, as_object

# Updates that Telegram is asked for.
WANTED = ("message", "callback_query")
# Contents that are no text, by the field that holds them. An animation has a document beside it.
_KINDS = (
    *("animation", "photo", "video_note", "video", "voice", "audio", "document", "sticker", "venue"),
    *("location", "contact", "poll", "dice", "story", "game", "paid_media", "checklist"),
)
_GROUPS = frozenset({"group", "supergroup"})
_COMMAND = re.compile(r"/([A-Za-z0-9_]{1,32})(?:@([A-Za-z0-9_]{1,64}))?(?=\s|$)")
_BLANKS = re.compile(r"[ \t]{2,}")
MOST_TEXT = 4096


class Myself(NamedTuple):
    """The bot's own account at Telegram: its id, and the name by which messages mention it."""

    id: int
    username: str


class ReadMessage(NamedTuple):
    """A visitor's message. `sent_at` is Telegram's time in milliseconds, or None for a pressed button, whose id is `query_id`.

    `text` is "" for a button whose message was deleted: the press is only acknowledged. `reply_to` is the id of the message that this
    one answers. `speaker` and `person` are the name and the id of the author. `topic` is the group's topic in which it was written.
    `moved_to` is the id of the supergroup that the chat has become; such a message has no text.
    """

    update_id: int
    chat: int
    text: str
    kind: str | None
    sent_at: int | None
    query_id: str | None = None
    reply_to: int | None = None
    speaker: str = ""
    person: int | None = None
    topic: int | None = None
    moved_to: int | None = None

    @property
    def user_id(self) -> str:
        """The visitor id of the conversation: the id of the chat, and of its topic if there is one."""
        return str(self.chat) if self.topic is None else f"{self.chat}/{self.topic}"


def update_id_of(update: object) -> int | None:
    """Return the id of an update, or None if the value is not an update."""
    number = update.get("update_id") if isinstance(update, dict) else None
    return number if isinstance(number, int) and not isinstance(number, bool) else None


def read(update: Mapping[str, Any], me: Myself) -> ReadMessage | None:
    """Parse an update from Telegram. Return None if the update is to be ignored."""
    number = update_id_of(update)
    if number is None:
        return None
    query = update.get("callback_query")
    if isinstance(query, dict):
        return _button(number, query)
    message = update.get("message")
    return _message(number, message, me) if isinstance(message, dict) else None


def _button(number: int, query: Mapping[str, Any]) -> ReadMessage | None:
    """Parse the press of a button into a message. The text is the label of the button with the same data."""
    message, data, query_id = as_object(query.get("message")), query.get("data"), query.get("id")
    if not isinstance(query_id, str):
        return None
    chat, keyboard = _chat(message), as_object(message.get("reply_markup")).get("inline_keyboard")
    buttons = [as_object(button) for row in as_list(keyboard) for button in as_list(row)]
    texts = [_clean(button.get("text")) for button in buttons if isinstance(data, str) and button.get("callback_data") == data]
    text = texts[0] if texts and chat is not None else ""
    return ReadMessage(number, chat or 0, text, None, None, query_id, None, *_person(query.get("from")), _topic(message))


def _message(number: int, message: Mapping[str, Any], me: Myself) -> ReadMessage | None:
    chat, chat_type = _chat(message), as_object(message.get("chat")).get("type")
    moved_to = message.get("migrate_to_chat_id")
    if chat is not None and isinstance(moved_to, int) and not isinstance(moved_to, bool):
        return ReadMessage(number, chat, "", None, None, moved_to=moved_to)
    sender = as_object(message.get("from"))
    group = as_object(message.get("sender_chat"))
    if group and group.get("id") == chat:
        # An administrator of the group who writes in its name, for which Telegram shows a bot of its own.
        sender = {"id": sender.get("id"), "first_name": message.get("author_signature") or group.get("title")}
    if chat is None or sender.get("is_bot") is True or chat_type not in ("private", *_GROUPS):
        return None
    text = _clean(message.get("text")) or _clean(message.get("caption"))
    if chat_type in _GROUPS:
        if not _is_addressed(message, text, me):
            return None
        # The bot's name goes, except behind a command.
        name = re.compile(rf"(?<![A-Za-z0-9_@/])@{re.escape(me.username)}(?![A-Za-z0-9_])[,:]?", re.IGNORECASE)
        text = _BLANKS.sub(" ", name.sub("", text)).strip()
    kind = None if text else next((kind for kind in _KINDS if message.get(kind)), None)
    command = _COMMAND.match(text)
    if command and command[2] and command[2].lower() == me.username.lower():
        text = f"/{command[1]}{text[command.end() :]}"
    if command and command[1] == "start":
        text, kind = "/start", START
    if not text:
        if kind is None:
            return None
        text = f"[{kind}]"
    seconds, reply_to = message.get("date"), as_object(message.get("reply_to_message")).get("message_id")
    return ReadMessage(
        number,
        chat,
        text[:MOST_TEXT],
        kind,
        seconds * 1000 if isinstance(seconds, int) and 0 < seconds < 1 << 40 else None,
        None,
        reply_to if isinstance(reply_to, int) else None,
        *_person(sender),
        _topic(message),
    )


def _chat(message: Mapping[str, Any]) -> int | None:
    chat = as_object(message.get("chat")).get("id")
    return chat if isinstance(chat, int) and not isinstance(chat, bool) else None


def _topic(message: Mapping[str, Any]) -> int | None:
    topic = message.get("message_thread_id")
    # A group without topics gives the messages that answer one another such an id too.
    return topic if message.get("is_topic_message") is True and isinstance(topic, int) else None


def _person(sender: object) -> tuple[str, int | None]:
    names, number = [_clean(as_object(sender).get(name)) for name in ("first_name", "last_name")], as_object(sender).get("id")
    return " ".join(name for name in names if name)[:200], number if isinstance(number, int) else None


def _clean(text: object) -> str:
    return text.encode("utf-8", "replace").decode().replace("\0", "").strip() if isinstance(text, str) else ""


def _is_addressed(message: Mapping[str, Any], text: str, me: Myself) -> bool:
    """Return whether a message in a group is for the bot. It is if it mentions the bot, answers the bot, or is a command with its name."""
    answered = as_object(message.get("reply_to_message"))
    if as_object(answered.get("from")).get("id") == me.id:
        return True
    name = rf"(?<![A-Za-z0-9_@])(?:/[A-Za-z0-9_]{{1,32}})?@{re.escape(me.username)}(?![A-Za-z0-9_])"
    if re.search(name, text, re.IGNORECASE):
        return True
    return any(
        as_object(entity).get("type") == "text_mention" and as_object(as_object(entity).get("user")).get("id") == me.id
        for name in ("entities", "caption_entities")
        for entity in as_list(message.get(name))
    )
