"""Three services over one PostgreSQL, which behave as one."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.config.model import DEFAULT_CONNECTIONS
from chatsvc.config.values import Secret
from chatsvc.services.accounts import accounts
from chatsvc.services.operations.stores import SeveralProcesses
from chatsvc.store import nodes, open_turns
from chatsvc.store.database import Connection, Database
from tests.api.support import until
from tests.conftest import Answer, Caller, new_caller
from tests.fakes import ADMIN, FakeClock, ScriptedEngine, failing
from tests.postgres import Postgres
from tests.processes.support import MASTER_KEY

LIMIT = 100


class Service:
    """Services over one store, with one customer."""

    def __init__(self, apps: list[App], engines: list[ScriptedEngine], callers: list[Caller]) -> None:
        self.apps, self.engines, self.callers = apps, engines, callers

    async def send(self, count: int, message: str = "hello", **fields: Any) -> list[Answer]:
        """Send messages at once, to each process in turn."""
        return list(await asyncio.gather(*(self.callers[number % 3].send(message, **fields) for number in range(count))))

    async def change(self, **changes: Any) -> None:
        await accounts.change(self.apps[0].services, ADMIN, account=self.callers[0].account, **changes)


@pytest.fixture
async def service(postgres: Postgres, config: Config, clock: FakeClock, session: ClientSession, tmp_path: Path) -> AsyncIterator[Service]:
    store = SeveralProcesses(postgres.target(postgres.new_database()), DEFAULT_CONNECTIONS)
    async with AsyncExitStack() as stack:
        apps, engines = [], []
        for name in ("one", "two", "three"):
            limits = replace(config.limits, requests_per_minute=LIMIT)
            own = replace(config, data_dir=tmp_path / name, master_key=Secret(MASTER_KEY), limits=limits)
            app = await stack.enter_async_context(App(own, clock, store))
            engine = ScriptedEngine()
            app.services.engines["anthropic"] = engine
            apps.append(app)
            engines.append(engine)
        first = await new_caller(apps[0], session)
        yield Service(apps, engines, [Caller(app, session, first.account, first.bot, first.key) for app in apps])


async def told(caller: Caller) -> tuple[int, int]:
    """The messages of this month by one process: the account's and the bot's."""
    analytics, (bot,) = [(await caller.get(path)).json["data"] for path in ("/analytics", "/chatbots")]
    return analytics["account"]["messages_used"], bot["messages_used"]


async def test_the_allowance_is_exact_over_all_processes(service: Service) -> None:
    await service.change(messages_limit=20, credits=3)
    answers = await service.send(45)
    assert Counter(answer.status for answer in answers) == {200: 23, 402: 22}
    assert [await told(caller) for caller in service.callers] == [(23, 23)] * 3
    # A failed reply gives back what it held.
    await service.change(credits=1)
    for engine in service.engines:
        engine.script = failing("overloaded")
    assert {answer.status for answer in await service.send(3)} <= {402, 502}
    for engine in service.engines:
        engine.script = ScriptedEngine().script
    assert sorted(answer.status for answer in await service.send(3)) == [200, 402, 402]


async def test_the_rate_limit_is_exact_over_all_processes(service: Service) -> None:
    window = (await service.callers[0].get("/chatbots")).headers["X-RateLimit-Reset"]
    answers = [await service.callers[number % 3].get("/chatbots") for number in range(LIMIT + 20)]
    # Where the minute ended meanwhile, its window alone is looked at.
    same = [answer for answer in answers if answer.headers["X-RateLimit-Reset"] == window]
    statuses = [answer.status for answer in same]
    assert statuses == [200] * min(LIMIT - 1, len(same)) + [429] * max(0, len(same) - LIMIT + 1)
    left = [int(answer.headers["X-RateLimit-Remaining"]) for answer in same if answer.status == 200]
    assert left == list(range(LIMIT - 2, LIMIT - 2 - len(left), -1))


async def test_a_conversation_is_answered_one_message_at_a_time(service: Service) -> None:
    for engine in service.engines:
        engine.delay_s = 0.02
    answers = await service.send(12, user_id="visitor")
    assert {answer.status for answer in answers} == {200}
    turns = [turn for engine in service.engines for turn in engine.turns]
    assert sorted(len(turn.history) for turn in turns) == list(range(0, 24, 2))
    (conversation,) = (await service.callers[1].get("/conversations")).json["data"]
    thread = (await service.callers[2].get(f"/conversations/{conversation['id']}")).json["data"]
    assert [message["role"] for message in thread["messages"]] == ["user", "assistant"] * 12
    assert thread["message_count"] == 24


@pytest.mark.parametrize("reason", [None, "overloaded"])
async def test_an_idempotency_key_is_answered_once(service: Service, reason: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    joining, joined = set[str | None](), open_turns.joined

    async def noted(db: Database, number: int) -> Any:
        joining.add(db.node)
        return await joined(db, number)

    monkeypatch.setattr(open_turns, "joined", noted)
    gates = [asyncio.Event() for _ in service.engines]
    for engine, gate in zip(service.engines, gates, strict=True):
        engine.gate = gate
        if reason:
            engine.script = failing(reason)
    sent = asyncio.create_task(service.send(9, headers={"Idempotency-Key": "once"}))
    await until(lambda: len(joining) == 2 and sum(app.services.tallies.in_flight for app in service.apps) == 9)
    for gate in gates:
        gate.set()
    answers = await sent
    assert sum(len(engine.turns) for engine in service.engines) == 1
    assert {answer.status for answer in answers} == {502 if reason else 200}
    assert len({answer.json["reason"] if reason else answer.body for answer in answers}) == 1
    assert [await told(caller) for caller in service.callers] == [(0, 0) if reason else (1, 1)] * 3
    # Under other fields it is refused by every process.
    other = await service.send(3, "other", headers={"Idempotency-Key": "once"})
    assert [answer.error for answer in other] == ([answers[0].error] if reason else ["invalid_json"]) * 3


async def test_a_revoked_key_is_refused_by_all_from_the_next_request_on(service: Service) -> None:
    assert {answer.status for answer in await service.send(3)} == {200}
    (key,) = (await accounts.list_keys(service.apps[0].services, ADMIN, account=service.callers[0].account)).items
    await accounts.revoke_key(service.apps[1].services, ADMIN, key=key.key.id)
    assert {answer.error for answer in await service.send(3)} == {"invalid_api_key"}


async def test_one_that_was_taken_for_dead_answers_nothing_that_it_had_begun_and_costs_no_allowance(service: Service) -> None:
    await service.change(messages_limit=1)
    late, engine = service.callers[0], service.engines[0]
    engine.gate = asyncio.Event()
    sent = asyncio.create_task(late.send(user_id="visitor"))
    await until(lambda: len(engine.turns) == 1)
    assert (await service.callers[1].send()).status == 402
    name = late.app.services.db.node

    def removed(connection: Connection) -> list[str]:
        connection.execute("UPDATE nodes SET seen_at = 0 WHERE id = ?", (name,))
        return nodes.remove_dead(connection)

    # As after a break of its connection that the others have noticed.
    assert await service.apps[1].services.db.write(removed) == [name]
    assert (await service.callers[1].send(user_id="visitor")).status == 200
    engine.gate.set()
    assert (await sent).error == "service_unavailable"
    assert await told(service.callers[2]) == (1, 1)
    # It works on: what was held up was given up, and nothing else.
    await service.change(messages_limit=2)
    engine.gate = None
    assert (await late.send(user_id="visitor")).status == 200
