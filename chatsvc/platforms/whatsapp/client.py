"""Client of WhatsApp's Graph interface. It makes buttons or lists of choices."""

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from chatsvc.domain import rich_text
from chatsvc.domain.channels import PHONE, PlatformAddress
from chatsvc.domain.outgoing import OutgoingPart, without_choices
from chatsvc.domain.shapes import as_list, as_object
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.posting import PlatformAnswer, PlatformPoster, RetryLater, SendingRefused, SendingUncertain, retry_after_s, words_of
from chatsvc.platforms.whatsapp.callbacks import CHOICE, error_name, sent_name

TIMEOUT_S = 20.0
MOST_BYTES = 262_144
# Limits of questions with choices: up to 3 short ones as buttons, others as a list.
MOST_BUTTONS, MOST_ROWS = 3, 10
BUTTON_TITLE, ROW_TITLE, ROW_DESCRIPTION = 20, 24, 72
ROW_ID = 200
MOST_QUESTION = 1024
TOKEN_CODE = 190
# Codes that ask to wait: of the whole number or app, and of one conversation; with the seconds.
_WAIT_ALL = {130429: 2.0, 80007: 30.0, 4: 30.0}
_WAIT_ONE = {131056: 6.0}
_MOST_CODE = 10_000_000


class WhatsAppClient:
    """Calls for one phone number."""

    def __init__(self, egress: Egress, graph_url: str, phone_number_id: str, token: str) -> None:
        self._path = f"/{phone_number_id}/messages"
        self._poster = PlatformPoster(egress, "whatsapp", graph_url.rstrip("/"), MOST_BYTES, {"Authorization": f"Bearer {token}"})

    async def post(self, message: Mapping[str, object], timeout_s: float = TIMEOUT_S) -> Mapping[str, Any]:
        """Post a message or a receipt; return the answer.

        Raises SendingRefused (`whatsapp_CODE`), RetryLater, NotConnected where nothing was written, and SendingUncertain else.
        """
        return _judged(await self._poster.post(self._path, {"messaging_product": "whatsapp", **message}, timeout_s))

    async def send(self, part: OutgoingPart, address: PlatformAddress, label: Callable[[str], str]) -> str:
        """Send a part to an address; return the platform's id of it. `label` names the button that opens a list; raises as `post`."""
        answer = await self.post(
            {
                "recipient_type": "individual",
                "to" if address.kind == PHONE else "recipient": address.value,
                "biz_opaque_callback_data": sent_name(part.conversation_id, part.message_id, is_last=part.is_last),
                **content(part.text, part.choices, label),
            }
        )
        key = next((as_object(one).get("id") for one in as_list(answer.get("messages"))), None)
        if not isinstance(key, str) or not key:
            raise SendingUncertain("whatsapp_bad_answer")
        return key

    async def mark_read(self, key: str, timeout_s: float, *, typing: bool) -> None:
        """Mark a message as read. With `typing` the same call shows that a reply is being typed; raises as `post`."""
        shown: dict[str, object] = {"typing_indicator": {"type": "text"}} if typing else {}
        await self.post({"status": "read", "message_id": key, **shown}, timeout_s)

    async def close(self) -> None:
        await self._poster.close()


def _judged(answer: PlatformAnswer) -> Mapping[str, Any]:
    """Return an answer, or raise its fault."""
    status, told = answer
    if status == HTTPStatus.OK and told is not None and "error" not in told:
        return told
    error = as_object((told or {}).get("error"))
    code = error.get("code")
    if not isinstance(code, int) or isinstance(code, bool) or not 0 < code < _MOST_CODE:
        code = 0
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise SendingUncertain(f"whatsapp_status_{status}")
    if code in _WAIT_ONE:
        raise RetryLater(error_name(code), _WAIT_ONE[code], whole=False)
    if code in _WAIT_ALL or status == HTTPStatus.TOO_MANY_REQUESTS:
        raise RetryLater(error_name(code) if code else "rate_limited", _WAIT_ALL.get(code, retry_after_s(None)))
    if status < HTTPStatus.BAD_REQUEST or told is None:
        raise SendingUncertain(f"whatsapp_status_{status}")
    name = error_name(code) if code else f"whatsapp_status_{status}"
    raise SendingRefused(name, words_of(error.get("message")))


def content(text: str, choices: Sequence[str], label: Callable[[str], str]) -> dict[str, object]:
    """Make type and content of a message. Choices become buttons, or a list where there are many or they are long.

    Plain text where a list does not hold them all: it would hide the others.
    """
    offered = [choice for choice in dict.fromkeys(choices) if choice]
    fit = len(offered) <= MOST_ROWS and all(len(CHOICE + choice) <= ROW_ID for choice in offered)
    if not offered or not fit or len(text) > MOST_QUESTION:
        return {"type": "text", "text": {"preview_url": False, "body": formatted(text)}}
    if all(len(choice) <= ROW_DESCRIPTION for choice in offered):
        text = without_choices(text, choices)
    short = len(offered) <= MOST_BUTTONS and all(len(choice) <= BUTTON_TITLE for choice in offered)
    action = _buttons(offered) if short else _list(offered, label(text)[:BUTTON_TITLE])
    return {
        "type": "interactive",
        "interactive": {"type": "button" if short else "list", "body": {"text": formatted(text)}, "action": action},
    }


def formatted(text: str) -> str:
    """Return a text with its marks as WhatsApp writes them. A mark beside a letter would be shown as it is, so it is left out."""
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


def _buttons(choices: Sequence[str]) -> dict[str, object]:
    return {"buttons": [{"type": "reply", "reply": {"id": CHOICE + choice, "title": choice}} for choice in choices]}


def _list(choices: Sequence[str], label: str) -> dict[str, object]:
    """Make a list. Its rows are numbered where their titles, which are to differ, begin alike."""
    titles = [_shortened(choice, ROW_TITLE) for choice in choices]
    if len(set(titles)) < len(titles):
        titles = [_shortened(f"{place}. {choice}", ROW_TITLE) for place, choice in enumerate(choices, start=1)]
    return {"button": label, "sections": [{"rows": [_row(choice, title) for choice, title in zip(choices, titles, strict=True)]}]}


def _row(choice: str, title: str) -> dict[str, str]:
    """Make a row. What its title cannot hold stands in the description as a whole."""
    described = {} if title.endswith(choice) else {"description": _shortened(choice, ROW_DESCRIPTION)}
    return {"id": CHOICE + choice, "title": title, **described}


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
