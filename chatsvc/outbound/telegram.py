"""Client of Telegram's Bot API, and the sender of messages by it.

The token stands in the address, so no text of a fault repeats one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from types import SimpleNamespace
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, TraceConfig

from chatsvc.domain.outgoing import OutgoingPart, split, utf16_units
from chatsvc.outbound.egress import Egress, EgressRefused
from chatsvc.outbound.sending import NotConnected, RetryLater, SendingRefused, SendingUncertain
from chatsvc.outbound.session import open_session
from chatsvc.outbound.tls import client_context

TIMEOUT_S = 20.0
CONNECT_S = 10.0
MOST_BYTES = 4_194_304
MOST_UNITS = 4096
_RETRY_S = 5.0  # where a 429 does not say


class TelegramClient:
    """Calls of one bot's methods. Its connections are kept for further calls."""

    def __init__(self, egress: Egress, api_url: str, token: str) -> None:
        self._egress, self._url = egress, f"{api_url.rstrip('/')}/bot{token}"
        self._session: ClientSession | None = None

    def _opened(self) -> ClientSession:
        if self._session is None:
            trace = TraceConfig()
            trace.on_request_headers_sent.append(_note_written)
            self._session = open_session(self._egress, "telegram", tls=client_context(), traces=(trace,))
        return self._session

    async def call(self, method: str, parameters: Mapping[str, object], timeout_s: float = TIMEOUT_S) -> Any:
        """Call a method; return its result.

        Raises SendingRefused (`telegram_STATUS`), RetryLater, NotConnected where nothing was written, and SendingUncertain else.
        """
        progress = SimpleNamespace(written=False)
        limits = ClientTimeout(total=CONNECT_S + timeout_s, connect=CONNECT_S, sock_read=timeout_s)
        try:
            self._egress.check("telegram")
            async with self._opened().post(
                f"{self._url}/{method}", json=parameters, allow_redirects=False, timeout=limits, trace_request_ctx=progress
            ) as response:
                status, body = response.status, await response.content.read(MOST_BYTES)
                while chunk := await response.content.read(MOST_BYTES):
                    body += chunk
                    if len(body) > MOST_BYTES:
                        raise SendingUncertain("telegram_answer_too_long")
        except EgressRefused:
            raise NotConnected("egress: none does not permit the connection") from None
        except (ClientError, OSError, TimeoutError, ValueError) as fault:
            if not progress.written:
                raise NotConnected(type(fault).__name__) from None
            raise SendingUncertain("timeout" if isinstance(fault, TimeoutError) else "connection_broken") from None
        return _result(status, body)

    async def close(self) -> None:
        """Close connections."""
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()


async def _note_written(_: object, context: SimpleNamespace, __: object) -> None:
    context.trace_request_ctx.written = True


def _result(status: int, body: bytes) -> Any:
    """Return the result of an answer, or raise its fault."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or not isinstance(answer, dict):
        raise SendingUncertain(f"telegram_{status}")
    if status == HTTPStatus.OK and answer.get("ok") is True:
        return answer.get("result")
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        parameters = answer.get("parameters")
        seconds = parameters.get("retry_after") if isinstance(parameters, dict) else None
        raise RetryLater("rate_limited", float(seconds) if isinstance(seconds, int) and seconds >= 0 else _RETRY_S)
    if status < HTTPStatus.BAD_REQUEST:
        raise SendingUncertain(f"telegram_{status}")
    described = answer.get("description")
    raise SendingRefused(f"telegram_{status}", described[:200] if isinstance(described, str) and described.isprintable() else "")


class TelegramSender:
    """Sender of one bot's messages; see PlatformSender."""

    def __init__(self, client: TelegramClient) -> None:
        self._client = client

    def parts(self, text: str) -> list[str]:
        """See PlatformSender."""
        return split(text, MOST_UNITS, utf16_units)

    async def send(self, part: OutgoingPart) -> str:
        """See PlatformSender."""
        parameters: dict[str, object] = {"chat_id": int(part.user_id), "text": part.text}
        if part.choices:
            parameters["reply_markup"] = {"inline_keyboard": keyboard(part.choices)}
        result = await self._client.call("sendMessage", parameters)
        message_id = result.get("message_id") if isinstance(result, dict) else None
        if not isinstance(message_id, int):
            raise SendingUncertain("telegram_bad_answer")
        return message_name(part.user_id, message_id)

    async def close(self) -> None:
        """See PlatformSender."""
        await self._client.close()


def message_name(chat: object, message_id: int) -> str:
    """Return the name of a message: ids of messages are counted in each chat."""
    return f"{chat} {message_id}"


def keyboard(choices: tuple[str, ...]) -> list[list[dict[str, str]]]:
    """Make the buttons of choices, one a line. Telegram sends the place back, which finds the text among the buttons."""
    return [[{"text": choice, "callback_data": str(place)}] for place, choice in enumerate(choices)]
