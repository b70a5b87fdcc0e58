"""kill -9 at any moment: what was acknowledged is there, nothing is counted twice, and the books agree."""

import asyncio
import os
import random
import signal
import time
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientConnectionError, ClientPayloadError, ClientSession, ClientTimeout, web

from tests.cli.support import Serving, Site
from tests.crash.books import credits_left, disagreements, threads, times_written, totals
from tests.engines.model_server import ModelServer, fails, says

ROUNDS = int(os.environ.get("CHATSVC_CRASH", "3"))
CLIENTS = 8
MONTHLY = 150  # fewer than are sent: the later ones are paid with credits
CREDITS = 1_000_000
GONE = (ClientConnectionError, ClientPayloadError, ConnectionError, TimeoutError)


@dataclass
class Known:
    """The answers that callers have received."""

    acknowledged: list[tuple[str, str, str]] = field(default_factory=list)  # visitor, message, reply
    keyed: dict[str, dict[str, str]] = field(default_factory=dict)  # Idempotency-Key -> body, not acknowledged yet
    refused: set[str] = field(default_factory=set)  # answered with an error: must not be there
    doubtful: set[str] = field(default_factory=set)  # nobody knows
    again: set[str] = field(default_factory=set)  # sent again after a crash, several at once: in no order


@dataclass
class Customer:
    """One account with its bot and key."""

    account: str
    bot: str
    key: str


async def replies_or_fails(server: ModelServer, request: web.Request) -> web.StreamResponse:
    """A model that answers at once, and fails a fifth."""
    if random.random() < 0.2:
        return await fails(529, "overloaded_error")(server, request)
    asked = server.seen[-1].body["messages"][-1]["content"]
    server.seen.clear()
    text = asked if isinstance(asked, str) else asked[-1]["text"]
    return await says(f"reply to {text}")(server, request)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """An installation whose one tier is the model above."""
    async with ModelServer(always=replies_or_fails) as model:
        yield Site(
            tmp_path,
            "limits: {requests_per_minute: 1000000}\n"
            f'engines: {{anthropic: {{base_url: "{model.url}", api_key: none-needed, timeout_s: 10}}}}\n'
            "models: {m: {engine: anthropic, model: m, input_usd_per_mtok: 1, output_usd_per_mtok: 2}}\n",
        )


def customer(site: Site) -> Customer:
    """An account whose monthly messages run out during the test, with credits for the rest."""
    account = site.account()
    site.json("account", "set", account, "--messages-limit", str(MONTHLY), "--credits", str(CREDITS))
    return Customer(account, site.bot(account), site.key(account))


async def post(session: ClientSession, url: str, key: str, body: dict[str, str], idempotency_key: str | None = None) -> tuple[int, Any]:
    """One message; raises one of GONE where no whole answer came."""
    headers = {"Authorization": f"Bearer {key}", **({"Idempotency-Key": idempotency_key} if idempotency_key else {})}
    async with session.post(f"{url}/api/v2/messages", json=body, headers=headers) as response:
        return response.status, await response.json()


async def talk(session: ClientSession, url: str, who: Customer, known: Known, name: str) -> None:
    """Send messages until the service is gone. Every second one has an Idempotency-Key."""
    for i in range(10_000):
        body = {"chatbot_id": who.bot, "message": f"{name} message {i}", "user_id": f"visitor {name} {i % 3}"}
        key = f"{name}-{i}" if i % 2 else None
        if key:
            known.keyed[key] = body
        try:
            status, answer = await post(session, url, who.key, body, key)
        except GONE:
            if not key:
                known.doubtful.add(body["message"])
            return
        if status == 200:
            known.keyed.pop(key or "", None)
            known.acknowledged.append((body["user_id"], body["message"], answer["data"]["reply"]))
        else:
            assert (status, answer["error"]) == (502, "assistant_unavailable")
            # Under a key it is sent again after the crash; without one nothing of it may ever be found.
            if not key:
                known.refused.add(body["message"])


async def warm_up(session: ClientSession, url: str, who: Customer, known: Known, round_: int) -> None:
    """Send one message, which loads the engine before the time of the kill is chosen."""
    body = {"chatbot_id": who.bot, "message": f"{round_} warm message 0", "user_id": f"visitor {round_} warm"}
    status, answer = await post(session, url, who.key, body)
    while status == 502:
        status, answer = await post(session, url, who.key, body)
    assert status == 200, answer
    known.acknowledged.append((body["user_id"], body["message"], answer["data"]["reply"]))


async def load_until_killed(serving: Serving, who: Customer, known: Known, round_: int, answers: int) -> None:
    """Several callers at once, and kill -9 at any moment after so many answers."""
    until = len(known.acknowledged) + answers
    async with ClientSession(timeout=ClientTimeout(20)) as session:
        await warm_up(session, serving.url, who, known, round_)
        callers = [asyncio.create_task(talk(session, serving.url, who, known, f"{round_}-{i}")) for i in range(CLIENTS)]
        async with asyncio.timeout(60):
            while len(known.acknowledged) < until:  # noqa: ASYNC110  # what is waited for happens in another process
                await asyncio.sleep(random.uniform(0, 0.02))
        serving.process.send_signal(signal.SIGKILL)
        await asyncio.gather(*callers)


async def retry_all(serving: Serving, who: Customer, known: Known) -> None:
    """Repeat unacknowledged requests under their Idempotency-Keys until each is answered."""

    async def again(session: ClientSession, key: str, body: dict[str, str]) -> None:
        first = None
        for _ in range(100):
            status, answer = await post(session, serving.url, who.key, body, key)
            if status != 200:
                assert (status, answer["error"]) == (502, "assistant_unavailable")
            elif first is None:
                first = answer
            else:
                assert answer == first
                known.acknowledged.append((body["user_id"], body["message"], answer["data"]["reply"]))
                known.again.add(body["message"])
                return
        raise AssertionError("a model that fails a fifth has failed a hundred times")

    async with ClientSession(timeout=ClientTimeout(20)) as session:
        await asyncio.gather(*(again(session, key, body) for key, body in known.keyed.items()))
    known.keyed.clear()


def check(site: Site, who: Customer, known: Known) -> None:
    """Hold the store, which nobody has open, against itself and against what the callers know."""
    database = site.data / "chatsvc.db"
    assert disagreements(database) == []
    written = times_written(database)
    assert {message: count for message, count in written.items() if count != 1} == {}
    assert known.refused & set(written) == set()
    acknowledged = {message for _, message, _ in known.acknowledged}
    assert set(written) - acknowledged <= known.doubtful | {body["message"] for body in known.keyed.values()}
    there = threads(database)
    replies = defaultdict(list)
    for visitor, message, reply in known.acknowledged:
        replies[visitor].append((message, reply))
    for visitor, exchanges_told in replies.items():
        assert sorted(set(exchanges_told) - set(there[visitor])) == []
        # A visitor's messages stand in the order in which they were answered.
        one_by_one = [exchange for exchange in exchanges_told if exchange[0] not in known.again]
        once = set(one_by_one)
        assert [exchange for exchange in there[visitor] if exchange in once] == one_by_one
    messages, tokens, cost = totals(database)
    assert messages == len(written)
    # The stand-in says 10 tokens in and 5 out for each reply: 20 micro-dollars.
    assert (tokens, cost) == (messages * 15, messages * 20)
    assert credits_left(database)[who.account] == CREDITS - max(0, messages - MONTHLY)


@pytest.mark.usefixtures("unmeasured_processes")
@pytest.mark.slow
async def test_after_kill_9_under_load_everything_acknowledged_is_there_and_the_books_agree(site: Site) -> None:
    who = await asyncio.to_thread(customer, site)
    known = Known()
    for round_ in range(ROUNDS):
        with await asyncio.to_thread(site.serve) as serving:
            await load_until_killed(serving, who, known, round_, random.randint(2, MONTHLY))
        # As the crash has left it, before any program of ours has opened it again.
        await asyncio.to_thread(check, site, who, known)
        with await asyncio.to_thread(site.serve) as serving:
            await retry_all(serving, who, known)
            assert await asyncio.to_thread(serving.end) == 0
        await asyncio.to_thread(check, site, who, known)
    shown = await asyncio.to_thread(site.json, "account", "show", who.account)
    database = site.data / "chatsvc.db"
    assert shown["messages_used"] == totals(database)[0]
    assert shown["message_credits"] == credits_left(database)[who.account]
    assert (await asyncio.to_thread(site.json, "bot", "show", who.bot))["messages_used"] == shown["messages_used"]
    usage = await asyncio.to_thread(site.json, "usage", who.account)
    assert usage["usage"]["total_messages"] == min(5000, shown["messages_used"])


@pytest.mark.usefixtures("unmeasured_processes")
@pytest.mark.slow
def test_kill_9_at_any_moment_of_the_start_leaves_a_folder_that_the_next_start_can_use(tmp_path: Path) -> None:
    site = Site(tmp_path)
    for round_ in range(ROUNDS * 2):
        if round_ % 4 == 0:
            # A folder that is not there yet is the more delicate one: it gets its key, its database and its schema.
            site.data = tmp_path / f"data{round_}"
            site.config.write_text(f"server: {{listen: 127.0.0.1:0}}\ndata_dir: {site.data}\nmodels: {{offline: {{engine: knowledge}}}}\n")
        with site.serve(ready=False) as serving:
            if round_ % 2:
                time.sleep(random.uniform(0, 0.3))
            else:
                wait_for(site.data)
                time.sleep(random.uniform(0, 0.05))
            serving.process.send_signal(signal.SIGKILL)
        if (site.data / "chatsvc.db").exists():
            assert (site.data / "master.key").stat().st_size == 65
        if round_ % 3 == 0:
            assert site.json("account", "create", f"round {round_}")["id"]
        else:
            with site.serve() as serving:
                assert site.json("account", "list") is not None
                assert serving.end() == 0
        assert disagreements(site.data / "chatsvc.db") == []
        assert "Traceback" not in site.log.read_text()


def wait_for(folder: Path) -> None:
    """Until the service begins to touch the folder."""
    deadline = time.monotonic() + 20
    while not (folder / "lock").exists() and time.monotonic() < deadline:
        time.sleep(0.002)
