"""A real HTTP server with a test's front end, and random HTTP streams."""

import asyncio
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from aiohttp import web

from chatsvc.web.client_address import ClientAddresses
from chatsvc.web.limits import ConnectionLimits
from chatsvc.web.middlewares import word_faults
from chatsvc.web.requests import HttpFault
from chatsvc.web.server import HttpServer

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def _refuse(fault: HttpFault, _: object) -> web.Response:
    return web.Response(status=fault.status, text=type(fault).__name__)


@asynccontextmanager
async def serving(
    handler: Handler, *, connections: int = 1000, per_address: int = 1000, per_key: int = 1000, addresses: ClientAddresses | None = None
) -> AsyncIterator[int]:
    """Serve on a free port, which is given."""
    application = web.Application(middlewares=[word_faults(_refuse)])
    application.router.add_route("*", "/{path:.*}", handler)
    server = HttpServer(application, ConnectionLimits(connections, per_address, per_key), addresses or ClientAddresses(), _refuse)
    await server.start()
    listener = await asyncio.get_running_loop().create_server(server.connect, "127.0.0.1", 0, backlog=1024)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        await server.finish(1.0)


async def exchange(port: int, pieces: list[bytes], *, ends: bool = True) -> bytes:
    """Send pieces and return the answers until the server closes. Dates and interim answers are dropped."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    reading = asyncio.create_task(_all(reader))
    with suppress(OSError):
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.001 if len(pieces) > 1 else 0)
        if ends:
            writer.write_eof()
    try:
        async with asyncio.timeout(10):
            return re.sub(rb"\r\nDate: [^\r]*|HTTP/1.1 100 Continue\r\n\r\n", b"", await reading)
    finally:
        writer.transport.abort()


async def _all(reader: asyncio.StreamReader) -> bytes:
    answers = b""
    with suppress(ConnectionError):
        while piece := await reader.read(1 << 16):
            answers += piece
    return answers


METHODS = ("GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH")
TARGETS = ("/", "/a", "/a/b?c=d&e", "/%C3%BC", "http://chat.example/x?y", "/a#b", "/" + "x" * 300)
FIELDS = (
    b"Accept: */*",
    b"X-Empty:",
    b"X-Padded:   a b \t",
    b"X-Bytes: \xc3\xbc\xff",
    b"Cookie: a=b; c=d",
    b"Expect: 100-continue",
    b"Connection: keep-alive",
    b"Connection: close",
    b"Upgrade: websocket\r\nConnection: Upgrade",
    b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings",
    b"TE: trailers",
)
BODIES = (b"", b"x", b"hello", b"GET / HTTP/1.1\r\nHost: inner\r\n\r\n", b"0\r\n\r\n", bytes(range(256)), b"y" * 3000)
NOISE = (b"\r", b"\n", b"\r\n", b" ", b"\t", b"0", b":", b"\0", b";", b"x", b",", b"-", b"+", b"\x80", b"\r\n\r\n", b"G", b"5\r\n")


def random_request(chance: random.Random) -> bytes:
    """Make one valid request."""
    version = "HTTP/1.0" if chance.random() < 0.1 else "HTTP/1.1"
    fields = [b"Host: chat.example", *chance.sample(FIELDS, chance.randrange(4))]
    body = chance.choice(BODIES) if chance.random() < 0.6 else None
    if body is not None and version == "HTTP/1.1" and chance.random() < 0.4:
        fields.append(b"Transfer-Encoding: chunked")
        body = _chunked(chance, body)
    elif body is not None:
        fields.append(b"Content-Length: %d" % len(body))
    chance.shuffle(fields)
    line = f"{chance.choice(METHODS)} {chance.choice(TARGETS)} {version}".encode()
    blank = b"\r\n" * chance.choice((0, 0, 0, 1, 2))
    return blank + b"\r\n".join([line, *fields]) + b"\r\n\r\n" + (body or b"")


def _chunked(chance: random.Random, body: bytes) -> bytes:
    pieces = []
    while body:
        size = chance.randrange(1, len(body) + 1)
        extension = chance.choice((b"", b"", b";a", b";a=b", b';a="b c"'))
        pieces.append(b"%x%b\r\n%b\r\n" % (size, extension, body[:size]))
        body = body[size:]
    return b"".join(pieces) + b"0\r\n" + chance.choice((b"", b"X-Trailer: y\r\n")) + b"\r\n"


def random_stream(chance: random.Random) -> bytes:
    """Make a stream of some valid requests."""
    return b"".join(random_request(chance) for _ in range(chance.randrange(1, 5)))


def broken(chance: random.Random, stream: bytes) -> bytes:
    """Damage a stream at one to three places: bytes inserted, removed, replaced or repeated."""
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(stream))
        gone = chance.choice((0, 0, 1, 1, 2, 5))
        put = chance.choice((chance.choice(NOISE), b"", stream[at : at + chance.randrange(8)] * 2))
        stream = stream[:at] + put + stream[at + gone :] or b"x"
    return stream


def cut(chance: random.Random, stream: bytes) -> list[bytes]:
    """Cut a stream at some random places."""
    places = sorted(chance.sample(range(len(stream) + 1), min(len(stream), chance.randrange(1, 8))))
    return [stream[begin:end] for begin, end in zip([0, *places], [*places, len(stream)], strict=True) if begin < end]
