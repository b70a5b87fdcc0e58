"""The connections to a model's server: which are used again, how many there are, and how long an open one is waited for."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Self

import pytest

from chatsvc.engines.anthropic import client as client_module
from chatsvc.engines.anthropic.client import Client
from chatsvc.engines.anthropic.faults import ModelFault
from chatsvc.engines.anthropic.provider import Provider
from chatsvc.outbound import client as outbound
from chatsvc.outbound.egress import Egress
from tests.engines.model_server import ModelServer, hangs

if TYPE_CHECKING:
    from anthropic.types.message_create_params import MessageCreateParamsNonStreaming

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
BODY: MessageCreateParamsNonStreaming = {"model": "m", "max_tokens": 1, "messages": []}


class Server:
    """Answers each request with the next of `answers`, repeating the last. `requests` are counted by connection."""

    def __init__(self, *answers: bytes, hang_up: bool = False) -> None:
        self.answers, self.hang_up = list(answers), hang_up
        self.requests: list[int] = []
        self.writers: list[asyncio.StreamWriter] = []
        self.ended = asyncio.Semaphore(0)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self.writers:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append(0)
        index = len(self.requests) - 1
        self.writers.append(writer)
        while head := await reader.readline():
            length = 0
            while head.strip():
                name, _, value = head.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                head = await reader.readline()
            await reader.readexactly(length)
            self.requests[index] += 1
            writer.write(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
            await writer.drain()
            if self.hang_up:
                writer.close()
                return
        self.ended.release()

    async def connections_end(self, count: int) -> None:
        """Wait until so many further connections are closed by the client."""
        async with asyncio.timeout(10):
            for _ in range(count):
                await self.ended.acquire()


Make = Callable[[str], Client]


@pytest.fixture
async def egress() -> Egress:
    return Egress()


@pytest.fixture
async def make(egress: Egress) -> AsyncIterator[Make]:
    clients: list[Client] = []

    def build(url: str) -> Client:
        clients.append(Client(Provider.of(url, "key"), egress))
        return clients[-1]

    yield build
    for client in clients:
        await client.close()


async def test_a_connection_is_kept_for_the_next_call_and_counted_once(make: Make, egress: Egress) -> None:
    async with Server(OK) as server:
        client = make(server.url)
        assert [await client.send(BODY) for _ in range(3)] == [b"{}"] * 3
        assert (server.requests, egress.opened["model"]) == ([3], 1)


NOT_AGAIN = {
    "says that it closes": OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
    "is of HTTP/1.0": OK.replace(b"HTTP/1.1", b"HTTP/1.0"),
    "says more than it announced": OK + b"more",
    "answers twice": OK + OK,
}


@pytest.mark.parametrize("answer", NOT_AGAIN.values(), ids=NOT_AGAIN)
async def test_a_connection_that_was_used_oddly_is_not_used_again(make: Make, answer: bytes) -> None:
    async with Server(answer, OK) as server:
        client = make(server.url)
        with suppress(ModelFault):  # that the server may say; what counts is the next one
            await client.send(BODY)
        assert await client.send(BODY) == b"{}"
        assert server.requests == [1, 1]


async def test_an_answer_without_a_length_ends_with_its_connection(make: Make) -> None:
    async with Server(b'HTTP/1.1 200 OK\r\n\r\n{"a":', hang_up=True) as server:
        assert await make(server.url).send(BODY) == b'{"a":'


async def test_interim_answers_are_waited_past(make: Make) -> None:
    async with Server(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK) as server:
        assert await make(server.url).send(BODY) == b"{}"


async def test_a_kept_connection_is_let_go_before_the_server_does(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_IDLE_S_ON_PREM", 0.1)
    async with Server(OK) as server:
        client = make(server.url)
        await asyncio.gather(*(client.send(BODY) for _ in range(3)))
        assert len(server.requests) == 3
        await server.connections_end(3)
        assert await client.send(BODY) == b"{}"


async def test_a_server_that_lets_nobody_in_is_unreachable_in_time_and_worth_another_try(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbound, "CONNECT_TIMEOUT_S", 0.1)
    with socket.socket() as listener, socket.socket() as first:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        # Nobody accepts, and there is room for one to wait.
        first.connect(listener.getsockname())
        with pytest.raises(ModelFault) as raised:
            await asyncio.wait_for(make(f"http://127.0.0.1:{listener.getsockname()[1]}").send(BODY), 20)
    assert (raised.value.reason, raised.value.retryable) == ("unreachable", True)


async def test_who_gives_up_takes_the_connection_along_and_closing_ends_every_other(make: Make) -> None:
    async with Server(OK) as server:
        server.answers = [b""]  # nothing, while the connection stays open
        client = make(server.url)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await client.send(BODY)
        await server.connections_end(1)
        server.answers = [OK]
        await client.send(BODY)
        await client.close()
        await server.connections_end(1)


async def test_a_call_under_way_fails_as_unreachable_when_the_client_is_closed(make: Make) -> None:
    async with ModelServer(always=hangs()) as server:
        client = make(server.url)
        call = asyncio.create_task(client.send(BODY))
        await server.asked.wait()
        await client.close()
        with pytest.raises(ModelFault, match="unreachable"):
            await call
