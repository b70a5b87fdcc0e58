"""The whole service against the small model of tests/api/model.py: any order of requests, changes, clocks and restarts, no difference.

CHATSVC_STEPS sets how many steps are taken at least; without it a few hundred, always the same.
"""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest
from aiohttp import ClientSession, ClientTimeout
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule, run_state_machine_as_test

from chatsvc import config as configuration
from chatsvc.app import App
from chatsvc.domain import captures as captured
from chatsvc.domain import keys as api_keys
from chatsvc.domain import paging, shapes
from chatsvc.domain.errors import PROBLEMS
from chatsvc.domain.models import Usage
from chatsvc.domain.plans import Plan
from chatsvc.domain.refusals import Refused
from chatsvc.engines import EMPTY_REASONS, UNAVAILABLE_REASONS, EngineError, Reply, Turn
from chatsvc.services.accounts import accounts, analytics, bots, keys
from chatsvc.services.conversations import captures
from tests.api import model as modelled
from tests.api.model import Capture, Expected, Json, Model, Outcome, Pending, Request, Rules
from tests.api.support import ALWAYS, fetch, names, standing
from tests.conftest import MODELS, Answer
from tests.fakes import ADMIN, START, FakeClock, ScriptedEngine
from tests.postgres import RUNNING, store_of_test

STEPS = int(os.environ.get("CHATSVC_STEPS", "0"))
A_RUN = 50
SETTINGS = settings(
    max_examples=STEPS // (A_RUN - 5) + 1 if STEPS else 12,
    stateful_step_count=A_RUN,
    deadline=None,
    database=None,
    derandomize=not STEPS,
    suppress_health_check=list(HealthCheck),
)
PLANS = {
    "free": Plan("free", 1, 2, 1),
    "business": Plan("business", 4, 6, 2, webhooks=True),
    "enterprise": Plan("enterprise", 2, 20, 3, webhooks=True, rest_api=True),
    "unlimited": Plan("unlimited", 3, 1000, 5, webhooks=True, rest_api=True),
}
RULES = Rules({p.name: modelled.Plan(p.version, p.messages, p.bots, p.rest_api) for p in PLANS.values()}, rate=30, depth=4, row_cap=6)
SAID = "I am Selin Kaya, selin@example.com, 0532 123 45 67."
OWN = Capture("Selin Kaya", "selin@example.com", "0532 123 45 67", None)
FOREIGN = Capture("Victor Hale", "victor@victim.example", "0544 765 43 21", None)
T = TypeVar("T")

any_number = st.integers(0, 999)
replies = st.builds(
    lambda reply, n: Outcome(None, reply, 12 * n, 2 * n),
    st.sampled_from(["Yes.", "Hayır, ışık açık.", '€ \U0001f642 \\ "']),
    st.integers(0, 9),
)
capturing = st.builds(
    lambda outcome, said, days: replace(outcome, capture=replace(said, in_days=days)),
    replies,
    st.sampled_from([OWN, FOREIGN]),
    st.sampled_from([None, -1, 3]),
)
failures = st.sampled_from(sorted(UNAVAILABLE_REASONS | EMPTY_REASONS)).map(Outcome)
blank = st.builds(lambda reply: Outcome("empty", reply), st.sampled_from(["", " \n", "\u2003"]))
broken = st.builds(lambda reply: Outcome("bad_response", reply), st.sampled_from(["a\0b", "\ud800"]))
outcomes = st.sampled_from([replies, replies, replies, capturing, capturing, failures, blank | broken]).flatmap(lambda kind: kind)
users = st.sampled_from(["ayse", "bora", "ayse", "bora", "ç:|1", "", None])
texts = st.sampled_from(["hello", "who I am", "at length", "blanks"])
TEXTS = {"hello": "hello", "who I am": SAID, "at length": "ğ" * 3990, "blanks": " ı \t"}
once = st.sampled_from([None, None, None, "key-1", "~!k"])
tongues = st.sampled_from([None, None, None, None, "tr", "en-GB"])
limits = st.sampled_from([None, "1", "1", "1", "1", "2", "2", "2", "3", "0", "-5", "101", "x", "٣", "007", ""])
FAULTS: dict[str, Callable[[Json], Json | str]] = {
    "not JSON": lambda _: "{",
    "no object": lambda _: "[1]",
    "no bot": lambda body: {"message": body["message"]},
    "bot of another type": lambda body: {**body, "chatbot_id": 1},
    "no message": lambda body: {"chatbot_id": body["chatbot_id"]},
    "only white space": lambda body: {**body, "message": " \t\n"},
    "too long": lambda body: {**body, "message": "ğ" * 4001},
    "another field": lambda body: {**body, "stream": True},
    "a user of another type": lambda body: {**body, "user_id": 7},
    "too long a user": lambda body: {**body, "user_id": "u" * 129},
    "no language": lambda body: {**body, "language": "not a tag"},
}
CLOCK_MS = [
    1,
    1,
    999,
    5_000,
    59_999,
    60_000,
    60_000,
    61_000,
    3_600_000,
    modelled.DAY - 1,
    modelled.DAY,
    3 * modelled.DAY,
    40 * modelled.DAY,
]


class Engine(ScriptedEngine):
    """Answers each message with the outcome that was set for it, once that is known."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: dict[str, asyncio.Future[Outcome]] = {}

    async def reply(self, turn: Turn) -> Reply:
        """See Engine.reply."""
        outcome = await self.outcomes[turn.message]
        if outcome.reason is not None and not outcome.reply:
            raise EngineError(outcome.reason)
        usage = Usage(10 * (outcome.tokens // 12), 2 * (outcome.tokens // 12))
        return Reply(outcome.reply, usage, self._captured(outcome.capture, turn))

    @staticmethod
    def _captured(capture: Capture | None, turn: Turn) -> captured.Captured | None:
        if capture is None:
            return None
        local = datetime.fromtimestamp(turn.now_ms / 1000, UTC) + timedelta(hours=3)
        day = (local + timedelta(days=capture.in_days)).date() if capture.in_days is not None else None
        at = time(10, 30) if day else None
        return captured.Captured("appointment", turn.message, capture.name, capture.email, capture.phone, day, at)


@dataclass
class Flight:
    """A message in flight, with its waiting callers and their rate limits."""

    pending: Pending
    text: str
    sent: tuple[Request, str]
    waiting: list[tuple[asyncio.Task[Answer], modelled.Slot]]

    @property
    def conversation(self) -> tuple[str, str | None]:
        """Bot and user."""
        return self.pending.bot.id, self.pending.fields[2]


def pick(things: Sequence[T], number: int) -> T:
    """One of them."""
    return things[number % len(things)]


class ServiceAgainstModel(RuleBasedStateMachine):
    """Applies each rule to service and model and compares. The invariant compares all counters."""

    steps = 0
    met: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.folder = tempfile.TemporaryDirectory()
        defaults = configuration.load(None, {})
        self.config = replace(
            defaults,
            server=replace(defaults.server, port=0),
            data_dir=Path(self.folder.name) / "data",
            limits=replace(defaults.limits, requests_per_minute=RULES.rate),
            models=MODELS,
            plans=PLANS,
        )
        self.clock = FakeClock()
        self.model = Model(RULES, START)
        self.engine = Engine()
        self.flights: list[Flight] = []
        self.texts = 0
        self.last: tuple[Request, str] | None = None
        self.answered_once: list[Flight] = []
        self.run(self._start())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run on the machine's own event loop."""
        return self.runner.run(work)

    async def _start(self) -> None:
        self.app = App(self.config, self.clock, store=store_of_test())
        await self.app.__aenter__()
        self.app.services.engines["anthropic"] = self.engine
        self.session = ClientSession(timeout=ClientTimeout(30))

    async def _stop(self) -> None:
        await self.session.close()
        await self.app.stop()

    def teardown(self) -> None:
        """The end of a run."""
        try:
            while self.flights:
                self.finish(0, Outcome("timeout"))
        finally:
            self.run(self._stop())
            self.runner.close()
            self.folder.cleanup()

    # -- who is there -----------------------------------------------------------------------------------------------

    def _account(self, number: int) -> modelled.Account:
        return pick(self.model.accounts, number)

    def _key(self, number: int) -> str:
        """A key: mostly one that may be used."""
        return pick([*self._able() * 6, *self.model.keys.values()], number).text

    def _able(self) -> list[modelled.Key]:
        """The keys that pass the first two gates."""
        good = [key for key in self.model.keys.values() if not key.revoked and not key.account.gone]
        alive = [key for key in good if key.expires is None or key.expires > self.model.now]
        return [key for key in alive if key.account.plan and RULES.plans[key.account.plan].rest_api]

    def _bot(self, number: int, key: str) -> str:
        """A bot's id: mostly one of the key's account."""
        own = [bot.id for bot in self.model.keys[key].account.bots]
        every = [bot.id for account in self.model.accounts for bot in account.bots]
        return pick([*own * 6, *every, "nobody"], number)

    # -- asking both ------------------------------------------------------------------------------------------------

    async def _send(self, request: Request, key: str | None) -> Answer:
        headers = {"Authorization": f"Bearer {key}"} if key is not None else {}
        if request.idempotency is not None:
            headers["Idempotency-Key"] = request.idempotency
        options: dict[str, Any] = {"data": request.body} if isinstance(request.body, str) else {"json": request.body}
        url = f"{self.app.url}/api/v2{request.path}"
        return await fetch(
            self.session, request.method, url, params=request.query, headers=headers, **(options if request.body is not None else {})
        )

    def _same(self, answer: Answer, expected: Expected) -> None:
        body = answer.json
        self.met[expected.body.get("error", "answered")] += 1
        if expected.status != 200:
            assert set(body) - set(expected.body) == {"message", "message_en"}, body
            texts = PROBLEMS[expected.body["error"]]
            assert body.pop("message").startswith(texts.text("tr"))
            assert body.pop("message_en").startswith(texts.text("en"))
        assert (answer.status, body) == (expected.status, expected.body)
        assert standing(answer) == expected.slot
        assert sorted(names(answer)) == sorted(name.lower() for name in (*ALWAYS, *expected.headers))
        assert {name: answer.headers[name] for name in expected.headers} == expected.headers

    def _ask(self, request: Request, key: str | None) -> None:
        """A request that no engine is needed for."""
        expected = self.model.receive(request, key)
        assert isinstance(expected, Expected)
        self._same(self.run(self._send(request, key)), expected)

    def _get(self, path: str, key: str | None, **query: str | None) -> None:
        self._ask(Request("GET", path, {name: value for name, value in query.items() if value is not None}), key)

    def _begin(self, request: Request, key: str) -> Flight | None:
        """Send a message until it waits for the engine. None where it was answered without one."""
        self.last = (request, key)
        text = request.body["message"] if isinstance(request.body, dict) and "message" in request.body else ""
        expected = self.model.receive(request, key)
        slot = self.model.standing(key)
        self.run(self._await_arrival(request, key, text, expected))
        task = self.task
        if isinstance(expected, Expected):
            self._same(task.result(), expected)
            return None
        for flight in self.flights:
            if flight.pending is expected:
                flight.waiting.append((task, slot))
                return flight
        self.flights.append(Flight(expected, text, self.last, [(task, slot)]))
        return self.flights[-1]

    async def _await_arrival(self, request: Request, key: str, text: str, expected: Expected | Pending) -> None:
        known = self.engine.outcomes.get(text)
        if known is None or known.done():
            self.engine.outcomes[text] = asyncio.get_running_loop().create_future()
        task = self.task = asyncio.create_task(self._send(request, key))
        if isinstance(expected, Expected):
            await asyncio.wait([task], timeout=20)
        elif any(flight.pending is expected for flight in self.flights):
            await asyncio.wait([task], timeout=0.02)  # nothing shows that it has joined the first
        else:
            async with asyncio.timeout(5):
                while not task.done() and await self._reserved(expected.account.id) != len(expected.account.reserved):  # noqa: ASYNC110
                    await asyncio.sleep(0.002)
        assert task.done() == isinstance(expected, Expected), task

    async def _reserved(self, account_id: str) -> int:
        held = await self.app.services.account_cache.account(account_id)
        return sum(held.allowance.reserved.values()) if held is not None else 0

    def _message(self, bot: str, text: str, user: str | None, language: str | None, idempotency: str | None) -> Request:
        self.texts += 1
        # Two calls of one conversation have a rule of their own.
        if any(flight.conversation == (bot, user) for flight in self.flights):
            user = None
        body: Json = {"chatbot_id": bot, "message": f"{TEXTS[text]} {self.texts}"}
        if user is not None:
            body["user_id"] = user
        if language is not None:
            body["language"] = language
        return Request("POST", "/messages", body=body, idempotency=idempotency)

    def _finish(self, flight: Flight, outcome: Outcome) -> None:
        self.flights.remove(flight)
        answers = self.run(self._answered(flight, outcome))
        sent, made_up = flight.pending.fields[2], None
        if sent is None and answers[0].status == 200:
            made_up = answers[0].json["data"]["user_id"]
            assert 16 <= len(made_up) <= 128
            assert all(c.user_id != made_up for account in self.model.accounts for c in account.conversations)
        expected = self.model.finish(flight.pending, outcome, made_up)
        if expected.status == 200 and flight.pending.key is not None:
            self.answered_once.append(flight)
        for answer, (_, slot) in zip(answers, flight.waiting, strict=True):
            self._same(answer, replace(expected, slot=slot))
        # The lists as most callers ask for them: nothing of what was kept ready may be older than the answer.
        key, walk = flight.sent[1], ("conversations", flight.pending.account.id, None, None)
        self._get("/chatbots", key)
        self._get("/conversations", key, limit="2")
        on = [text for text, place in self.model.cursors.items() if place[0] == walk]
        if on:
            self._get("/conversations", key, limit="2", cursor=on[-1])

    async def _answered(self, flight: Flight, outcome: Outcome) -> list[Answer]:
        self.engine.outcomes[flight.text].set_result(outcome)
        return [await task for task, _ in flight.waiting]

    # -- the administrator ------------------------------------------------------------------------------------------

    @initialize(plan=st.sampled_from(["enterprise", "unlimited"]))
    def two_customers(self, plan: str) -> None:
        """Something to begin with."""
        for each in (plan, "enterprise"):
            self._add_account(each)
            for name in ("Desk", "Shop"):
                self.add_bot(len(self.model.accounts) - 1, name)
            self.add_key(len(self.model.accounts) - 1, None)
        for user in ("ayse", "bora", "cem"):
            self.send(0, 0, "hello", user, None, "key-1" if user == "cem" else None, Outcome(None, "Hello.", 12, 2))
            self.time_passes(1)

    def _add_account(self, plan: str) -> None:
        made = self.run(accounts.create(self.app.services, ADMIN, name="Acme", plan=plan))
        self.model.add_account(made.account.id, "Acme", None if plan == "none" else plan)

    @precondition(lambda self: len(self.model.accounts) < 4)
    @rule(plan=st.sampled_from([*PLANS, "none"]))
    def add_account(self, plan: str) -> None:
        self._add_account(plan)
        self.add_key(len(self.model.accounts) - 1, None)

    @precondition(lambda self: len(self.model.accounts) > 3)
    @rule(number=any_number)
    def delete_account(self, number: int) -> None:
        account = self._account(number)
        self.run(accounts.delete(self.app.services, ADMIN, account=account.id))
        self.model.delete_account(account)

    @rule(
        number=any_number,
        change=st.fixed_dictionaries({}, optional={"messages_limit": st.integers(0, 30), "credits": st.integers(0, 3)})
        | st.fixed_dictionaries({"plan": st.sampled_from([*PLANS, "enterprise", "unlimited", "unlimited", "none"])})
        | st.fixed_dictionaries(
            {"status": st.sampled_from(["active", "active", "active", "active", "trialing", "trialing", "past_due", "canceled", "paused"])}
        ),
    )
    def change_account(self, number: int, change: dict[str, Any]) -> None:
        account = self._account(number)
        if change:
            self.run(accounts.change(self.app.services, ADMIN, account=account.id, **change))
            self.model.change_account(account, **change)

    @rule(number=any_number, name=st.sampled_from(["Desk", "Kapı"]))
    def add_bot(self, number: int, name: str) -> None:
        account = self._account(number)
        if self.model.may_have_another_bot(account):
            made = self.run(bots.create(self.app.services, ADMIN, name=name, account=account.id, model="scripted"))
            self.model.add_bot(account, made.id, name)
        else:
            with pytest.raises(Refused):
                self.run(bots.create(self.app.services, ADMIN, name=name, account=account.id))

    @rule(
        number=any_number,
        which=any_number,
        change=st.sampled_from([{"active": True}, {"active": True}, {"active": False}, {"name": "Büro"}]),
    )
    def change_bot(self, number: int, which: int, change: dict[str, Any]) -> None:
        account = self._account(number)
        if account.bots:
            bot = pick(account.bots, which)
            self.run(bots.change(self.app.services, ADMIN, bot=bot.id, **change))
            self.model.change_bot(bot, **change)

    @rule(number=any_number, lasts_s=st.sampled_from([None, None, 1, 60, modelled.DAY // 1000]))
    def add_key(self, number: int, lasts_s: int | None) -> None:
        account = self._account(number)
        expires = self.model.now + lasts_s * 1000 if lasts_s else None
        text = datetime.fromtimestamp(expires / 1000, UTC).isoformat(timespec="milliseconds") if expires else None
        made = self.run(keys.create(self.app.services, ADMIN, account=account.id, expires=text))
        self.model.add_key(account, made.key.id, made.secret, expires)

    @rule(number=any_number)
    def revoke_key(self, number: int) -> None:
        key = pick([key for key in self.model.keys.values() if not key.account.gone], number)
        self.run(keys.revoke(self.app.services, ADMIN, key=key.id))
        key.revoked = True

    # -- messages ---------------------------------------------------------------------------------------------------

    @rule(who=any_number, bot=any_number, text=texts, user=users, language=tongues, idempotency=once, outcome=outcomes)
    def send(
        self, who: int, bot: int, text: str, user: str | None, language: str | None, idempotency: str | None, outcome: Outcome
    ) -> None:
        key = self._key(who)
        flight = self._begin(self._message(self._bot(bot, key), text, user, language, idempotency), key)
        if flight is not None:
            self._finish(flight, outcome)

    @precondition(lambda self: len(self.flights) < 3)
    @rule(who=any_number, bot=any_number, text=texts, user=users, idempotency=once)
    def begin(self, who: int, bot: int, text: str, user: str | None, idempotency: str | None) -> None:
        """A message that the engine thinks about while all sorts of things happen."""
        key = self._key(who)
        self._begin(self._message(self._bot(bot, key), text, user, None, idempotency), key)

    @precondition(lambda self: self.flights)
    @rule(number=any_number, outcome=outcomes)
    def finish(self, number: int, outcome: Outcome) -> None:
        self._finish(pick(self.flights, number), outcome)

    @precondition(lambda self: self.last)
    @rule(
        outcome=outcomes,
        change=st.sampled_from([None, None, None, "an empty user", "message", "language"]),
        idempotency=st.sampled_from(["key-1", "~!k"]),
    )
    def send_the_last_again(self, outcome: Outcome, change: str | None, idempotency: str) -> None:
        """The same once more under an Idempotency-Key, or nearly the same."""
        assert self.last is not None
        request, key = self.last
        body: Json = dict(request.body) if isinstance(request.body, dict) else {}
        if change == "message":
            body["message"] += "!"
        elif change == "language":
            body["language"] = "tr"
        elif change == "an empty user":
            body["user_id"] = body.get("user_id", "")
        request = replace(request, body=body, idempotency=request.idempotency or idempotency)
        joins = (self.model.keys[key].account.id, request.idempotency) in self.model.flights
        conversation = (body["chatbot_id"], body.get("user_id"))
        under_way = [flight for flight in self.flights if flight.text == body["message"] or flight.conversation == conversation]
        if under_way and not joins:
            return
        flight = self._begin(request, key)
        if flight is not None and not joins:
            self._finish(flight, outcome)

    @precondition(lambda self: self.answered_once)
    @rule(number=any_number, before=st.sampled_from([1, 1, 0, 1000]), outcome=outcomes)
    def send_again_what_was_answered_a_day_ago(self, number: int, before: int, outcome: Outcome) -> None:
        """For 24 hours an Idempotency-Key returns the first answer, then a new one."""
        first = pick(self.answered_once, number)
        if not self.flights:
            self._set_clock(first.pending.accepted + modelled.DAY - before)
            flight = self._begin(*first.sent)
            if flight is not None:
                self._finish(flight, outcome)

    @rule(
        who=any_number,
        bot=any_number,
        user=st.sampled_from(["ayse", "cem"]),
        other=users,
        first=outcomes,
        second=outcomes,
        left=st.integers(0, 5),
    )
    def send_two_at_once_where_little_is_left(
        self, who: int, bot: int, user: str, other: str | None, first: Outcome, second: Outcome, left: int
    ) -> None:
        """In one conversation they wait for each other; the allowance is reserved before."""
        key = self._key(who)
        account, bot_id = self.model.keys[key].account, self._bot(bot, key)
        if account.gone or self.flights:
            return
        before = account.limit
        used = account.used.get(datetime.fromtimestamp(self.model.now / 1000, UTC).strftime("%Y-%m"), 0)
        self.run(accounts.change(self.app.services, ADMIN, account=account.id, messages_limit=used + left % 3, credits=left // 3))
        self.model.change_account(account, messages_limit=used + left % 3, credits=left // 3)
        one = self._begin(self._message(bot_id, "hello", user, None, None), key)
        request = self._message(bot_id, "blanks", other if other != user else None, None, None)
        if other == user and isinstance(request.body, dict):
            request.body["user_id"] = user
        two = self._begin(request, key)
        # In one conversation the second is next in line; else it overtakes the first.
        order = [(one, first), (two, second)] if other == user else [(two, second), (one, first)]
        for flight, outcome in order:
            if flight is not None:
                self._finish(flight, outcome)
        self.run(accounts.change(self.app.services, ADMIN, account=account.id, messages_limit=before))
        self.model.change_account(account, messages_limit=before)

    @rule(who=any_number, bot=any_number, fault=st.sampled_from(sorted(FAULTS)))
    def send_a_bad_body(self, who: int, bot: int, fault: str) -> None:
        key = self._key(who)
        body = {"chatbot_id": self._bot(bot, key), "message": "hello", "user_id": "ayse"}
        self._ask(Request("POST", "/messages", body=FAULTS[fault](body)), key)

    @rule(who=any_number, bot=any_number, idempotency=st.sampled_from(["", "a b", "ı", "k" * 256]))
    def send_a_bad_idempotency_key(self, who: int, bot: int, idempotency: str) -> None:
        key = self._key(who)
        self._ask(Request("POST", "/messages", body={"chatbot_id": self._bot(bot, key), "message": "x"}, idempotency=idempotency), key)

    # -- reading ----------------------------------------------------------------------------------------------------

    @rule(who=any_number, limit=limits)
    def list_bots(self, who: int, limit: str | None) -> None:
        self._get("/chatbots", self._key(who), limit=limit)

    @rule(who=any_number, bot=st.none() | any_number, channel=st.sampled_from([None, None, "api", "web", "fax", ""]), limit=limits)
    def list_conversations(self, who: int, bot: int | None, channel: str | None, limit: str | None) -> None:
        key = self._key(who)
        self._get("/conversations", key, limit=limit, chatbot_id=None if bot is None else self._bot(bot, key), channel=channel)

    @precondition(lambda self: self.model.cursors)
    @rule(
        number=any_number,
        limit=limits,
        who=st.sampled_from([None, None, None, 0, 1, 2]),
        filters=st.sampled_from([None, None, None, {"channel": "api"}, {"channel": "web"}, {"channel": ""}]),
    )
    def go_on_from_a_cursor(self, number: int, limit: str | None, who: int | None, filters: dict[str, str] | None) -> None:
        """With its own account and filters, which goes on, or with others, which must not."""
        text = pick(list(self.model.cursors), number)
        operation, account, *walk = self.model.cursors[text][0]
        owners = [key.text for key in self._able() if key.account.id == account]
        key = pick(owners, number) if who is None and owners else self._key(who or 0)
        bot, channel = walk or (None, None)
        query = {"chatbot_id": bot, "channel": channel, **(filters or {})}
        if bot is not None and bot not in {each.id for each in self.model.keys[key].account.bots}:
            query["chatbot_id"] = None  # two faults at once: neither page says which is told
        self._get(f"/{operation}", key, limit=limit, cursor=text, **query)

    @precondition(lambda self: self.model.cursors)
    @rule(
        who=any_number,
        number=any_number,
        path=st.sampled_from(["/chatbots", "/conversations"]),
        at=any_number,
        to=st.sampled_from("Aa0-_= é"),
    )
    def send_a_changed_cursor(self, who: int, number: int, path: str, at: int, to: str) -> None:
        text = pick(list(self.model.cursors), number)
        at %= len(text)
        changed = pick([text[:at] + to + text[at + 1 :], text[:at], text + to, text[:-1]], number)
        if changed not in self.model.cursors:
            self._get(path, self._key(who), cursor=changed)

    @rule(who=any_number, which=any_number, limit=limits)
    def read_a_conversation(self, who: int, which: int, limit: str | None) -> None:
        key = self._key(who)
        known = [c.id.value for account in self.model.accounts for c in account.conversations if c.id.value]
        self._get(f"/conversations/{pick([*known, 'nobody'], which)}", key, message_limit=limit)

    @rule(who=any_number, bot=any_number)
    def read_a_bot(self, who: int, bot: int) -> None:
        key = self._key(who)
        self._get(f"/chatbots/{self._bot(bot, key)}", key)

    @rule(who=any_number, days=st.sampled_from([None, "1", "2", "7", "90", "91", "0", "x"]))
    def read_the_analytics(self, who: int, days: str | None) -> None:
        self._get("/analytics", self._key(who), days=days)

    @rule(
        who=any_number,
        key=st.sampled_from(["good", "good", "none", "malformed", "never issued"]),
        method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "OPTIONS"]),
        path=st.sampled_from(["/chatbots", "/messages", "/analytics", "/chatbots/x", "/chatbots/", "/nothing", "/conversations/a/b", "/"]),
    )
    def knock_at_any_door(self, who: int, key: str, method: str, path: str) -> None:
        if key == "good" and (method, path) == ("POST", "/messages"):
            return
        keys_ = {"good": self._key(who), "none": None, "malformed": "csk_" + "x" * 38, "never issued": api_keys.generate()}
        self._ask(Request(method, path), keys_[key])

    # -- time and stops ---------------------------------------------------------------------------------------------

    def _set_clock(self, now: int) -> None:
        self.clock.now = self.model.now = now

    @rule(later=st.sampled_from(CLOCK_MS))
    def time_passes(self, later: int) -> None:
        self._set_clock(self.model.now + later)

    @rule(earlier=st.sampled_from([1, 1000, 59_000, 61_000, 3_600_000, modelled.DAY, 31 * modelled.DAY]))
    def the_clock_is_set_back(self, earlier: int) -> None:
        self._set_clock(max(START, self.model.now - earlier))

    @rule(before=st.sampled_from([0, 1, 500]))
    def the_month_ends(self, before: int) -> None:
        today = datetime.fromtimestamp(self.model.now / 1000, UTC)
        first = (today.replace(day=28) + timedelta(days=4)).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        self._set_clock(int(first.timestamp()) * 1000 - before)

    @rule()
    def restart(self) -> None:
        """The same store, another process: nothing has changed, but for the rate where it is counted in memory."""
        while self.flights:
            self.finish(0, Outcome(None, "At last.", 12, 2))
        self.run(self._stop())
        self.run(self._start())
        if not RUNNING:
            self.model.restarted()

    @invariant()
    def everything_counted_is_the_same(self) -> None:
        """Without HTTP, which would take slots: what GET /analytics says, and all that was captured."""
        type(self).steps += 1
        self.run(self._compare())

    async def _compare(self) -> None:
        services = self.app.services
        for account in self.model.accounts:
            shown = await analytics.show(services, ADMIN, account=account.id, days=30)
            assert shapes.analytics(shown) == self.model.analytics(account, 30)
            for bot in account.bots:
                requests = [one.request for one in (await captures.list_requests(services, ADMIN, bot=bot.id, limit=1000)).items]
                assert list(map(shapes.request, requests)) == bot.requests
                found = (await captures.list_appointments(services, ADMIN, bot=bot.id, limit=1000)).items
                appointments = [one.appointment for one in found if one.appointment]
                assert list(map(shapes.appointment, appointments)) == bot.appointments


@pytest.mark.slow
def test_the_service_never_differs_from_the_model(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    monkeypatch.setattr(paging, "MAX_DEPTH", RULES.depth)
    monkeypatch.setattr(analytics, "ROW_CAP", RULES.row_cap)
    ServiceAgainstModel.steps = 0
    ServiceAgainstModel.met.clear()
    run_state_machine_as_test(ServiceAgainstModel, settings=SETTINGS)
    while ServiceAgainstModel.steps < STEPS:
        run_state_machine_as_test(ServiceAgainstModel, settings=SETTINGS)
    if STEPS >= 10_000:
        assert set(modelled.STATUS_OF) <= set(ServiceAgainstModel.met)
