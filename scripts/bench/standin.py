"""A cheap stand-in for a model's server (POST /v1/messages), which gives every caller the same response after a fixed delay."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from harness import HttpConnection

REPLY = "We are open from Monday to Saturday, nine to six; on Sundays by appointment. Is there anything else you would like to know?"
Answer = Callable[[bytes], bytes]


def response(content: list[dict[str, Any]], stop_reason: str = "end_turn") -> bytes:
    """Return a whole HTTP response in the format of the Messages API."""
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "stand-in", "content": content, "stop_reason": stop_reason}
    body = json.dumps({**message, "stop_sequence": None, "usage": {"input_tokens": 200, "output_tokens": 40}}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body


SPOKEN = response([{"type": "text", "text": REPLY}])
OVERLOADED = b"HTTP/1.1 529 Overloaded\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


class _Connection(HttpConnection):
    def __init__(self, answer: Answer, delay_s: float) -> None:
        self._answer, self._delay_s = answer, delay_s

    def received(self, head: bytes, body: bytes) -> None:  # noqa: ARG002  # of each kind of connection
        answer = self._answer(body)
        if self._delay_s:
            asyncio.get_running_loop().call_later(self._delay_s, self._send, answer)
        else:
            self._send(answer)

    def _send(self, answer: bytes) -> None:
        if not answer:
            self.transport.close()
        elif not self.transport.is_closing():
            self.transport.write(answer)


@asynccontextmanager
async def model(answer: Answer = lambda _: SPOKEN, delay_s: float = 0.0, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    """Run the stand-in server and yield its URL. `answer` makes the response to a request's body, or b"" to close the connection."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Connection(answer, delay_s), "127.0.0.1", 0, backlog=4096, ssl=tls)
    yield f"http{'s' if tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


def tier(url: str, timeout_s: float = 30.0) -> str:
    return (
        f'engines: {{anthropic: {{base_url: "{url}", api_key: none-needed, timeout_s: {timeout_s}}}}}\n'
        "models: {m: {engine: anthropic, model: m, input_usd_per_mtok: 1, output_usd_per_mtok: 2}}\n"
    )
