"""POST /v1/messages over one session of aiohttp: a quarter of the processor time that the provider's own library takes for a call.

What stands on the wire is what that library would send (a test holds it against the library), but for its inventory of this machine.
Nothing is taken from the surroundings: no proxy, no netrc, no cookie, no certificate that the environment names. Nothing is retried,
no redirect followed and nothing unpacked; bytes come out of here, and `answer` reads them.
"""

from __future__ import annotations

import json

import aiohttp
import orjson

from chatsvc import __version__
from chatsvc.domain.egress import Egress
from chatsvc.engines.anthropic import faults
from chatsvc.engines.anthropic.faults import Fault
from chatsvc.outbound import OutboundConnector, system_tls

API_VERSION = "2026-10-21"
"""The version of the Messages API that is spoken: that of the library."""

MAX_ANSWER_BYTES = 512 * 1024
"""As much of an answer as is read: some 20 times what max_tokens allows, thinking included."""

CONNECT_TIMEOUT_S = 10.0
"""For a connection with its TLS handshake; the deadline of the turn bounds everything else.

Far more than a network takes: where thousands ask at once, a connection that stands is noticed only when the others have been sent.
"""

# 100 is aiohttp's own limit.
_CONNECTIONS = 5000

# uvicorn (vLLM) and Node (LM Studio) close an idle connection after 5 s. A POST that meets such a closing is lost, since it
# is not idempotent and nobody sends it again: let go first. Anthropic's edge keeps connections for minutes.
_IDLE_S_ON_PREM = 3.0
_IDLE_S_HOSTED = 60.0


class Client:
    """One client of one server that speaks the Messages API. Cheap to share: 2,000 calls at once are fine."""

    def __init__(self, base_url: str, api_key: str, *, hosted: bool, egress: Egress) -> None:
        """`base_url` without `/v1`; an empty `api_key` sends no credential. To be made where the event loop runs.

        Raises OSError where the system's certificates cannot be read.
        """
        idle_s = _IDLE_S_HOSTED if hosted else _IDLE_S_ON_PREM
        tls = system_tls() if base_url.startswith("https:") else True
        headers = {
            "Accept": "application/json",
            # Nothing compressed: a few KB gain nothing, and a bomb of 512 KiB unpacks to 512 MiB.
            "Accept-Encoding": "identity",
            "anthropic-version": API_VERSION,
            "Content-Type": "application/json",
            "User-Agent": f"chatsvc/{__version__}",
        }
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._url = f"{base_url}/v1/messages"
        self._session = aiohttp.ClientSession(
            connector=OutboundConnector(egress, "model", limit=_CONNECTIONS, keepalive_timeout=idle_s, ssl=tls),
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_S),
            # A load balancer's cookie would tie all bots to one machine behind it.
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
        )

    async def send(self, body: dict[str, object]) -> bytes:
        """The body of a 2xx answer, unread; raises Fault."""
        try:
            async with self._session.post(self._url, data=_encoded(body), allow_redirects=False) as answer:
                payload, whole = await _read(answer.content)
        except aiohttp.ServerTimeoutError as error:
            raise Fault("unreachable", type(error).__name__, retryable=True) from None
        except (aiohttp.ClientConnectionError, aiohttp.InvalidURL, OSError) as error:
            # Every failure before an answer began. `from None` each time: what is raised here may show the request, and in it the key.
            raise Fault("unreachable", type(error).__name__, retryable=True) from None
        except Exception as error:  # noqa: BLE001  # an answer that breaks off or is no HTTP, and whatever else a server may come up with
            raise Fault("bad_response", type(error).__name__) from None
        if not 200 <= answer.status < 300:
            raise faults.of_status(answer.status, answer.headers, payload.decode("utf-8", "replace"))
        if not whole:
            raise Fault("bad_response", f"an answer of more than {MAX_ANSWER_BYTES} bytes")
        return payload

    async def close(self) -> None:
        """Close every connection; calls under way fail as unreachable."""
        await self._session.close()


def _encoded(body: dict[str, object]) -> bytes:
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:
        # What a model has said goes back to it as it was, and may hold half characters and integers of more than 64 bits.
        return json.dumps(body).encode()


async def _read(content: aiohttp.StreamReader) -> tuple[bytes, bool]:
    """The first MAX_ANSWER_BYTES of a body, and whether that is all of it."""
    payload = bytearray(await content.readany())
    while not content.at_eof() and len(payload) <= MAX_ANSWER_BYTES:
        payload += await content.readany()
    return bytes(payload[:MAX_ANSWER_BYTES]), len(payload) <= MAX_ANSWER_BYTES
