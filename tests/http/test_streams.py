"""Random HTTP streams: they are read as h11 reads them, wherever the network cuts them. CHATSVC_FUZZ sets how many, in all."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable
from typing import NamedTuple

import h11
import pytest

from chatsvc.http.faults import HttpFault
from chatsvc.http.parser import RequestParser
from chatsvc.http.request import HttpRequest
from chatsvc.http.response import HttpResponse
from tests.http.support import broken, cut, exchange, random_stream, serving

COUNT = int(os.environ.get("CHATSVC_FUZZ", "3000"))
SEED = int(os.environ.get("CHATSVC_FUZZ_SEED", "0"))
MOST_PIECES = 400  # of a stream that is fed byte by byte


class Message(NamedTuple):
    """A request that has been read to its end."""

    method: str
    target: str
    body: bytes


class Reading(NamedTuple):
    """The whole requests of a stream; `end` says what came behind: nothing ("open"), part of one, a fault, or what nobody looks at."""

    messages: list[Message]
    end: str


def read_by_us(pieces: Iterable[bytes]) -> Reading:
    """Read a stream as the service does."""
    parser, messages, head, body = RequestParser(), list[Message](), None, b""
    for piece in pieces:
        parser.receive(piece)
        try:
            while True:
                if head is None:
                    head, body = parser.next_head(), b""
                    if head is None:
                        break
                body += parser.take_body()
                if not parser.body_is_complete:
                    break
                messages.append(Message(head.method, head.target, body))
                if not head.keep_alive:
                    return Reading(messages, "closed")
                head = None
        except HttpFault:
            return Reading(messages, "refused")
    return Reading(messages, "partial" if head is not None or parser.buffered else "open")


def read_by_h11(stream: bytes) -> Reading:
    """Read a stream with h11. It refuses blank lines between requests, which servers ignore (RFC 9112, 2.2)."""
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
                    return Reading(messages, "partial")
        except h11.RemoteProtocolError as fault:
            ended = "without sending complete message body" in str(fault) or "peer unexpectedly closed" in str(fault)
            return Reading(messages, "partial" if ended else "refused")
        assert head is not None
        messages.append(Message(head.method.decode(), head.target.decode("latin-1"), body))
        stream, _ = connection.trailing_data
    return Reading(messages, "open")


@pytest.mark.parametrize("part", range(4))
def test_a_stream_of_requests_is_read_as_h11_reads_it(part: int) -> None:
    chance = random.Random(f"{SEED} valid {part}")
    for _ in range(COUNT // 8):
        stream = random_stream(chance)
        ours, theirs = read_by_us([stream]), read_by_h11(stream)
        assert theirs.end == "open", stream
        assert ours.messages == theirs.messages[: len(ours.messages)], stream
        assert ours.end == "closed" or ours == theirs, stream


@pytest.mark.parametrize("part", range(4))
def test_nothing_is_read_from_a_broken_stream_that_h11_does_not_read(part: int) -> None:
    chance = random.Random(f"{SEED} broken {part}")
    for _ in range(COUNT // 8):
        stream = broken(chance, random_stream(chance))
        ours, theirs = read_by_us([stream]), read_by_h11(stream)
        assert ours.messages == theirs.messages[: len(ours.messages)], stream


@pytest.mark.parametrize("part", range(4))
def test_it_makes_no_difference_where_a_stream_is_cut(part: int) -> None:
    chance = random.Random(f"{SEED} cut {part}")
    for _ in range(COUNT // 8):
        stream = random_stream(chance)
        if chance.random() < 0.5:
            stream = broken(chance, stream)
        whole = read_by_us([stream])
        assert read_by_us(cut(chance, stream)) == whole, stream
        if len(stream) < MOST_PIECES:
            assert read_by_us(bytes([byte]) for byte in stream) == whole, stream


async def _repeat(request: HttpRequest) -> HttpResponse:
    """Answer with what was asked; half of the bodies are read, the others left."""
    body = await request.body.read(10_000) if len(request.target) % 2 else b"unread"
    return HttpResponse(200, f"{request.method} {request.target} {body!r}".encode())


async def test_the_answers_make_no_difference_either() -> None:
    chance = random.Random(f"{SEED} answers")
    async with serving(_repeat) as port:
        for _ in range(COUNT // 30):
            stream = random_stream(chance)
            if chance.random() < 0.5:
                stream = broken(chance, stream)
            whole = await exchange(port, [stream])
            assert await exchange(port, cut(chance, stream)) == whole, stream
