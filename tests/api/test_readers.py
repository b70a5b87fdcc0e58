"""Callers who do not read what they asked for: they are let go of in time, hold next to no memory, and hinder nobody."""

import asyncio
import gc
import socket

import pytest
from aiohttp.http import HttpRequestParser

from chatsvc.app import App
from chatsvc.web import connection
from chatsvc.web.connection import HttpConnection
from tests.api.conftest import Connect
from tests.api.support import Wire, insert_history, request, until
from tests.conftest import Caller

LETTERS = 4_000
MESSAGES = 500


async def test_a_caller_who_does_not_read_its_answer_is_disconnected(
    app: App, caller: Caller, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "READER_TIMEOUT_S", 0.3)
    conversation = await insert_history(app, caller, MESSAGES, LETTERS)
    wire = await connect()
    wire.stop_reading()
    await wire.send(request("GET", f"/api/v2/conversations/{conversation}?message_limit=500", caller) * 4)
    await until(lambda: not app.listeners._servers[0].connections)
    wire.go_on_reading()
    assert await wire.breaks_off()


async def _a_little_unread(app: App, caller: Caller, wire: Wire) -> int:
    """Send requests until an answer no longer fits into the sockets. Returns their number."""
    conversation = await insert_history(app, caller, 3, LETTERS)
    connections, asked = app.listeners._servers[0].connections, 0
    await wire.send(request("GET", "/healthz"))
    await wire.answer()
    wire.stop_reading()
    (connection,) = connections
    transport = connection.transport
    assert transport is not None
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8192)
    async with asyncio.timeout(30):
        while not transport.get_write_buffer_size():
            before = app.services.tallies.requests.total()
            await wire.send(request("GET", f"/api/v2/conversations/{conversation}", caller))
            asked += 1
            while app.services.tallies.requests.total() == before and not transport.get_write_buffer_size():  # noqa: ASYNC110  # inside of the service
                await asyncio.sleep(0.002)
    assert transport.get_write_buffer_size() < 16 * 1024
    return asked


async def test_a_caller_who_leaves_little_unread_is_disconnected_too(
    app: App, caller: Caller, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "READER_TIMEOUT_S", 0.5)
    monkeypatch.setattr(connection, "KEEPALIVE_S", 1.0)
    await _a_little_unread(app, caller, await connect())
    await until(lambda: not app.listeners._servers[0].connections)


async def test_a_service_that_stops_leaves_its_callers_time_to_read(app: App, caller: Caller, connect: Connect) -> None:
    wire = await connect()
    asked = await _a_little_unread(app, caller, wire)
    stopping = asyncio.create_task(app.stop())
    await asyncio.sleep(0.2)
    wire.go_on_reading()
    for _ in range(asked):
        assert len((await wire.answer()).json["data"]["messages"]) == 3
    assert await wire.is_closed()
    await stopping


async def test_a_connection_leaves_nothing_behind(app: App, caller: Caller, connect: Connect) -> None:
    connections = app.listeners._servers[0].connections

    def held() -> set[int]:
        return {id(thing) for thing in gc.get_objects() if isinstance(thing, (HttpConnection, HttpRequestParser))}

    async def one(sent: bytes) -> None:
        wire = await connect()
        await wire.send(sent)
        await wire.answer()
        await wire.close()

    whole = request("POST", "/api/v2/messages", caller, body=b"{}")
    kinds = [whole, request("GET", "/api/v2/chatbots", caller), b"junk\r\n\r\n"]
    for sent in kinds:
        await one(sent)
    await until(lambda: not connections)
    gc.collect()
    gc.disable()
    left_by_others = held()
    try:
        for sent in kinds:
            for _ in range(5):
                await one(sent)
        # A timer holds a connection for a moment after its client has gone; no cycle of references does.
        await until(lambda: held() <= left_by_others)
    finally:
        gc.enable()


async def test_a_caller_who_reads_slowly_gets_the_whole_answer(app: App, caller: Caller, connect: Connect) -> None:
    conversation = await insert_history(app, caller, MESSAGES, LETTERS)
    asked = request("GET", f"/api/v2/conversations/{conversation}?message_limit=500", caller)
    at_once, slow = await connect(), await connect()
    await at_once.send(asked)
    expected = await at_once.answer()
    slow.stop_reading()
    await slow.send(asked * 3)
    await asyncio.sleep(0.2)
    slow.go_on_reading()
    for _ in range(3):
        answer = await slow.answer()
        assert answer.status == 200
        assert answer.body == expected.body
    assert len(expected.body) > MESSAGES * LETTERS
