"""Client of a model's server: it uses the provider's library over our own HTTP session, and translates its errors.

Only this module imports the anthropic package (about 1 s and 50 MB), so it is imported in a thread, and only if a tier needs it. The
library's own session is not used, since it has no hook for the egress ledger and reads an answer of any size.
"""

import logging
import os
import ssl
from typing import TYPE_CHECKING, Any

import aiohttp
import anthropic
import httpx2

from chatsvc.engines.anthropic import faults
from chatsvc.engines.anthropic.faults import ModelFault
from chatsvc.engines.anthropic.provider import Provider
from chatsvc.outbound.client import USER_AGENT, cause_of, open_session, read
from chatsvc.outbound.egress import Egress, client_context

if TYPE_CHECKING:
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

MAX_ANSWER_BYTES = 512 * 1024  # size of the largest accepted answer: some 20 times what max_tokens allows, thinking included
# uvicorn (vLLM) and Node (LM Studio) close an idle connection after 5 s. A POST sent at that moment is lost, as it is not idempotent:
# close first. Anthropic's edge keeps connections for minutes.
_IDLE_S_ON_PREM = 3.0
_IDLE_S_HOSTED = 60.0

# What the service reads of an answer's head; cookies in particular are dropped.
_HEADERS_READ = ("request-id", "retry-after", "retry-after-ms", "x-should-retry")

# Their debug lines hold prompts.
for _name in ("anthropic", "httpx2", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class _Transport(httpx2.AsyncBaseTransport):
    """Transport that sends the library's requests over an aiohttp session, and reads at most MAX_ANSWER_BYTES + 1 of an answer.

    Answers are not decompressed. Headers that describe this machine are left out, unless they are signed.
    """

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        is_signed = "x-amz-date" in request.headers  # as they are
        headers = [
            (name, value)
            for name, value in request.headers.multi_items()
            if name != "connection" and (is_signed or not name.startswith("x-stainless"))
        ]
        body = bytearray()
        async with self._session.request(
            request.method, str(request.url), headers=headers, data=request.content or None, allow_redirects=False
        ) as response:
            await read(response, body, MAX_ANSWER_BYTES + 1)
        headers_read = {name: response.headers[name] for name in _HEADERS_READ if name in response.headers}
        return httpx2.Response(response.status, headers=headers_read, content=bytes(body))

    async def aclose(self) -> None:
        await self._session.close()


class Client:
    """Client of one model server. It can make 2,000 calls at the same time."""

    def __init__(self, provider: Provider, egress: Egress) -> None:
        """Create the session in a running event loop, without opening a connection. Raises OSError if the certificates cannot be read."""
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if provider.base_url.startswith("http:") else client_context()
        session = open_session(egress, "model", tls, idle_s=_IDLE_S_HOSTED if provider.is_hosted else _IDLE_S_ON_PREM)
        self._provider = provider
        self._library = _library(provider, httpx2.AsyncClient(transport=_Transport(session), trust_env=False, timeout=None))
        self._create = self._library.messages.with_raw_response.create

    async def send(self, body: "MessageCreateParamsNonStreaming") -> bytes:
        """Ask the model for a message, and return the body of a 2xx answer without validation. Raises ModelFault."""
        try:
            answer = (await self._create(**body)).http_response.content
        except Exception as error:  # noqa: BLE001  # the library wraps only what fails while it sends
            # `from None`: the library's errors carry the request, and with it the key and the visitor's words.
            raise self._fault(error) from None
        if len(answer) > MAX_ANSWER_BYTES:
            raise ModelFault("bad_response", f"an answer of more than {MAX_ANSWER_BYTES} bytes")
        return answer

    @property
    def url(self) -> str:
        """Return the address of the server."""
        return str(self._library.base_url).rstrip("/")

    async def probe(self, model: str) -> None:
        """Send a request without a message, which costs nothing. Always raises ModelFault; its status is 400 if the server works."""
        # The address of a platform has the model's name.
        body = {} if self._provider.needs_key else {"model": model, "max_tokens": 1, "messages": []}
        try:
            await self._library.post("/v1/messages", cast_to=httpx2.Response, body=body)
        except Exception as error:  # noqa: BLE001  # as above
            raise self._fault(error) from None

    async def models(self) -> list[str]:
        """List the names of the models that the server offers this key. Raises ModelFault.

        Platforms have no such list. An on-prem server without one answers 404, which is the ModelFault `model_not_found`.
        """
        if self._provider.platform != "anthropic" or not isinstance(self._library, anthropic.AsyncAnthropic):
            return []
        try:
            return [str(model.id) for model in (await self._library.models.list(limit=1000)).data]
        except Exception as error:  # noqa: BLE001  # an unforeseen answer may make the library stumble anywhere
            raise self._fault(error) from None

    async def close(self) -> None:
        """Close every connection. Calls in flight fail with the reason `unreachable`."""
        await self._library.close()

    def _fault(self, error: Exception) -> ModelFault:
        """Translate an error of the library, or of the packages with which it signs requests, to a ModelFault."""
        if isinstance(error, anthropic.APIStatusError):
            return faults.of_status(error.status_code, error.response.headers, error.body)
        if not isinstance(error, anthropic.APIConnectionError) and not self._provider.needs_key:
            return ModelFault("provider_auth", type(error).__name__)
        cause = error.__cause__ if isinstance(error, anthropic.APIConnectionError) else error
        if isinstance(cause, aiohttp.ClientConnectionError | OSError):
            origin = cause_of(cause)
            return ModelFault("unreachable", type(origin).__name__, retryable=True, cause=origin)
        return ModelFault("bad_response", type(cause).__name__)


_Library = anthropic.AsyncAnthropic | anthropic.AsyncAnthropicBedrock | anthropic.AsyncAnthropicVertex


def _library(provider: Provider, http_client: httpx2.AsyncClient) -> _Library:
    """Create the library's client for a platform. It does not retry. In the environment it reads only credentials of Bedrock and Vertex."""
    for name in ("ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL"):
        # Set for other programs: the library mixes these headers into every request, and they would win over the credential.
        os.environ.pop(name, None)
    headers: dict[str, Any] = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
    common: dict[str, Any] = {"http_client": http_client, "timeout": None, "max_retries": 0, "open_telemetry": False}
    base_url = provider.base_url or None
    match provider.platform:
        case "bedrock":
            return anthropic.AsyncAnthropicBedrock(
                aws_region=provider.region, api_key=provider.api_key, base_url=base_url, default_headers=headers, **common
            )
        case "vertex":
            return anthropic.AsyncAnthropicVertex(
                region=provider.region, project_id=provider.project, base_url=base_url, default_headers=headers, **common
            )
        case "foundry":
            return anthropic.AsyncAnthropicFoundry(
                base_url=provider.base_url, api_key=provider.api_key, webhook_key="", default_headers=headers, **common
            )
    if not provider.api_key:
        headers["Authorization"] = anthropic.omit
    # Exactly one credential, so that neither the environment nor a profile in the home directory is asked.
    return anthropic.AsyncAnthropic(
        base_url=provider.base_url, api_key=provider.api_key or "none", webhook_key="", default_headers=headers, **common
    )
