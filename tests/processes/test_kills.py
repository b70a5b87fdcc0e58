"""Three processes over one PostgreSQL, disturbed at random moments: the store is compared with what callers and a webhook were told."""

import asyncio
import itertools
import json
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession, ClientTimeout, web

from chatsvc.delivery.webhooks import AT_ONCE
from tests.cli.support import Serving
from tests.crash.books import STRFTIME, disagreements_in
from tests.crash.test_kill import GONE, Customer, post
from tests.engines.model_server import ModelServer, says
from tests.postgres import Postgres, require_programs
from tests.processes.support import PostgresSite
from tests.processes.test_serving import fixed_port
from tests.proxy import Proxy, hangs
from tests.webhooks.certificates import Authority
from tests.webhooks.receiver import Receiver

_OUTSTANDING = "SELECT 1 FROM webhook_events WHERE state = 0 UNION ALL SELECT 1 FROM webhook_attempts WHERE success IS NULL LIMIT 1"
OF_A_CONVERSATION = 4  # messages, fewer than the requests that one conversation may make
LIMIT = 40  # messages of the account that two visitors want to use up

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unmeasured_processes")]


async def notes_and_replies(server: ModelServer, request: web.Request) -> web.StreamResponse:
    """A model that notes each message as a request, and repeats it in its reply."""
    messages = server.seen[-1].body["messages"]
    server.seen.clear()
    if isinstance(messages[-1]["content"], list):
        return await says(f"Noted: {messages[-3]['content']}")(server, request)
    noted = {"request_type": "quote", "quotes": [messages[-1]["content"]], "visitor_email": messages[-1]["content"].split()[-1]}
    used = {"type": "tool_use", "id": f"toolu_{random.getrandbits(60)}", "name": "note_request", "input": noted}
    body = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "stop_sequence": None}
    return web.json_response({**body, "content": [used], "usage": {"input_tokens": 1, "output_tokens": 1}})


class Visitor:
    """Sends one message after the other, each with an Idempotency-Key until it is answered: every attempt that fails is made again."""

    def __init__(self, name: str, of: Customer, ports: list[int]) -> None:
        self.name = name
        self._of, self._ports = of, itertools.cycle(ports)
        self.ending = False
        self.answered: list[tuple[str, str]] = []  # roles and texts, as the store has them
        self.refused = 0  # no message of the allowance was left
        self.statuses: Counter[int | str] = Counter()

    async def talk(self) -> None:
        async with ClientSession(timeout=ClientTimeout(20)) as session:
            for number in itertools.count():
                if self.ending:
                    break
                await self._send(
                    session, f"{self.name}-{number // OF_A_CONVERSATION}", f"{self.name} {number} {self.name}-{number}@example.com"
                )
                await asyncio.sleep(0.3)

    async def _send(self, session: ClientSession, user_id: str, message: str) -> None:
        body, once = {"chatbot_id": self._of.bot, "message": message, "user_id": user_id}, message.replace(" ", "_")
        while True:
            try:
                status, answer = await post(session, f"http://127.0.0.1:{next(self._ports)}", self._of.key, body, once)
            except GONE:
                self.statuses["gone"] += 1
                await asyncio.sleep(0.02)
                continue
            self.statuses[status] += 1
            if status == 200:
                self.answered += [("user", message), ("assistant", answer["data"]["reply"])]
                return
            if status == 402:
                self.refused += 1
                return
            # On a busy machine the model's answer may not come in time, either.
            assert status == 503 or (status, answer.get("reason")) == (502, "timeout"), (answer["error"], answer.get("reason"))
            await asyncio.sleep(0.05)


class Service:
    """Three processes, the first of which reaches PostgreSQL by a proxy; a webhook's receiver; visitors of two accounts."""

    def __init__(self, sites: list[PostgresSite], proxy: Proxy, receiver: Receiver) -> None:
        self.sites, self.proxy, self.receiver = sites, proxy, receiver
        self.processes: list[Serving] = []
        self.visitors: list[Visitor] = []
        self._talks: list[asyncio.Task[None]] = []
        self._starts: dict[int, asyncio.Task[None]] = {}

    async def start(self) -> None:
        """Make two accounts, one of which may send LIMIT messages, and start all processes and visitors."""
        first = self.sites[0]
        ports = [fixed_port(site) for site in self.sites]
        customers = []
        for name, limit in (("Large", 1_000_000), ("Small", LIMIT)):
            account = await asyncio.to_thread(first.account, name)
            await asyncio.to_thread(first.json, "account", "set", account, "--messages-limit", str(limit))
            customers.append(Customer(account, await asyncio.to_thread(first.bot, account), await asyncio.to_thread(first.key, account)))
        large, small = customers
        url = f"https://127.0.0.1:{self.receiver.port}/"
        await asyncio.to_thread(first.json, "webhook", "set", large.bot, url, "--event", "request.created")
        await asyncio.to_thread(first.run_as_admin, STRFTIME)
        for site in self.sites:
            self.processes.append(await asyncio.to_thread(site.serve))
        self.visitors = [Visitor(name, of, ports) for of, names in ((large, "abcd"), (small, "xy")) for name in names]
        self._talks = [asyncio.create_task(visitor.talk()) for visitor in self.visitors]

    @property
    def statuses(self) -> Counter[int | str]:
        """All attempts of all visitors by their outcome."""
        return sum((visitor.statuses for visitor in self.visitors), Counter())

    async def kill(self, number: int) -> None:
        """Kill a process, and start it again while others are killed."""
        if number in self._starts:
            await self._starts[number]
        await asyncio.to_thread(self.processes[number].end, signal.SIGKILL)
        self._starts[number] = asyncio.create_task(self.start_again(number))

    async def start_again(self, number: int) -> None:
        self.processes[number] = await asyncio.to_thread(self.sites[number].serve)

    async def started(self) -> None:
        """Wait until all processes that were killed work again."""
        await asyncio.gather(*self._starts.values())

    async def answers_again(self, within_s: float, messages: int = 20) -> None:
        """Wait until so many more messages are answered."""
        answered = self.statuses[200]
        async with asyncio.timeout(within_s):
            while self.statuses[200] < answered + messages:  # noqa: ASYNC110  # what is waited for happens in another process
                await asyncio.sleep(0.1)

    async def stop(self) -> None:
        """Let the visitors end with what they have begun, and the processes with the webhooks."""
        for visitor in self.visitors:
            visitor.ending = True
        async with asyncio.timeout(60):
            await asyncio.gather(*self._talks)
            # Those in flight of a process that died are taken over, too.
            while self.rows(_OUTSTANDING):  # noqa: ASYNC110  # what is waited for happens in another process
                await asyncio.sleep(0.2)

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        return self.sites[0].rows(statement)

    def check(self, *, interrupted: int) -> None:
        """Compare the store with what was told: nothing lost, nothing doubled, nothing over the limit.

        interrupted: how many processes may have left webhooks in flight.
        """
        stored: dict[str, list[tuple[str, str]]] = {visitor.name: [] for visitor in self.visitors}
        for user_id, role, content in self.rows(
            "SELECT c.user_id, m.role, m.content FROM messages m JOIN conversations c ON c.number = m.conversation ORDER BY m.number"
        ):
            stored[user_id.split("-")[0]].append((role, content))
        assert stored == {visitor.name: visitor.answered for visitor in self.visitors}
        assert disagreements_in(self.rows) == []
        assert self.rows("SELECT * FROM open_turns WHERE ended_at IS NULL") == []
        small = sum(len(visitor.answered) // 2 for visitor in self.visitors[4:])
        assert small == LIMIT if any(visitor.refused for visitor in self.visitors) else small <= LIMIT
        assert not any(visitor.refused for visitor in self.visitors[:4])
        # Each answered message of the large account made one record with its event, which was attempted once.
        asked = sorted(text for visitor in self.visitors[:4] for role, text in visitor.answered if role == "user")
        of_large = "FROM requests r JOIN webhook_events e ON e.record_id = r.id"
        assert sorted(text for (text,) in self.rows(f"SELECT r.message {of_large}")) == asked
        attempts = dict(self.rows(f"SELECT r.id, coalesce(a.error, '') {of_large} JOIN webhook_attempts a ON a.event_number = e.number"))
        assert len(attempts) == self.rows("SELECT count(*) FROM webhook_attempts")[0][0] == len(asked)
        received = Counter(json.loads(body)["data"]["id"] for body in self.receiver.bodies)
        assert set(received.values()) <= {1}
        missing = attempts.keys() - received
        assert {attempts[record] for record in missing} <= {"interrupted"}
        assert set(attempts.values()) <= {"", "interrupted"}
        assert len(missing) <= AT_ONCE * interrupted
        assert received.keys() <= attempts.keys()


@pytest.fixture
async def service(server: Postgres, tmp_path: Path) -> AsyncIterator[Service]:
    """Three processes that serve, with visitors that send."""
    async with running(server, tmp_path) as service:
        yield service


@asynccontextmanager
async def running(server: Postgres, tmp_path: Path, *others: Postgres) -> AsyncIterator[Service]:
    """Run three processes with visitors. `others`: servers that the processes know beside the first one."""
    authority, database = Authority(tmp_path), server.new_database()
    async with AsyncExitStack() as stack:
        model = await stack.enter_async_context(ModelServer(always=notes_and_replies))
        receiver = await stack.enter_async_context(Receiver(authority.server("127.0.0.1")))
        proxy = await stack.enter_async_context(Proxy(server.port))
        sites = [PostgresSite(tmp_path / str(number), server, database) for number in range(3)]
        for site in sites:
            site.change(f"127.0.0.1:{server.port}/", ",".join(f"127.0.0.1:{machine.port}" for machine in (server, *others)) + "/")
            site.change(
                "models: {offline: {engine: knowledge}}",
                "limits: {requests_per_minute: 1000000, connections_per_address: 1000}\n"
                f"webhooks: {{ca_file: {authority.file}, allowed_networks: [127.0.0.0/8]}}\n"
                f'engines: {{anthropic: {{base_url: "{model.url}", api_key: none-needed, timeout_s: 10}}}}\n'
                "models: {m: {engine: anthropic, model: m, input_usd_per_mtok: 1, output_usd_per_mtok: 2}}",
            )
        if not others:
            sites[0].change(f"127.0.0.1:{server.port}/", f"127.0.0.1:{proxy.port}/")
        service = Service(sites, proxy, receiver)
        try:
            await service.start()
            yield service
        finally:
            for visitor in service.visitors:
                visitor.ending = True
            await service.started()
            for process in service.processes:
                await asyncio.to_thread(process.end, signal.SIGKILL)


async def test_processes_that_are_killed_at_random_moments_lose_and_double_nothing(service: Service, pytestconfig: pytest.Config) -> None:
    chance, kills = random.Random(30), pytestconfig.getoption("--kills")
    for _ in range(kills):
        await service.answers_again(60, 1)  # however slowly the killed ones start
        await asyncio.sleep(chance.uniform(0, 1))
        await service.kill(chance.randrange(3))
    await service.started()
    await service.stop()
    service.check(interrupted=kills)


async def test_a_process_that_is_stopped_or_cut_off_for_a_while_loses_and_doubles_nothing(service: Service) -> None:
    # Shorter than its lease, and longer.
    for number, seconds in ((1, 3), (2, 12)):
        service.processes[number].process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        service.processes[number].process.send_signal(signal.SIGCONT)
    for seconds in (3, 12):
        with service.proxy.broken(hangs()):
            await asyncio.sleep(seconds)
    await service.answers_again(20)
    await service.stop()
    service.check(interrupted=4)
    assert [process.process.poll() for process in service.processes] == [None] * 3


async def test_a_rolling_restart_loses_and_doubles_nothing_and_interrupts_nothing(service: Service) -> None:
    for number in range(3):
        assert await asyncio.to_thread(service.processes[number].end) == 0
        await service.answers_again(20)
        await service.start_again(number)
        await service.answers_again(20)
    await service.stop()
    service.check(interrupted=0)


async def test_postgresql_that_is_restarted_loses_and_doubles_nothing(service: Service, server: Postgres) -> None:
    for _ in range(2):
        await asyncio.sleep(1)
        server.process.send_signal(signal.SIGINT)
        await asyncio.to_thread(server.process.wait, 20)
        await asyncio.to_thread(server.start)
        await service.answers_again(20)
    await service.stop()
    service.check(interrupted=3)


async def test_a_standby_that_is_promoted_has_all_that_was_answered(tmp_path: Path) -> None:
    require_programs()
    with Postgres(listens=True) as first, Postgres(listens=True, standby_of=first) as second:
        async with running(first, tmp_path, second) as service:
            await asyncio.sleep(2)
            first.process.send_signal(signal.SIGQUIT)
            await asyncio.to_thread(first.process.wait, 20)
            await asyncio.to_thread(second.administer, "SELECT pg_promote()")
            for site in service.sites:
                site.server = second
            await service.answers_again(30)
            await service.stop()
            service.check(interrupted=3)
            assert [process.process.poll() for process in service.processes] == [None] * 3
