"""The connections to a model's server: what may be used again, and how a name's addresses are tried."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, Self

import pytest

from chatsvc.engines.anthropic import client as client_module
from chatsvc.engines.anthropic.client import Client
from chatsvc.engines.anthropic.faults import ModelFault
from chatsvc.outbound import http_pool
from chatsvc.outbound.dialler import Dialler
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.http_connection import ClientConnection
from tests.engines.model_server import ModelServer, hangs

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
BODY: dict[str, object] = {"model": "m"}


class Server:
    """Answers each request with the next of `answers`, repeating the last. `requests` are kept by connection."""

    def __init__(self, *answers: bytes, hang_up: bool = False) -> None:
        self.answers, self.hang_up = list(answers), hang_up
        self.requests: list[int] = []
        self.writers: list[asyncio.StreamWriter] = []
        self.ended = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self.writers:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append(0)
        place = len(self.requests) - 1
        self.writers.append(writer)
        while head := await reader.readline():
            length = 0
            while head.strip():
                name, _, value = head.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
                head = await reader.readline()
            await reader.readexactly(length)
            self.requests[place] += 1
            writer.write(self.answers.pop(0) if len(self.answers) > 1 else self.answers[0])
            await writer.drain()
            if self.hang_up:
                writer.close()
                return
        self.ended += 1


@pytest.fixture
async def make() -> AsyncIterator[Callable[[Server], Client]]:
    made: list[Client] = []

    def build(server: Server) -> Client:
        made.append(Client(f"http://127.0.0.1:{server.port}", "key", hosted=False, egress=Egress()))
        return made[-1]

    yield build
    for client in made:
        await client.close()


Make = Callable[[Server], Client]


async def test_a_connection_is_kept_for_the_next_call(make: Make) -> None:
    async with Server(OK) as server:
        client = make(server)
        assert [await client.send(BODY) for _ in range(3)] == [b"{}"] * 3
        assert server.requests == [3]


NOT_AGAIN = {
    "says that it closes": OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"),
    "is of HTTP/1.0": OK.replace(b"HTTP/1.1", b"HTTP/1.0"),
    "says more than it announced": OK + b"more",
    "answers twice": OK + OK,
    "is refused without a body": b"HTTP/1.1 304 Not Modified\r\n\r\n",
}


@pytest.mark.parametrize("answer", NOT_AGAIN.values(), ids=NOT_AGAIN)
async def test_a_connection_that_was_used_oddly_is_not_used_again(make: Make, answer: bytes) -> None:
    async with Server(answer, OK) as server:
        client = make(server)
        with suppress(ModelFault):  # that the server may say; what counts is the next one
            await client.send(BODY)
        assert await client.send(BODY) == b"{}"
        assert server.requests == [1, 1]


async def test_what_comes_unasked_on_a_kept_connection_is_nobodys_answer(make: Make) -> None:
    async with Server(OK) as server:
        client = make(server)
        await client.send(BODY)
        server.writers[0].write(OK.replace(b"{}", b"[]"))
        await asyncio.sleep(0.05)
        assert await client.send(BODY) == b"{}"
        assert server.requests == [1, 1]


async def test_a_kept_connection_that_was_closed_is_not_used_even_before_the_event_loop_has_heard_of_it(make: Make) -> None:
    async with Server(OK) as server:
        client = make(server)
        await client.send(BODY)
        raw: socket.socket = server.writers[0].get_extra_info("socket")
        with socket.socket(fileno=os.dup(raw.fileno())) as other:
            other.shutdown(socket.SHUT_WR)
            # No turn of the loop lies in between.
            assert await client.send(BODY) == b"{}"
        assert server.requests == [1, 1]


async def test_an_answer_without_a_length_ends_with_its_connection(make: Make) -> None:
    async with Server(b'HTTP/1.1 200 OK\r\n\r\n{"a":', hang_up=True) as server:
        assert await make(server).send(BODY) == b'{"a":'


async def test_interim_answers_are_waited_past(make: Make) -> None:
    async with Server(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK) as server:
        assert await make(server).send(BODY) == b"{}"


async def test_a_kept_connection_is_let_go_before_the_server_does(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_IDLE_S_ON_PREM", 0.1)
    async with Server(OK) as server:
        client = make(server)
        await asyncio.gather(*(client.send(BODY) for _ in range(3)))
        assert len(server.requests) == 3
        await asyncio.sleep(0.25)
        assert server.ended == 3
        assert await client.send(BODY) == b"{}"


async def test_no_more_connections_than_there_is_room_for(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_pool, "CONNECTIONS", 2)
    async with Server(OK) as server:
        client = make(server)
        assert await asyncio.gather(*(client.send(BODY) for _ in range(20))) == [b"{}"] * 20
        assert len(server.requests) == 2


async def test_a_server_that_lets_nobody_in_is_unreachable_in_time_and_worth_another_try(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_pool, "CONNECT_TIMEOUT_S", 0.1)
    with socket.socket() as listener, socket.socket() as first:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        # Nobody accepts, and there is room for one to wait.
        first.connect(listener.getsockname())
        client = Client(f"http://127.0.0.1:{listener.getsockname()[1]}", "", hosted=False, egress=Egress())
        with pytest.raises(ModelFault) as raised:
            await asyncio.wait_for(client.send(BODY), 5.0)
        await client.close()
    assert (raised.value.reason, raised.value.detail, raised.value.retryable) == ("unreachable", "TimeoutError", True)


async def test_who_gives_up_takes_the_connection_along() -> None:
    async with ModelServer(always=hangs()) as server:
        client = Client(server.url, "", hosted=False, egress=Egress())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await client.send(BODY)
        assert not client._pool._busy
        assert not client._pool._idle
        await client.close()


async def test_what_has_been_sent_is_not_kept_while_the_answer_is_waited_for() -> None:
    calls, size = 10, 1_000_000
    arrived, all_arrived = 0, asyncio.Event()

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal arrived
        while piece := await reader.read(65_536):
            arrived += len(piece)
            if arrived >= calls * size:
                all_arrived.set()
        writer.close()

    server = await asyncio.start_server(swallow, "127.0.0.1", 0)
    client = Client(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "", hosted=False, egress=Egress())
    body: dict[str, object] = {"messages": "x" * size}
    tracemalloc.start()
    try:
        tasks = [asyncio.create_task(client.send(body)) for _ in range(calls)]
        await asyncio.wait_for(all_arrived.wait(), 10.0)
        await asyncio.sleep(0.05)
        assert tracemalloc.get_traced_memory()[0] < calls * size / 4
    finally:
        tracemalloc.stop()
    await client.close()
    assert all(isinstance(fault, ModelFault) for fault in await asyncio.gather(*tasks, return_exceptions=True))
    server.close()


async def test_a_connection_that_has_gone_leaves_nothing_for_the_garbage_collector(make: Make) -> None:
    def left() -> int:
        return sum(type(one) is ClientConnection for one in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        async with Server(OK) as server:
            client = make(server)
            await client.send(BODY)
            assert left() == 1
            await client.close()
            await asyncio.sleep(0.05)
        assert left() == 0
    finally:
        gc.enable()


# --- the addresses of a name -----------------------------------------------------------------------------------------


def leads_to(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[str]:
    """Every name has these addresses; gives the names that are looked up."""
    asked: list[str] = []

    async def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        asked.append(host)
        return [(socket.AF_INET6 if ":" in one else socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in addresses]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    return asked


async def test_an_address_that_refuses_is_followed_by_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Server(OK) as server:
        asked = leads_to(monkeypatch, "127.0.0.2", "127.0.0.1")
        egress = Egress()
        client = Client(f"http://bots.test:{server.port}", "", hosted=False, egress=egress)
        assert await asyncio.gather(*(client.send(BODY) for _ in range(5))) == [b"{}"] * 5
        assert asked == ["bots.test"]
        assert egress.opened["model"] == 10
        await client.close()


async def test_an_address_that_says_nothing_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    leads_to(monkeypatch, "::1", "fe80::1", "127.0.0.1")
    dialler = Dialler(Egress(), "model", "bots.test", 80, None)
    tried: list[str] = []

    async def create_connection(factory: Callable[[], asyncio.Protocol], host: str, *_: Any, **__: Any) -> tuple[Any, asyncio.Protocol]:
        tried.append(host)
        if ":" in host:
            await asyncio.sleep(60)
        return None, factory()

    monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", create_connection)
    began = time.monotonic()
    assert isinstance(await dialler.open(asyncio.Protocol), asyncio.Protocol)
    assert tried == ["::1", "127.0.0.1"]
    assert time.monotonic() - began < 2.0


async def test_a_name_whose_addresses_all_refuse_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    leads_to(monkeypatch, "127.0.0.1", "127.0.0.2")
    with pytest.raises(OSError, match=r"refused|failed"):
        await Dialler(Egress(), "model", "bots.test", 1, None).open(asyncio.Protocol)


async def test_a_name_that_could_not_be_looked_up_is_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    dialler = Dialler(Egress(), "model", "nowhere.invalid", 80, None)
    with pytest.raises(socket.gaierror):
        await dialler.open(asyncio.Protocol)
    async with Server(OK) as server:
        leads_to(monkeypatch, "127.0.0.1")
        dialler._port = server.port
        assert isinstance(await dialler.open(asyncio.Protocol), asyncio.Protocol)
