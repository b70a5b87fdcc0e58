"""Random HTTP streams: they are read as h11 reads them, wherever the network cuts them. CHATSVC_FUZZ sets how many, in all."""

import os
import random
import re
from typing import NamedTuple

import h11
import pytest
from aiohttp import web

from chatsvc.web.requests import read_body
from tests.http.support import broken, cut, exchange, random_stream, serving

COUNT = int(os.environ.get("CHATSVC_FUZZ", "100"))
SEED = int(os.environ.get("CHATSVC_FUZZ_SEED", "0"))


class Message(NamedTuple):
    """A request that has been read to its end."""

    method: str
    target: str
    body: bytes


def read_by_h11(stream: bytes) -> list[Message]:
    """Read the whole requests of a stream with h11. It refuses blank lines between requests, which servers ignore (RFC 9112, 2.2)."""
    messages: list[Message] = []
    while stream := stream.lstrip(b"\r\n"):
        connection = h11.Connection(h11.SERVER, max_incomplete_event_size=64 * 1024)
        connection.receive_data(stream)
        connection.receive_data(b"")
        head, body = None, b""
        try:
            while not isinstance(event := connection.next_event(), h11.EndOfMessage):
                if isinstance(event, h11.Request):
                    head = event
                elif isinstance(event, h11.Data):
                    body += event.data
                else:
                    return messages
        except h11.RemoteProtocolError:
            return messages
        assert head is not None
        messages.append(Message(head.method.decode(), head.target.decode("latin-1"), body))
        stream, _ = connection.trailing_data
    return messages


@pytest.mark.parametrize("is_broken", [False, True], ids=["valid", "broken"])
async def test_nothing_is_read_from_a_stream_that_h11_does_not_read(is_broken: bool) -> None:
    read: list[Message] = []

    async def handler(request: web.Request) -> web.Response:
        message = Message(request.method, request.raw_path, await read_body(request, 100_000))
        read.append(message)
        return web.Response(text="x")

    chance = random.Random(f"{SEED} {is_broken}")
    async with serving(handler) as port:
        for _ in range(COUNT):
            stream = random_stream(chance)
            stream = broken(chance, stream) if is_broken else stream
            if re.search(rb"[A-Z]  ", stream):
                continue  # two spaces in a request line are one to llhttp
            read.clear()
            await exchange(port, [stream])
            theirs = read_by_h11(stream)
            assert read == theirs[: len(read)], stream
            assert is_broken or read, stream


async def _repeat(request: web.Request) -> web.Response:
    """Answer with what was asked; half of the bodies are read, the others left."""
    body = await read_body(request, 10_000) if len(request.raw_path) % 2 else b"unread"
    return web.Response(text=f"{request.method} {request.raw_path} {body!r}")


async def test_it_makes_no_difference_where_a_valid_stream_is_cut() -> None:
    chance = random.Random(f"{SEED} answers")
    async with serving(_repeat) as port:
        for _ in range(COUNT // 3):
            stream = random_stream(chance)
            if b"Upgrade" in stream or b"Expect" in stream:
                continue  # the connection may end with it, or with an unread body that has not arrived
            whole = await exchange(port, [stream])
            assert await exchange(port, cut(chance, stream)) == whole, stream
