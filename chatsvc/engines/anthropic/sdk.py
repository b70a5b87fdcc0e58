"""The only module that imports the anthropic package: about 1 s and 55 MB, so `engine` imports this one in a thread at first use.

What the SDK takes from its surroundings is kept away from it: credentials, profiles, headers and log level from ANTHROPIC_*,
proxies and netrc, tracing. It retries nothing and follows no redirect; it validates nothing, so that bytes come out of here
and `answer` reads them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import aiohttp
import anthropic
import httpx2

from chatsvc.domain.egress import Egress
from chatsvc.engines.anthropic import faults
from chatsvc.engines.anthropic.faults import Fault
from chatsvc.outbound import OutboundConnector

MAX_ANSWER_BYTES = 512 * 1024
"""As much of an answer as is read: some 20 times what max_tokens allows, thinking included."""

CONNECT_TIMEOUT_S = 10.0
"""For a connection with its TLS handshake; the deadline of the turn bounds everything else.

Far more than a network takes: where thousands ask at once, a connection that stands is noticed only when the others have been sent.
"""

# 100 is aiohttp's own limit, and None would fall back to it.
_CONNECTIONS = 5000

# uvicorn (vLLM) and Node (LM Studio) close an idle connection after 5 s. A POST that meets such a closing is lost, since it
# is not idempotent and nobody sends it again: let go first. Anthropic's edge keeps connections for minutes.
_IDLE_S_ON_PREM = 3.0
_IDLE_S_HOSTED = 60.0


class AnswerTooLong(Exception):
    """An answer of more than MAX_ANSWER_BYTES."""


class Provider:
    """One client of one server that speaks the Messages API. Cheap to share: 2,000 calls at once are fine."""

    def __init__(self, base_url: str, api_key: str, *, hosted: bool, egress: Egress) -> None:
        """`base_url` without `/v1`; an empty `api_key` sends no credential. Blocking (TLS roots are read): call it in a thread."""
        _hush()
        http = _http_client(_IDLE_S_HOSTED if hosted else _IDLE_S_ON_PREM, egress)
        # Nothing compressed: a few KB gain nothing, and a bomb of 512 KiB unpacks to 512 MiB.
        headers: dict[str, str] = {"Accept-Encoding": "identity"}
        if not api_key:
            headers["Authorization"] = anthropic.Omit()  # type: ignore[assignment]  # as the SDK documents it
        self._client = anthropic.AsyncAnthropic(
            # Exactly one credential, so that neither the environment nor a profile in the home directory is asked.
            api_key=api_key or "none",
            base_url=base_url,
            http_client=http,
            timeout=httpx2.Timeout(None, connect=CONNECT_TIMEOUT_S),
            max_retries=0,
            default_headers=headers,
            webhook_key="",
            open_telemetry=False,
        )
        # ANTHROPIC_CUSTOM_HEADERS is mixed into these whatever is passed, and would win over the credential.
        self._client._custom_headers = headers

    async def send(self, body: dict[str, object]) -> bytes:
        """POST /v1/messages; the body of a 2xx answer, unread. Raises Fault."""
        try:
            # Not messages.create: it builds models of an answer that nobody has validated, and warns of old models.
            # Bytes, since the SDK would copy the whole prompt twice before it encodes it.
            answer = await self._client.post("/v1/messages", cast_to=httpx2.Response, content=json.dumps(body).encode())
        except anthropic.APIStatusError as error:
            # `from None` each time: the SDK's errors carry the request, and with it the key and the visitor's words.
            raise faults.of_status(error.status_code, error.response.headers, error.response.text) from None
        except anthropic.APIConnectionError as error:
            raise _connection_fault(error.__cause__ or error) from None
        except Exception as error:  # noqa: BLE001  # the SDK validates nothing: an unforeseen answer may make it stumble anywhere
            raise Fault("bad_response", type(error).__name__) from None
        return answer.content

    async def close(self) -> None:
        """Close every connection; calls under way fail as unreachable."""
        await self._client.close()


def _http_client(idle_s: float, egress: Egress) -> httpx2.AsyncClient:
    """The SDK's aiohttp client: half the CPU of its default one and no limit of 100 connections. TLS is verified, as by default."""
    limits = httpx2.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS, keepalive_expiry=idle_s)
    hooks: dict[str, list[Callable[..., Awaitable[None]]]] = {"request": [_trim_request], "response": [_bound_response]}
    client = anthropic.DefaultAioHttpClient(trust_env=False, follow_redirects=False, limits=limits, event_hooks=hooks)
    transport: Any = client._transport

    def session() -> aiohttp.ClientSession:
        connector = OutboundConnector(egress, "model", limit=_CONNECTIONS, keepalive_timeout=idle_s, ssl=transport.ssl_context)
        # The session that the transport would make keeps cookies: a load balancer's would tie all bots to one machine behind it.
        return aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())

    transport.client = session
    return client


def _hush() -> None:
    """Keep the SDK's log lines from our log: at DEBUG they hold the whole prompt, at INFO the address of every call.

    A root logger at DEBUG would let them through, and so would ANTHROPIC_LOG=debug, which the import has already obeyed.
    """
    for name in ("anthropic", "httpx2", "httpcore2"):
        logging.getLogger(name).setLevel(logging.WARNING)


async def _trim_request(request: httpx2.Request) -> None:
    """Send what the API needs: no inventory of this machine (x-stainless-*), no cookies of earlier answers."""
    for name in [name for name in request.headers if name.startswith("x-stainless-") or name == "cookie"]:
        del request.headers[name]


async def _bound_response(response: httpx2.Response) -> None:
    """Bound what is read; never unpack it (a server that compresses all the same gives bytes that are no JSON)."""
    response.headers.pop("content-encoding", None)
    response.stream = _Bounded(cast("httpx2.AsyncByteStream", response.stream), strict=response.is_success)


class _Bounded(httpx2.AsyncByteStream):
    """A stream that ends at MAX_ANSWER_BYTES: with AnswerTooLong where `strict`, else silently (an error page is only glanced at)."""

    def __init__(self, stream: httpx2.AsyncByteStream, *, strict: bool) -> None:
        self._stream = stream
        self._strict = strict

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_ANSWER_BYTES
        async for chunk in self._stream:
            if len(chunk) > left:
                if self._strict:
                    raise AnswerTooLong
                return
            left -= len(chunk)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def _connection_fault(cause: BaseException) -> Fault:
    """The fault of a call without a whole answer, by what the transport said."""
    if isinstance(cause, AnswerTooLong):
        return Fault("bad_response", f"an answer of more than {MAX_ANSWER_BYTES} bytes")
    detail = type(cause.__cause__ or cause).__name__
    if isinstance(cause, httpx2.TimeoutException) and not isinstance(cause, httpx2.ConnectTimeout):
        return Fault("timeout", detail, retryable=True)
    # Every other failure of a connection before an answer began; ReadError is an answer that broke off.
    unreachable = (httpx2.ConnectTimeout, httpx2.ConnectError, httpx2.ProxyError, httpx2.UnsupportedProtocol, OSError)
    if isinstance(cause, unreachable):
        return Fault("unreachable", detail, retryable=True)
    return Fault("bad_response", detail)
