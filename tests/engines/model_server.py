"""A stand-in for a server that speaks POST /v1/messages: real HTTP on loopback, each answer scripted by the test.

A step answers one request. `server.script` is used up in order; after it, `server.always` answers. What came in stands in
`server.seen`.
"""

import asyncio
import json
import ssl
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

Step = Callable[["ModelServer", web.Request], Awaitable[web.StreamResponse]]


@dataclass(frozen=True)
class Seen:
    """One request as it arrived."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    raw: bytes


def message(content: object, *, stop_reason: object = "end_turn", **fields: object) -> dict[str, object]:
    """A body in the shape of the Messages API."""
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "stand-in",
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
        **fields,
    }


def says(text: str, **fields: Any) -> Step:
    """A reply of one text block."""
    return answers(message([{"type": "text", "text": text}], **fields))


def calls(*uses: tuple[str, object], text: str = "", before: Sequence[object] = (), **fields: Any) -> Step:
    """Tools called by name and arguments; `before` are blocks in front of them."""

    async def step(server: ModelServer, request: web.Request) -> web.StreamResponse:
        blocks = [{"type": "text", "text": text}] if text else []
        round_ = len(server.seen)
        used = [{"type": "tool_use", "id": f"toolu_{round_}_{n}", "name": name, "input": given} for n, (name, given) in enumerate(uses)]
        return await answers(message([*before, *blocks, *used], **{"stop_reason": "tool_use", **fields}))(server, request)

    return step


def answers(payload: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Step:
    """Any JSON; lone surrogates go out as their escapes."""
    return raw(json.dumps(payload).encode(), status=status, headers=headers)


def raw(body: bytes, *, status: int = 200, content_type: str = "application/json", headers: Mapping[str, str] | None = None) -> Step:
    """Any bytes."""

    async def step(server: ModelServer, request: web.Request) -> web.StreamResponse:
        return web.Response(body=body, status=status, headers={"Content-Type": content_type, **(headers or {})})

    return step


def html(status: int = 200, text: str = "<html><body>Welcome to nginx!</body></html>") -> Step:
    """A page of some proxy."""
    return raw(text.encode(), status=status, content_type="text/html")


def fails(
    status: int,
    kind: str = "api_error",
    text: str = "Something is wrong",
    *,
    headers: Mapping[str, str] | None = None,
) -> Step:
    """An error as Anthropic words it."""
    payload = {"type": "error", "error": {"type": kind, "message": text}, "request_id": "req_body"}
    return answers(payload, status=status, headers={"request-id": "req_011CUB2X", **(headers or {})})


def hangs() -> Step:
    """Nothing, ever."""

    async def step(server: ModelServer, request: web.Request) -> web.StreamResponse:
        await server.released.wait()
        return web.Response(status=500)

    return step


def hangs_mid_body() -> Step:
    """Headers and half of the body, then nothing."""

    async def step(server: ModelServer, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        await response.write(b'{"content": [')
        await server.released.wait()
        return response

    return step


def trickles(text: str, *, pause_s: float) -> Step:
    """The whole answer, a byte at a time: no single read ever takes long."""

    async def step(server: ModelServer, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for byte in json.dumps(message([{"type": "text", "text": text}])).encode():
            await response.write(bytes([byte]))
            await asyncio.sleep(pause_s)
        return response

    return step


def resets() -> Step:
    """The connection is reset before an answer."""

    async def step(server: ModelServer, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    return step


def breaks_off() -> Step:
    """Fewer bytes than the content-length promised."""

    async def step(server: ModelServer, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"content": [')
        assert request.transport is not None
        request.transport.close()
        return response

    return step


def talks_nonsense(line: bytes = b"SSH-2.0-OpenSSH_9.2\r\n\r\n") -> Step:
    """Something that is not HTTP."""

    async def step(server: ModelServer, request: web.Request) -> web.StreamResponse:
        assert isinstance(request.transport, asyncio.Transport)
        request.transport.write(line)
        await asyncio.sleep(0.05)
        request.transport.close()
        return web.Response()

    return step


def floods(*, status: int = 200, megabytes: int = 64) -> Step:
    """An answer without an end in sight; `server.flooded` counts the bytes that were taken."""

    async def step(server: ModelServer, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(status=status, headers={"Content-Type": "application/json"})
        await response.prepare(request)
        chunk = b" " * 65_536
        for _ in range(megabytes * 16):
            await response.write(chunk)
            server.flooded += len(chunk)
        return response

    return step


def redirects(target: str, *, status: int = 307) -> Step:
    """Somewhere else."""

    async def step(server: ModelServer, request: web.Request) -> web.StreamResponse:
        return web.Response(status=status, headers={"Location": target})

    return step


def waits_for(count: int, text: str) -> Step:
    """An answer for everybody once `count` requests are here at the same time."""

    async def step(server: ModelServer, request: web.Request) -> web.StreamResponse:
        server.here += 1
        if server.here >= count:
            server.all_here.set()
        await server.all_here.wait()
        return await says(text)(server, request)

    return step


@dataclass
class ModelServer:
    """`async with ModelServer() as server`: listens on a port of its own at `server.url` until the end."""

    always: Step = field(default_factory=lambda: says("Hello."))
    tls: ssl.SSLContext | None = None
    script: deque[Step] = field(default_factory=deque)
    seen: list[Seen] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    all_here: asyncio.Event = field(default_factory=asyncio.Event)
    here: int = 0
    flooded: int = 0
    peers: set[object] = field(default_factory=set)
    url: str = ""

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0, backlog=4096, ssl_context=self.tls)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"{'https' if self.tls else 'http'}://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.released.set()
        self.all_here.set()
        await self._runner.cleanup()

    @property
    def body(self) -> Any:
        """The JSON of the last request."""
        return self.seen[-1].body

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the last request."""
        return self.seen[-1].headers

    @property
    def connections(self) -> int:
        """Count the connections that carried requests."""
        return len(self.peers)

    @property
    def is_connected(self) -> bool:
        """Report whether any connection is open."""
        return bool(self._runner.server and self._runner.server.connections)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        sent = await request.read()
        self.peers.add(request.get_extra_info("peername"))
        self.seen.append(Seen(request.method, request.path, request.headers.copy(), json.loads(sent or b"null"), sent))
        self.asked.set()
        step = self.script.popleft() if self.script else self.always
        return await step(self, request)
