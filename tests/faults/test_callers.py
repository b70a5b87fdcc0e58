"""Callers that are slow, silent or too many: they are let go of or told at once, and the others notice nothing."""

import asyncio
import ssl
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from aiohttp import ClientSession

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.config.model import Tls
from chatsvc.domain.limiter import Slot
from chatsvc.domain.models import Usage
from chatsvc.engines import Reply, Turn
from chatsvc.engines.fair_share import AT_A_TIME
from chatsvc.engines.knowledge import KnowledgeEngine, dialogue
from chatsvc.web import connection, listeners
from tests.api.support import Wire, request
from tests.conftest import Caller, MakeCaller
from tests.fakes import ScriptedEngine
from tests.faults.support import soon, told
from tests.webhooks.certificates import Authority


async def test_a_tls_handshake_that_is_never_finished_ends_and_others_go_on(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert listeners.HANDSHAKE_TIMEOUT_S == connection.SILENT_TIMEOUT_S == 10
    monkeypatch.setattr(listeners, "HANDSHAKE_TIMEOUT_S", 1.0)
    monkeypatch.setattr(connection, "SILENT_TIMEOUT_S", 1.0)
    authority = Authority(tmp_path)
    authority.server("127.0.0.1")
    pem = tmp_path / "CN=root-1.pem"
    secured = replace(config, server=replace(config.server, tls=Tls(pem, pem)))
    trusting = ssl.create_default_context(cafile=authority.file)
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 32
    async with App(secured) as app, ClientSession() as session:
        wires = [Wire(*await asyncio.open_connection("127.0.0.1", app.port)) for _ in range(20)]
        for wire in wires[::2]:
            await wire.send(hello)
        async with session.get(f"{app.url}/api/v2/chatbots", ssl=trusting) as response:
            assert response.status == 401
        assert await asyncio.gather(*(wire.is_closed() for wire in wires)) == [True] * 20
        for wire in wires:
            await wire.close()


class Slow:
    """A model that is slow with some, and quick with all others."""

    def __init__(self, engine: ScriptedEngine, word: str) -> None:
        self.let_go = asyncio.Event()
        self.waiting = 0
        self._word = word
        self._quick = engine

    async def reply(self, turn: Turn) -> Reply:
        if self._word in turn.message:
            self.waiting += 1
            await self.let_go.wait()
        return Reply(f"echo: {turn.message}", Usage(1, 1))

    async def start(self) -> None:
        """See Engine.start."""

    async def close(self) -> None:
        """See Engine.close."""


@pytest.fixture
def slow(app: App, engine: ScriptedEngine) -> Slow:
    slow = Slow(engine, "slow")
    app.services.engines["anthropic"] = slow
    return slow


async def test_an_account_whose_model_is_slow_slows_down_no_other(make_caller: MakeCaller, slow: Slow) -> None:
    patient, other = await make_caller(), await make_caller()
    waiting = [asyncio.create_task(patient.send("slow", f"visitor {number}")) for number in range(200)]
    assert await soon(lambda: slow.waiting >= 90)  # the callers' own client opens a hundred connections
    async with ClientSession() as session:
        quick = Caller(other.app, session, other.account, other.bot, other.key)
        for number in range(20):
            assert (await quick.send("quick", f"visitor {number}")).status == 200
    assert not any(task.done() for task in waiting)
    slow.let_go.set()
    assert {answer.status for answer in await asyncio.gather(*waiting)} == {200}
    assert (await told(patient))[0] == 200
    assert (await told(other))[0] == 20


class Busy(KnowledgeEngine):
    """Counts how many pieces of the crowd's work run while another account's waits for its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.done = self.waited = 0
        monkeypatch.setattr(dialogue, "reply", self._work)

    async def reply(self, turn: Turn) -> Reply:
        before = self.done
        reply = await super().reply(turn)
        self.waited = max(self.waited, self.done - before) if turn.message == "other" else self.waited
        return reply

    def _work(self, turn: Turn) -> Reply:
        self.done += 1
        sleep(0.01)  # of the processor
        return Reply(f"echo: {turn.message}", Usage(1, 1))


async def test_a_crowd_of_one_account_does_not_make_another_wait(make_caller: MakeCaller, monkeypatch: pytest.MonkeyPatch) -> None:
    crowded, other = await make_caller(), await make_caller()
    busy = crowded.app.services.engines["anthropic"] = Busy(monkeypatch)
    assert (await crowded.send("hello")).status == 200  # what the first message loads is loaded
    crowd = [asyncio.create_task(crowded.send("hello", f"visitor {number}")) for number in range(90)]
    assert await soon(lambda: busy.done > 1)
    async with ClientSession() as session:
        caller = Caller(other.app, session, other.account, other.bot, other.key)
        assert (await caller.send("other", "visitor")).status == 200
    assert 1 <= busy.waited <= 2 * AT_A_TIME
    assert {answer.status for answer in await asyncio.gather(*crowd)} == {200}
    assert busy.done == 92


async def test_a_conversation_that_waits_for_its_model_slows_down_no_other_of_the_same_bot(caller: Caller, slow: Slow) -> None:
    waiting = [asyncio.create_task(caller.send("slow", "one visitor")) for _ in range(20)]
    assert await soon(lambda: slow.waiting >= 1)
    for number in range(20):
        assert (await caller.send("quick", f"visitor {number}")).status == 200
    assert slow.waiting == 1, "the same conversation is never answered twice at the same time"
    slow.let_go.set()
    assert {answer.status for answer in await asyncio.gather(*waiting)} == {200}


async def test_half_sent_bodies_keep_nobody_out(caller: Caller, make_caller: MakeCaller, monkeypatch: pytest.MonkeyPatch) -> None:
    services, other = caller.app.services, await make_caller()
    take, taken = caller.app._limiter.take, list[Slot]()

    async def noted(*request: Any) -> Slot:
        taken.append(await take(*request))
        return taken[-1]

    monkeypatch.setattr(caller.app._limiter, "take", noted)
    services.tallies.most = 4
    wires = [Wire(*await asyncio.open_connection("127.0.0.1", caller.app.port)) for _ in range(20)]
    for wire in wires:
        await wire.send(request("POST", "/api/v2/messages", caller, "Content-Length: 500") + b"{")
    assert await soon(lambda: len(taken) == 20)
    for asker in (caller, other):
        assert (await asker.send()).status == 200
    for wire in wires:
        wire.hang_up()


async def test_an_account_has_half_of_the_requests_in_flight_at_most(caller: Caller, make_caller: MakeCaller, slow: Slow) -> None:
    services, other = caller.app.services, await make_caller()
    services.tallies.most = 4
    waiting = [asyncio.create_task(caller.send("slow", f"visitor {number}")) for number in range(2)]
    assert await soon(lambda: slow.waiting == 2)
    refused = await caller.send("quick")
    assert (refused.status, refused.error) == (503, "service_unavailable")
    assert (await other.send("quick")).status == 200
    slow.let_go.set()
    assert {answer.status for answer in await asyncio.gather(*waiting)} == {200}
    assert (await caller.send("quick")).status == 200
