"""HTTP client for POST /v1/messages.

Own code, since the provider's library takes six times the processor time for a call. A test compares the requests with those of
the library, which adds only data about this machine.
"""

from functools import partial
from urllib.parse import urlsplit

import orjson

from chatsvc.engines.anthropic import faults
from chatsvc.engines.anthropic.faults import ModelFault
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.http_connection import AnswerBroken, ConnectionLost
from chatsvc.outbound.http_pool import HttpPool, NotOpened, post_head

API_VERSION = "2026-10-21"
"""Version of the Messages API, as the library sends it."""

MAX_ANSWER_BYTES = 512 * 1024
"""Size of the largest accepted answer: some 20 times what max_tokens allows, thinking included."""

# uvicorn (vLLM) and Node (LM Studio) close an idle connection after 5 s. A POST sent at that moment is lost, as it is not idempotent:
# close first. Anthropic's edge keeps connections for minutes.
_IDLE_S_ON_PREM = 3.0
_IDLE_S_HOSTED = 60.0


class Client:
    """Client of one server; 2,000 concurrent calls are fine."""

    def __init__(self, base_url: str, api_key: str, *, hosted: bool, egress: Egress) -> None:
        """`base_url` without `/v1`; an empty `api_key` sends no credential. Raises OSError where the certificates cannot be read."""
        url = urlsplit(base_url)
        credential = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._head = post_head(url, "/v1/messages", {"anthropic-version": API_VERSION, **credential})
        self._pool = HttpPool(egress, "model", url, idle_s=_IDLE_S_HOSTED if hosted else _IDLE_S_ON_PREM, most_bytes=MAX_ANSWER_BYTES)

    async def send(self, body: dict[str, object]) -> bytes:
        """Post a body that orjson can encode; return the body of a 2xx answer. Raises ModelFault."""
        try:
            answer = await self._pool.ask(partial(self._request, body))
        except (NotOpened, ConnectionLost) as fault:
            raise ModelFault("unreachable", str(fault), retryable=True) from None
        except AnswerBroken as fault:
            raise ModelFault("bad_response", str(fault)) from None
        if not 200 <= answer.status < 300:
            raise faults.of_status(answer.status, answer.headers, answer.body.decode("utf-8", "replace"))
        if not answer.whole:
            raise ModelFault("bad_response", f"an answer of more than {MAX_ANSWER_BYTES} bytes")
        return answer.body

    def _request(self, body: dict[str, object]) -> bytes:
        content = orjson.dumps(body)
        return b"%b%d\r\n\r\n%b" % (self._head, len(content), content)

    async def close(self) -> None:
        """Close every connection; calls in flight fail as unreachable."""
        await self._pool.close()
