"""Connections that are kept: none is closed as its next request arrives, and no response is lost at the end."""

import asyncio
import random
import socket
from contextlib import closing

import pytest
from aiohttp import ClientSession, TCPConnector, web

from chatsvc.web import connection, limits
from chatsvc.web.requests import read_body
from tests.api.support import Wire
from tests.http.support import serving

WHOLE = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def _answer(request: web.Request) -> web.Response:
    await read_body(request, 1000)
    await asyncio.sleep(0.002)
    return web.Response(text="hello")


async def _read_head(sock: socket.socket) -> bytes:
    """Receive a response; empty where the server closes first."""
    received = b""
    while not received.endswith(b"\r\n\r\nhello"):
        try:
            piece = await asyncio.to_thread(sock.recv, 10_000)
        except ConnectionResetError:
            return b"reset"
        if not piece:
            return received
        received += piece
    return received


async def test_a_crowd_from_one_address_is_answered_without_a_broken_connection() -> None:
    async with serving(_answer, per_address=20) as port:

        async def chat(chance: random.Random) -> list[int]:
            statuses = []
            async with ClientSession(connector=TCPConnector(limit=1)) as session:
                for _ in range(10):
                    async with session.post(f"http://127.0.0.1:{port}/", data=b"x" * 100) as answer:
                        statuses.append(answer.status)
                        await answer.read()
                    await asyncio.sleep(chance.random() * 0.05)
            return statuses

        answers = await asyncio.gather(*(chat(random.Random(number)) for number in range(60)))
        assert answers == [[200] * 10] * 60


async def test_a_connection_on_which_a_request_has_arrived_is_not_closed_for_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "IDLE_S", 0.0)
    async with serving(_answer, per_address=1) as port:
        address = ("127.0.0.1", port)
        with closing(socket.create_connection(address)) as connection, closing(socket.create_connection(address)) as other:
            connection.sendall(WHOLE)
            assert (await _read_head(connection)).startswith(b"HTTP/1.1 200 ")
            await asyncio.sleep(0.05)
            # Both are in the kernel's buffers before the service reads any of them, the one that needs the lease first.
            other.sendall(WHOLE)
            connection.sendall(WHOLE)
            last = await _read_head(connection)
            assert last.startswith(b"HTTP/1.1 200 ")
            assert b"\r\nConnection: close\r\n" in last
            assert (await _read_head(other)).startswith(b"HTTP/1.1 200 ")


async def test_a_connection_that_has_just_become_idle_is_kept_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "IDLE_S", 60.0)
    async with serving(_answer, per_address=1) as port:
        connection, other = [Wire(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(2)]
        await connection.send(WHOLE)
        await connection.line()
        await other.send(WHOLE)
        await asyncio.sleep(0.1)
        await connection.send(WHOLE)
        connection.send_no_more()
        assert (await other.line()).startswith(b"HTTP/1.1 200 ")
        connection.hang_up()
        other.hang_up()


async def test_a_refused_client_that_is_still_sending_sees_the_end_and_no_reset() -> None:
    async with serving(_answer) as port:
        with closing(socket.create_connection(("127.0.0.1", port))) as sock:
            await asyncio.to_thread(sock.sendall, b"\0" * 300_000)
            received = await _read_head(sock)
            assert received.startswith(b"HTTP/1.1 400 ")
            assert received.endswith(b"BadRequest")


async def test_a_head_that_begins_late_on_a_kept_connection_has_its_whole_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "KEEPALIVE_S", 2.0)
    async with serving(_answer) as port:
        with closing(socket.create_connection(("127.0.0.1", port))) as sock:
            sock.sendall(WHOLE)
            assert (await _read_head(sock)).startswith(b"HTTP/1.1 200 ")
            await asyncio.sleep(0.3)
            sock.sendall(WHOLE[:10])
            await asyncio.sleep(2.0)
            sock.sendall(WHOLE[10:])
            assert (await _read_head(sock)).startswith(b"HTTP/1.1 200 ")


async def test_a_client_that_never_closes_its_side_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "LINGER_S", 0.2)
    async with serving(_answer, per_address=1) as port:
        with (
            closing(socket.create_connection(("127.0.0.1", port))) as first,
            closing(socket.create_connection(("127.0.0.1", port))) as second,
        ):
            first.sendall(WHOLE.replace(b"Host", b"Connection: close\r\nHost"))
            assert (await _read_head(first)).startswith(b"HTTP/1.1 200 ")
            second.sendall(WHOLE)
            assert (await _read_head(second)).startswith(b"HTTP/1.1 200 ")
