"""kill -9 while captures are told: what was acknowledged is recorded, and each event is sent once at most and never unrecorded."""

import asyncio
import json
import os
import random
import signal
from collections import Counter
from pathlib import Path

import pytest
from aiohttp import ClientSession, ClientTimeout, web

from chatsvc.delivery.webhooks import AT_ONCE
from tests.cli.support import Serving, Site
from tests.crash.books import disagreements
from tests.crash.channel_torture import rows
from tests.crash.test_kill import GONE, Customer, post
from tests.engines.model_server import ModelServer, says
from tests.webhooks.certificates import Authority
from tests.webhooks.receiver import Receiver

ROUNDS = int(os.environ.get("CHATSVC_CRASH", "2"))
CLIENTS = 8


async def captures(server: ModelServer, request: web.Request) -> web.StreamResponse:
    """A model that notes a request and an appointment, then replies."""
    last = server.seen[-1].body["messages"][-1]["content"]
    server.seen.clear()
    if isinstance(last, list) and last[-1].get("type") == "tool_result":
        return await says("Noted.")(server, request)
    text = last if isinstance(last, str) else last[-1]["text"]
    email = text.split()[-1]
    when = {"date": "2027-03-01", "time": "10:30", "quotes": [text], "visitor_name": "Selin", "visitor_email": email}
    noted = {"request_type": "quote", "quotes": [text], "visitor_email": email}
    used = [
        {"type": "tool_use", "id": f"toolu_{random.getrandbits(60)}", "name": name, "input": given}
        for name, given in (("note_request", noted), ("note_appointment", when))
    ]
    body = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "stop_sequence": None}
    return web.json_response({**body, "content": used, "usage": {"input_tokens": 1, "output_tokens": 1}})


async def talk(session: ClientSession, serving: Serving, who: Customer, name: str, acknowledged: set[str]) -> None:
    """Send messages of one visitor after another until the service is gone."""
    for number in range(10_000):
        email = f"{name}-{number}@example.com"
        body = {"chatbot_id": who.bot, "message": f"Ben Selin, beni arayın: {email}", "user_id": email}
        try:
            status, answer = await post(session, serving.url, who.key, body)
        except GONE:
            return
        assert (status, answer["data"]["reply"]) == (200, "Noted.")
        acknowledged.add(email)


async def load_until_killed(serving: Serving, who: Customer, name: str, acknowledged: set[str]) -> None:
    async with ClientSession(timeout=ClientTimeout(20)) as session:
        callers = [asyncio.create_task(talk(session, serving, who, f"{name}-{n}", acknowledged)) for n in range(CLIENTS)]
        before = len(acknowledged)
        while len(acknowledged) == before:  # noqa: ASYNC110  # the model's client is loaded first
            await asyncio.sleep(0.01)
        await asyncio.sleep(random.uniform(0.1, 1.2))
        serving.process.send_signal(signal.SIGKILL)
        await asyncio.gather(*callers)


def check(site: Site, receiver: Receiver, acknowledged: set[str]) -> None:
    """Hold the store, which nobody has open, against what the callers and the receiver know."""
    assert disagreements(site.data / "chatsvc.db") == []
    written = Counter(email for (email,) in rows(site, "SELECT visitor_email FROM requests"))
    assert acknowledged <= set(written)
    assert set(written.values()) == {1}
    states = dict(rows(site, "SELECT record_id, state FROM webhook_events"))
    records = [row[0] for table in ("requests", "appointments") for row in rows(site, f"SELECT id FROM {table}")]  # noqa: S608
    assert sorted(states) == sorted(records), "each record has its one event"
    attempted = Counter(
        record for (record,) in rows(site, "SELECT record_id FROM webhook_attempts JOIN webhook_events e ON e.number = event_number")
    )
    assert attempted == Counter({record: 1 for record, state in states.items() if state == 1})
    received = [json.loads(body) for body in receiver.bodies]
    assert set(Counter(envelope["data"]["id"] for envelope in received).values()) <= {1}
    deliveries = {row[0] for row in rows(site, "SELECT delivery_id FROM webhook_attempts")}
    assert {envelope["delivery_id"] for envelope in received} <= deliveries, "no delivery is unrecorded"
    bodies = {bytes(row[0]) for row in rows(site, "SELECT body FROM webhook_attempts")}
    assert set(receiver.bodies) <= bodies
    arrived = {envelope["delivery_id"] for envelope in received}
    succeeded = {row[0] for row in rows(site, "SELECT delivery_id FROM webhook_attempts WHERE success = 1")}
    assert succeeded <= arrived


@pytest.mark.usefixtures("unmeasured_processes")
@pytest.mark.slow
async def test_after_kill_9_no_record_is_lost_and_no_event_is_sent_twice_or_unrecorded(tmp_path: Path) -> None:
    authority, acknowledged = Authority(tmp_path), set[str]()
    async with ModelServer(always=captures) as model, Receiver(authority.server("127.0.0.1")) as receiver:
        site = Site(
            tmp_path,
            "limits: {requests_per_minute: 1000000}\n"
            f"webhooks: {{ca_file: {authority.file}, allowed_networks: [127.0.0.0/8]}}\n"
            f'engines: {{anthropic: {{base_url: "{model.url}", api_key: none-needed, timeout_s: 10}}}}\n'
            "models: {m: {engine: anthropic, model: m, input_usd_per_mtok: 1, output_usd_per_mtok: 2}}\n",
        )
        account = await asyncio.to_thread(site.account)
        who = Customer(account, await asyncio.to_thread(site.bot, account), await asyncio.to_thread(site.key, account))
        await asyncio.to_thread(site.json, "account", "set", account, "--messages-limit", "1000000")
        url = f"https://127.0.0.1:{receiver.port}/"
        await asyncio.to_thread(site.json, "webhook", "set", who.bot, url, "--event", "request.created", "--event", "appointment.created")
        for round_ in range(ROUNDS):
            with await asyncio.to_thread(site.serve) as serving:
                await load_until_killed(serving, who, str(round_), acknowledged)
            await asyncio.to_thread(check, site, receiver, acknowledged)
        with await asyncio.to_thread(site.serve) as serving:
            while await asyncio.to_thread(rows, site, "SELECT 1 FROM webhook_events WHERE state = 0"):  # noqa: ASYNC110  # in another process
                await asyncio.sleep(0.05)
            assert await asyncio.to_thread(serving.end) == 0
        await asyncio.to_thread(check, site, receiver, acknowledged)
        outcomes = Counter(row[0] for row in await asyncio.to_thread(rows, site, "SELECT coalesce(error, success) FROM webhook_attempts"))
        assert set(outcomes) <= {"1", 1, "interrupted"}
        assert outcomes["interrupted"] <= AT_ONCE * ROUNDS
        assert "Traceback" not in site.log.read_text()
    assert len(acknowledged) > 5 * ROUNDS
    assert {json.loads(body)["event"] for body in receiver.bodies} == {"request.created", "appointment.created"}
    print(f"{ROUNDS} times killed; {len(acknowledged)} acknowledged, {len(receiver.bodies)} delivered, {dict(outcomes)}")  # noqa: T201
