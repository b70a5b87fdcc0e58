"""JSON POST client of the messaging platforms. Its faults tell whether a message was surely not sent, or nobody knows."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from aiohttp import ClientError, ClientSession, ClientTimeout

from chatsvc.domain import shapes
from chatsvc.outbound.client import CONNECT_TIMEOUT_S, NOT_OPENED, USER_AGENT, cause_of, open_session, read, request
from chatsvc.outbound.egress import Egress, EgressRefused
from chatsvc.outbound.tls import client_context

_IDLE_S = 10.0  # both platforms keep idle connections for longer
_RETRY_S, _LONGEST_RETRY_S = 5.0, 86_400.0


class PlatformAnswer(NamedTuple):
    """Status of an answer and its JSON object, None for anything else."""

    status: int
    told: dict[str, Any] | None


class PlatformPoster:
    """Posts to one platform's server. Its connections are kept for further calls; no text of a fault has an address or a header.

    `purpose` is that of the egress ledger, and begins the codes of faults.
    """

    def __init__(self, egress: Egress, purpose: str, url: str, most_bytes: int, headers: Mapping[str, str] | None = None) -> None:
        self._egress, self._purpose, self._url, self._most_bytes = egress, purpose, url, most_bytes
        self._headers = {"Accept": "application/json", "Content-Type": "application/json", "User-Agent": USER_AGENT, **(headers or {})}
        self._session: ClientSession | None = None
        self._is_closed = False

    async def post(self, path: str, parameters: Mapping[str, object], timeout_s: float) -> PlatformAnswer:
        """Post parameters to a path below the server's address; return the answer within `timeout_s` of the connection.

        Raises NotConnected where nothing was written, and SendingUncertain where no answer came.
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
        return PlatformAnswer(response.status, shapes.parsed(bytes(answer)))

    async def close(self) -> None:
        """End the calls in flight; later ones raise NotConnected."""
        self._is_closed = True
        if self._session is not None:
            await self._session.close()


def retry_after_s(told: object) -> float:
    """Return the seconds that a platform asks to wait, at most a day."""
    if not isinstance(told, int | float) or isinstance(told, bool) or not told >= 0:
        return _RETRY_S
    return float(min(told, _LONGEST_RETRY_S))


def words_of(told: object) -> str:
    """Return a platform's own words for the log, which are short and name no secret. "" for another form."""
    return told[:200] if isinstance(told, str) and told.isprintable() else ""


class SendingFault(Exception):
    """A call of a platform has failed."""


class SendingRefused(SendingFault):
    """The platform refuses the message: it was not sent and will not be. `code` is kept with the message, the text is for the log."""

    def __init__(self, code: str, text: str = "") -> None:
        super().__init__(f"{code}: {text}" if text else code)
        self.code = code


class RetryLater(SendingFault):
    """The platform takes no message for a while: it was not sent. `whole`: nobody's, else only none of this conversation."""

    def __init__(self, code: str, seconds: float, *, whole: bool = True) -> None:
        super().__init__(f"{code}: {seconds:g} s")
        self.code, self.seconds, self.whole = code, seconds, whole


class NotConnected(SendingFault):
    """No connection to the platform could be opened, so the message was not sent."""


class SendingUncertain(SendingFault):
    """The request was written and no clear answer came: the message may have been sent. `code` is kept with the message."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code
