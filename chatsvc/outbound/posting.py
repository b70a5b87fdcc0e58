"""Clients of the messaging platforms' servers. Their exceptions distinguish messages that were surely not sent from uncertain ones.

A platform's token may be part of the URL, so the text of an exception never contains a URL or a header.
"""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout

from chatsvc.domain.channels import TokenQuestion
from chatsvc.domain.shapes import as_object, parsed
from chatsvc.outbound.client import CONNECT_TIMEOUT_S, FAULTS, NOT_OPENED, USER_AGENT, cause_of, exchange, open_session, read, request
from chatsvc.outbound.egress import Egress, EgressRefused, client_context

_IDLE_S = 10.0  # both platforms keep idle connections for longer
_RETRY_S, _LONGEST_RETRY_S = 5.0, 86_400.0
_CHECK_S, _CHECK_BYTES = 10.0, 65_536
# Statuses with which a platform says that it knows the caller too well: they say nothing of the token.
_TRANSIENT = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS})


class SendingFault(Exception):
    """Failure of a call to a platform. `code` is stored with the message, and the text is for the log."""

    def __init__(self, code: str, text: str = "") -> None:
        super().__init__(f"{code}: {text}" if text else code)
        self.code = code


class SendingRefused(SendingFault):
    """Refusal of a message by the platform. The message was not sent, and trying again is useless."""


class RetryLater(SendingFault):
    """Raised if the platform accepts no message for some seconds. Nothing was sent. `whole` is true if all conversations have to wait."""

    def __init__(self, code: str, seconds: float, *, whole: bool = True) -> None:
        super().__init__(code, f"{seconds:g} s")
        self.seconds, self.whole = seconds, whole


class NotConnected(SendingFault):
    """No connection to the platform could be opened, so the message was not sent."""


class SendingUncertain(SendingFault):
    """The request was written and no clear answer came: the message may have been sent."""


class PlatformPoster:
    """Client that posts JSON to one platform's server and reuses its connections.

    `purpose` is the purpose for the egress ledger, and the prefix of the error codes.
    """

    def __init__(self, egress: Egress, purpose: str, url: str, most_bytes: int, headers: Mapping[str, str] | None = None) -> None:
        self._egress, self._purpose, self._url, self._most_bytes = egress, purpose, url.rstrip("/"), most_bytes
        self._headers = {"Accept": "application/json", "Content-Type": "application/json", "User-Agent": USER_AGENT, **(headers or {})}
        self._session: ClientSession | None = None
        self._is_closed = False

    async def post(self, path: str, parameters: Mapping[str, object], timeout_s: float) -> tuple[int, dict[str, Any] | None]:
        """Post parameters to a path below the server's address. Wait at most `timeout_s` seconds once connected.

        Return the status and the JSON object of the response, or None if it is not an object. Raise NotConnected if nothing was
        sent, and SendingUncertain if no response came.
        """
        if self._is_closed:
            raise NotConnected("closed")
        timeout = ClientTimeout(total=CONNECT_TIMEOUT_S + timeout_s, connect=CONNECT_TIMEOUT_S, sock_read=timeout_s)
        body, answer = json.dumps(parameters).encode(), bytearray()
        try:
            self._egress.check(self._purpose)
            if self._session is None:
                self._session = open_session(self._egress, self._purpose, client_context(), idle_s=_IDLE_S)
            async with request(self._session, "POST", self._url + path, self._headers, body, timeout=timeout) as response:
                is_whole = await read(response, answer, self._most_bytes)
        except EgressRefused:
            raise NotConnected("egress: none does not permit the connection") from None
        except NOT_OPENED as fault:
            raise NotConnected(type(cause_of(fault)).__name__) from None
        except TimeoutError:
            raise SendingUncertain("timeout") from None
        except (ClientError, RuntimeError):
            raise SendingUncertain("connection_broken") from None
        except OSError as fault:  # unreadable certificates
            raise NotConnected(type(fault).__name__) from None
        if not is_whole:
            raise SendingUncertain(f"{self._purpose}_answer_too_long")
        return response.status, parsed(bytes(answer))

    async def close(self) -> None:
        """Cancel the calls in flight. Later calls raise NotConnected."""
        self._is_closed = True
        if self._session is not None:
            await self._session.close()


def retry_after_s(seconds: object) -> float:
    """Return the number of seconds that a platform asks to wait, at most a day."""
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not seconds >= 0:
        return _RETRY_S
    return float(min(seconds, _LONGEST_RETRY_S))


def words_of(text: object) -> str:
    """Return the beginning of a platform's error text for the log, or "" if it is not printable text."""
    return text[:200] if isinstance(text, str) and text.isprintable() else ""


class PlatformRefused(Exception):
    """Refusal of a token by the platform. The text gives the reason, without the token."""


async def check_token(egress: Egress, platform: str, url: str, question: TokenQuestion) -> str | None:
    """Confirm a token at the server `url` of a platform by one call, which sends nothing to visitors.

    Return why the platform could not confirm it, or None if it did. Raises PlatformRefused.
    """
    path, headers = question
    try:
        egress.check(platform)
        async with open_session(egress, platform, client_context()) as session:
            response = await exchange(session, "GET", url.rstrip("/") + path, headers, most_bytes=_CHECK_BYTES, timeout_s=_CHECK_S)
    except EgressRefused:
        return "egress: none does not permit the connection"
    except FAULTS as fault:
        return f"it did not answer ({type(cause_of(fault)).__name__})"
    status, answer = response.status, parsed(response.body) or {}
    if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in _TRANSIENT:
        words = words_of(answer.get("description") or as_object(answer.get("error")).get("message"))
        raise PlatformRefused(f"status {status}{f': {words}' if words else ''}")
    if status != HTTPStatus.OK:
        return f"it answered with status {status}"
    return None if answer and answer.get("ok") is not False else "it answered in an unknown form"
