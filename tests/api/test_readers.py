"""Callers who do not read what they asked for: they are let go of in time, hold next to no memory, and hinder nobody."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import tempfile
import tracemalloc

import pytest

from chatsvc.api import protocol
from chatsvc.app import App
from tests.api.conftest import Connect
from tests.api.support import Wire, insert_history, request
from tests.conftest import Caller

LETTERS = 4_000
MESSAGES = 500


async def _stalled(connect: Connect, sent: bytes, count: int) -> list[Wire]:
    wires = [await connect() for _ in range(count)]
    for wire in wires:
        wire.stop_reading()
        await wire.send(sent)
    return wires


async def test_a_caller_who_does_not_read_its_answer_is_disconnected(
    app: App, caller: Caller, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "READER_TIMEOUT_S", 0.3)
    conversation = await insert_history(app, caller, MESSAGES, LETTERS)
    asked = request("GET", f"/api/v2/conversations/{conversation}?message_limit=500", caller)
    (wire,) = await _stalled(connect, asked * 4, 1)
    await asyncio.sleep(0.8)
    wire.go_on_reading()
    assert await wire.breaks_off()


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


async def test_a_slow_caller_gets_the_whole_answer_where_it_cannot_wait_on_the_disk(
    app: App, caller: Caller, connect: Connect, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_room(**_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    conversation = await insert_history(app, caller, MESSAGES, LETTERS)
    asked = request("GET", f"/api/v2/conversations/{conversation}?message_limit=500", caller)
    monkeypatch.setattr(tempfile, "TemporaryFile", no_room)
    (slow,) = await _stalled(connect, asked * 3, 1)
    await asyncio.sleep(0.3)
    slow.go_on_reading()
    for _ in range(3):
        assert len((await slow.answer()).json["data"]["messages"]) == MESSAGES
    assert "No space left" in caplog.text


async def test_what_waits_for_its_readers_does_not_wait_in_memory(
    app: App, caller: Caller, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "READER_TIMEOUT_S", 120)
    conversation = await insert_history(app, caller, MESSAGES, LETTERS)
    asked = request("GET", f"/api/v2/conversations/{conversation}?message_limit=500", caller)
    await _stalled(connect, asked, 2)
    await asyncio.sleep(0.2)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    await _stalled(connect, asked * 3, 20)  # more than what the sockets themselves hold
    quiet, most = 0, 20 * MESSAGES * LETTERS / 5
    async with asyncio.timeout(60):
        while quiet < 5:  # the answers are still being made, which takes long on a busy machine
            await asyncio.sleep(0.2)
            gc.collect()
            quiet = quiet + 1 if tracemalloc.get_traced_memory()[0] - before < most else 0
    tracemalloc.stop()
