"""Sender of one bot's messages on WhatsApp, which also marks messages as read. The store counts them for the monthly limit."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from chatsvc import background
from chatsvc.domain import rich_text, times
from chatsvc.domain.channels import PHONE, TOKEN_REFUSED
from chatsvc.domain.rich_text import split, without_choices
from chatsvc.domain.shapes import as_list, as_object
from chatsvc.outbound.posting import (
    NotConnected,
    PlatformPoster,
    RetryLater,
    SendingFault,
    SendingRefused,
    SendingUncertain,
    retry_after_s,
    words_of,
)
from chatsvc.platforms.whatsapp import NAME
from chatsvc.platforms.whatsapp.callbacks import CHOICE, MOST_TEXT, error_name
from chatsvc.services.accounts.channel_secrets import OpenChannel
from chatsvc.services.services import Services
from chatsvc.store import platforms
from chatsvc.store.database import StoreUnavailable
from chatsvc.store.outbox import OutgoingMessage

log = logging.getLogger(__name__)

TIMEOUT_S = 20.0
MOST_BYTES = 262_144
RECEIPTS = 16  # of a bot at a time
RECEIPT_S = 5.0
TYPING_AFTER_S = 0.7  # most replies of the knowledge come sooner
_RETRY_S = 1.0
_TOKEN_CODE = 190
# Codes that ask to wait: of the whole number or app, and of one conversation; with the seconds.
_WAIT_ALL = {130429: 2.0, 80007: 30.0, 4: 30.0}
_WAIT_ONE = {131056: 6.0}
_MOST_CODE = 10_000_000


class WhatsAppSender(PlatformPoster):
    """Sender for one phone number. It records in the channel whether its token is refused; see PlatformSender."""

    def __init__(self, services: Services, channel: OpenChannel) -> None:
        headers = {"Authorization": f"Bearer {channel.secrets['token']}"}
        super().__init__(services.egress, NAME, services.config.channels[NAME], MOST_BYTES, headers)
        self._services, self._channel = services, channel.channel
        self._slots = asyncio.Semaphore(RECEIPTS)
        self._receipts: set[asyncio.Task[None]] = set()
        limit = self._channel.settings.get("monthly_limit")
        self._is_refused = self._channel.fault is not None
        self._limit = limit if isinstance(limit, int) else None

    def parts(self, text: str) -> list[str]:
        return split(text, MOST_TEXT)

    async def send(self, part: OutgoingMessage) -> str:
        db, bot_id, month = self._services.db, self._channel.bot_id, times.month(self._services.clock())
        try:
            address = await platforms.address(db, (bot_id, NAME, part.user_id))
            if address is None:
                raise SendingRefused("visitor_unknown")
            if not await platforms.reserve_send(db, bot_id, month, self._limit):
                raise SendingRefused("monthly_limit")
        except StoreUnavailable:
            raise RetryLater("store_unavailable", _RETRY_S) from None
        message = {
            "recipient_type": "individual",
            "to" if address.kind == PHONE else "recipient": address.value,
            # The delivery statuses bear it; see callbacks.
            "biz_opaque_callback_data": f"{part.conversation_id} {part.id}{'' if part.is_last else ' part'}",
            **content(part.text, part.choices),
        }
        try:
            answer = await self._call(message, TIMEOUT_S)
        except (SendingRefused, RetryLater, NotConnected) as fault:
            try:
                await platforms.release_send(db, bot_id, month)
            except StoreUnavailable as outage:
                log.error("a message that was not sent stays counted: %s", outage)
            if isinstance(fault, SendingRefused) and fault.code == error_name(_TOKEN_CODE):
                await self._note_token(TOKEN_REFUSED)
            raise
        key = next((as_object(entry).get("id") for entry in as_list(answer.get("messages"))), None)
        if not isinstance(key, str) or not key:
            raise SendingUncertain("whatsapp_bad_answer")
        if self._is_refused:
            await self._note_token(None)
        return key

    async def _call(self, message: Mapping[str, object], timeout_s: float) -> Mapping[str, Any]:
        """Post a message or a read receipt to WhatsApp, and return the response.

        Raises SendingRefused (`whatsapp_CODE`), RetryLater, NotConnected if nothing was written, and otherwise SendingUncertain.
        """
        path = f"/{self._channel.identity or ''}/messages"
        status, answer = await self.post(path, {"messaging_product": "whatsapp", **message}, timeout_s)
        if status == HTTPStatus.OK and answer is not None and "error" not in answer:
            return answer
        error = as_object((answer or {}).get("error"))
        code = error.get("code")
        if not isinstance(code, int) or isinstance(code, bool) or not 0 < code < _MOST_CODE:
            code = 0
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise SendingUncertain(f"whatsapp_status_{status}")
        if code in _WAIT_ONE:
            raise RetryLater(error_name(code), _WAIT_ONE[code], whole=False)
        if code in _WAIT_ALL or status == HTTPStatus.TOO_MANY_REQUESTS:
            raise RetryLater(error_name(code) if code else "rate_limited", _WAIT_ALL.get(code, retry_after_s(None)))
        if status < HTTPStatus.BAD_REQUEST or answer is None:
            raise SendingUncertain(f"whatsapp_status_{status}")
        raise SendingRefused(error_name(code) if code else f"whatsapp_status_{status}", words_of(error.get("message")))

    async def _note_token(self, fault: str | None) -> None:
        self._is_refused = fault is not None
        try:
            await self._services.channels.note_fault(self._channel, fault)
        except StoreUnavailable as outage:
            log.error("the state of a channel's token is not stored: %s", outage)

    def receipt(self, key: str) -> Callable[[], None]:
        """Mark a visitor's message as read after a short wait. Return the function to call when the message has been answered."""
        answered = asyncio.Event()
        background.start("read receipt", self._mark_read(key, answered), self._receipts)
        return answered.set

    async def _mark_read(self, key: str, answered: asyncio.Event) -> None:
        """Mark a message as read, and show the bot as typing if `answered` is not set yet. A failure is not retried."""
        await background.wait(answered, TYPING_AFTER_S)
        try:
            async with asyncio.timeout(RECEIPT_S), self._slots:
                typing: dict[str, object] = {} if answered.is_set() else {"typing_indicator": {"type": "text"}}
                await self._call({"status": "read", "message_id": key, **typing}, RECEIPT_S)
        except (TimeoutError, SendingFault) as fault:
            log.info("bot %s: a message could not be marked as read: %s", self._channel.bot_id, str(fault) or "timeout")

    async def close(self) -> None:
        """Cancel the pending read receipts, then the calls in flight."""
        await background.cancel(*self._receipts)
        await super().close()


# Limits of questions with choices: up to 3 short ones as buttons, others as a list.
MOST_BUTTONS, MOST_ROWS = 3, 10
BUTTON_TITLE, ROW_TITLE, ROW_DESCRIPTION = 20, 24, 72
ROW_ID = 200
MOST_QUESTION = 1024
# The button that opens a list of choices.
_LABELS = {"tr": "Seçenekler", "en": "Choose"}


def content(text: str, choices: Sequence[str]) -> dict[str, object]:
    """Return the type and content of a message in WhatsApp's form. Choices become buttons, or a list if they are many or long.

    If a list cannot contain all choices, the message is plain text, because a list would hide the others.
    """
    offered = [choice for choice in dict.fromkeys(choices) if choice]
    fit = len(offered) <= MOST_ROWS and all(len(CHOICE + choice) <= ROW_ID for choice in offered)
    if not offered or not fit or len(text) > MOST_QUESTION:
        return {"type": "text", "text": {"preview_url": False, "body": formatted(text)}}
    if all(len(choice) <= ROW_DESCRIPTION for choice in offered):
        text = without_choices(text, choices)
    short = len(offered) <= MOST_BUTTONS and all(len(choice) <= BUTTON_TITLE for choice in offered)
    action: dict[str, object] = {
        "buttons": [{"type": "reply", "reply": {"id": CHOICE + choice, "title": choice}} for choice in offered],
    }
    if not short:
        action = _list(offered, text)
    return {
        "type": "interactive",
        "interactive": {"type": "button" if short else "list", "body": {"text": formatted(text)}, "action": action},
    }


def formatted(text: str) -> str:
    """Convert a text's formatting to WhatsApp's marks, such as `*`. No mark is put next to a letter: WhatsApp would show it."""
    spans = rich_text.spans(text)
    shown = ""
    for span, following in zip(spans, [*spans[1:], None], strict=True):
        words = span.text
        is_alone = words.strip() == words != "" and not shown[-1:].isalnum() and not (following and following.text[:1].isalnum())
        for mark, is_so in (("`", span.code), ("_", span.italic), ("*", span.bold)):
            if is_so and is_alone and mark not in span.text and "\n" not in words:
                words = f"{mark}{words}{mark}"
        shown += words + rich_text.address_behind(span)
    return shown if shown.strip() else text


def _list(choices: Sequence[str], text: str) -> dict[str, object]:
    """Return WhatsApp's list of choices, a row for each. If the shortened titles of the rows are not unique, the titles are numbered."""
    from chatsvc.language import language_detection

    titles = [_shortened(choice, ROW_TITLE) for choice in choices]
    if len(set(titles)) < len(titles):
        titles = [_shortened(f"{number}. {choice}", ROW_TITLE) for number, choice in enumerate(choices, start=1)]
    rows = [{"id": CHOICE + choice, "title": title} for choice, title in zip(choices, titles, strict=True)]
    for row, choice in zip(rows, choices, strict=True):
        if not row["title"].endswith(choice):  # what a title cannot hold stands in the description as a whole
            row["description"] = _shortened(choice, ROW_DESCRIPTION)
    return {"button": _LABELS.get(language_detection.guess(text) or "", _LABELS["en"]), "sections": [{"rows": rows}]}


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
