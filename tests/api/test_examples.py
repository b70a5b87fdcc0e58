"""Examples of the whole interface, each a short run of requests, changes, restarts and the clock (tests/api/examples.txt)."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientSession

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.services.accounts import accounts, bots, keys
from tests.api.support import fetch
from tests.conftest import Answer
from tests.fakes import ADMIN, FakeClock, ScriptedEngine, failing
from tests.postgres import store_of_test

TEXT = Path(__file__).with_name("examples.txt").read_text("utf-8")
EXAMPLES = [(block.splitlines()[0], block.splitlines()[1:]) for block in re.split(r"(?m)^= ", TEXT)[1:]]
SECONDS = {"s": 1, "d": 86_400}


def seconds(text: str) -> float:
    """Read a duration such as 60s or 31d."""
    return float(text[:-1]) * SECONDS[text[-1]]


def options(words: list[str]) -> dict[str, str]:
    """Read words such as limit=1."""
    return dict(word.split("=", 1) for word in words)


@dataclass
class Customer:
    """An account with a bot, its keys, and the number of the key in use."""

    account: str
    bot: str
    keys: list[Any]
    used: int = 0


class Run:
    """One example under way."""

    def __init__(self, config: Config, clock: FakeClock, engine: ScriptedEngine, session: ClientSession) -> None:
        self.config, self.clock, self.engine, self.session = config, clock, engine, session
        self.customers: dict[str, Customer] = {}
        self.known: dict[str, str] = {}
        self.path = ""

    async def start(self) -> None:
        """Open the service."""
        self.app = App(self.config, self.clock, store=store_of_test())
        await self.app.__aenter__()
        self.app.services.engines["anthropic"] = self.engine
        if not self.customers:
            for name in ("a", "b"):
                account = (await accounts.create(self.app.services, ADMIN, name=name, plan="enterprise")).account.id
                bot = (await bots.create(self.app.services, ADMIN, name="Desk", account=account, model="scripted")).id
                self.customers[name] = Customer(account, bot, [])
                self.known |= {f"{name}.bot": bot}
                await self.do_key(self.customers[name])
            self.known["bot"] = self.customers["a"].bot

    async def step(self, line: str) -> None:
        """Take one step and check what it expects."""
        line, _, expected = line.partition(" -> ")
        name, line = ("b", line[3:]) if line.startswith("b: ") else ("a", line)
        for known, value in self.known.items():
            line = line.replace(f"{{{known}}}", value)
        verb, _, rest = line.partition(" ")
        answer = await getattr(self, f"do_{verb}")(self.customers[name], *([rest] if rest else []))
        if expected:
            self.check(line, answer, expected)

    def check(self, line: str, answer: Answer, expected: str) -> None:
        """Compare an answer with `STATUS [ERROR] [PATH=VALUE ...]`, and keep what later steps name."""
        status, *words = re.findall(r'(?:[^\s"]|"[^"]*")+', expected)
        assert answer.status == int(status), (line, answer.json)
        assert answer.json["success"] is (answer.status == 200)
        if words and "=" not in words[0]:
            assert answer.error == words.pop(0), line
        for path, value in options(words).items():
            actual: Any = answer.json
            for part in path.split("."):
                actual = len(actual) if part == "length" else actual[int(part) if part.isdigit() else part]
            text = actual if isinstance(actual, str) else json.dumps(actual)
            assert text == value.strip('"'), (line, path, answer.json)
        if answer.status == 200:
            data = answer.json["data"]
            if isinstance(data, list) and data and self.path.startswith("/conversations"):
                self.known["conversation"] = data[0]["id"]
            if isinstance(data, dict) and "reply" in data:
                self.known["user"] = data["user_id"]

    async def _send(self, customer: Customer, method: str, path: str, body: Any = None, key: str | None = None, once: str = "") -> Answer:
        self.path = path
        headers = {"Authorization": f"Bearer {key if key is not None else customer.keys[customer.used].secret}"}
        if key == "none":
            headers = {}
        if once:
            headers["Idempotency-Key"] = once
        return await fetch(self.session, method, f"{self.app.url}/api/v2{path}", headers=headers, json=body)

    async def do_get(self, customer: Customer, rest: str) -> Answer:
        path, _, key = rest.partition(" with ")
        return await self._send(customer, "GET", path, key=key or None)

    async def do_send(self, customer: Customer, rest: str) -> Answer:
        found = re.fullmatch(r"(?P<text>.+?)(?: as (?P<user>\S+))?(?: to (?P<bot>\S+))?(?: once (?P<once>\S+))?", rest)
        assert found
        body = {"chatbot_id": found["bot"] or customer.bot, "message": found["text"]}
        if found["user"]:
            body["user_id"] = found["user"]
        return await self._send(customer, "POST", "/messages", body, once=found["once"] or "")

    async def do_account(self, customer: Customer, rest: str) -> None:
        given = options(rest.split())
        change: dict[str, Any] = {{"limit": "messages_limit"}.get(name, name): value for name, value in given.items()}
        change |= {name: int(change[name]) for name in ("messages_limit", "credits") if name in change}
        await accounts.change(self.app.services, ADMIN, account=customer.account, **change)

    async def do_delete(self, customer: Customer) -> None:
        await accounts.delete(self.app.services, ADMIN, account=customer.account)

    async def do_bot(self, customer: Customer, rest: str) -> None:
        change: dict[str, Any] = options([rest])
        if "active" in change:
            change["active"] = change["active"] == "yes"
        await bots.change(self.app.services, ADMIN, bot=customer.bot, **change)

    async def do_second(self, customer: Customer, _: str) -> None:
        made = await bots.create(self.app.services, ADMIN, name="Second", account=customer.account, model="scripted")
        self.known["second"] = made.id

    async def do_key(self, customer: Customer, rest: str = "") -> None:
        expires = None
        if rest:
            at = self.clock.now / 1000 + seconds(options([rest])["expires"])
            expires = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
        customer.keys.append(await keys.create(self.app.services, ADMIN, account=customer.account, expires=expires))

    async def do_use(self, customer: Customer, rest: str) -> None:
        customer.used = int(rest)

    async def do_revoke(self, customer: Customer, rest: str) -> None:
        await keys.revoke(self.app.services, ADMIN, key=customer.keys[int(rest)].key.id)

    async def do_engine(self, _: Customer, rest: str) -> None:
        self.engine.script = failing(rest) if rest != "answers" else ScriptedEngine().script

    async def do_wait(self, _: Customer, rest: str) -> None:
        self.clock.advance(seconds(rest))

    async def do_rate(self, _: Customer, rest: str) -> None:
        self.config = replace(self.config, limits=replace(self.config.limits, requests_per_minute=int(rest)))
        await self.do_restart(_)

    async def do_restart(self, _: Customer) -> None:
        await self.app.stop()
        await self.start()


@pytest.fixture
async def example(config: Config, clock: FakeClock, engine: ScriptedEngine, session: ClientSession) -> AsyncIterator[Run]:
    """A service with two customers."""
    run = Run(config, clock, engine, session)
    await run.start()
    yield run
    await run.app.stop()


@pytest.mark.parametrize(("name", "lines"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
async def test_an_example(name: str, lines: list[str], example: Run) -> None:
    for line in filter(None, lines):
        await example.step(line)
