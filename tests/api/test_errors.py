"""Every error code of help/interface.md 6, provoked over HTTP and compared with the table."""

import asyncio
import json
import logging
import re
from contextlib import nullcontext
from dataclasses import replace

import pytest
from aiohttp import ClientSession

from chatsvc.app import App
from chatsvc.domain import errors
from chatsvc.domain.errors import PROBLEMS, REPLY_FAILURES
from chatsvc.domain.limiter import Slot
from chatsvc.domain.paging import MAX_DEPTH, Position
from chatsvc.engines import EMPTY_REASONS, Reply, Turn
from chatsvc.log import request_id
from chatsvc.services.accounts import accounts, bots
from tests.api.support import assert_headers, envelope, fetch, names, out_of_reach
from tests.conftest import MODELS, Caller, MakeCaller
from tests.fakes import ADMIN, START, ScriptedEngine, failing
from tests.tables import rows

STATUS = {code: int(status) for code, status, _ in rows("unit/errors")}

ENDPOINTS = [
    "GET /chatbots",
    "GET /chatbots/{id}",
    "POST /messages",
    "GET /conversations",
    "GET /conversations/{id}",
    "GET /analytics",
]


# How each code is provoked once `prepare` has done its part: method and path, body, extra fields, slots taken.
PROVOCATIONS = {code: cells for code, *cells in rows("api/provocations")}
OUT_OF_REACH = {"auth_backend_unavailable": "api_keys", "service_unavailable": "conversations"}
KEYS = {"missing_api_key": {}, "invalid_api_key": {"Authorization": "Bearer csk_none"}}
HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 405: {"Allow": "POST"}, 429: {"Retry-After": str(60 - START // 1000 % 60)}}


async def prepare(code: str, app: App, caller: Caller, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change what makes the service refuse with a code."""
    match code:
        case "account_not_found":
            await accounts.delete(app.services, ADMIN, account=caller.account)
        case "plan_required" | "plan_upgrade_required":
            plan = json.loads(PROVOCATIONS[code][2])["plan"] or "none"
            await accounts.change(app.services, ADMIN, account=caller.account, plan=plan)
        case "rate_limit_exceeded":
            app._limiter.limit = 1
            assert (await caller.get("/chatbots")).status == 200
        case "chatbot_inactive":
            await bots.deactivate(app.services, ADMIN, bot=await caller.chatbot())
        case "message_quota_exceeded":
            await accounts.change(app.services, ADMIN, account=caller.account, messages_limit=0)
        case "assistant_unavailable":
            engine.script = failing("overloaded")
        case "assistant_empty_reply":
            engine.script = lambda _: Reply(" \n")
        case "rate_limit_unavailable":
            monkeypatch.setattr(app._limiter, "take", _down)
        case "internal_error":
            engine.script = _buggy


def _down(*_: object) -> Slot:
    raise OSError("the counter is down")


def _buggy(turn: Turn) -> Reply:
    raise ZeroDivisionError(f"a bug met {turn.message}")


def test_the_table_of_the_code_is_the_table_of_the_specification() -> None:
    assert len(STATUS) == 24
    assert {code: problem.status for code, problem in PROBLEMS.items()} == STATUS
    assert {code: set(json.loads(extra)) for code, (_, _, extra, _) in PROVOCATIONS.items()} == {
        code: set(problem.extra) for code, problem in PROBLEMS.items()
    }
    assert PROVOCATIONS.keys() == STATUS.keys()


def test_each_error_is_described_in_turkish_and_in_english_and_no_two_say_the_same() -> None:
    for problem in PROBLEMS.values():
        assert re.search(r"[çğıöşüÇĞİÖŞÜ]|\byok\.$", problem.text("tr"))
        assert not re.search("[çğıöşüÇĞİÖŞÜ]", problem.text("en"))
        assert all(re.fullmatch("(?s)[A-ZÇĞİÖŞÜ“].*[.]", text) for text in (problem.text("tr"), problem.text("en")))
    assert len({problem.text("tr") for problem in PROBLEMS.values()}) == len({problem.text("en") for problem in PROBLEMS.values()}) == 24


@pytest.mark.parametrize("code", STATUS)
async def test_an_error_has_its_status_its_fields_and_its_headers_and_nothing_else(
    code: str, app: App, caller: Caller, engine: ScriptedEngine, session: ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    await prepare(code, app, caller, engine, monkeypatch)
    cursor = app.services.cursors.write(Position(0, 0, MAX_DEPTH), ("chatbots", caller.account))

    def filled(text: str) -> str:
        return text.replace("BOT", caller.bot).replace("CURSOR", cursor).replace("LONG", "x" * 4001)

    line, body, extra, slots = PROVOCATIONS[code]
    method, _, path = filled(line).partition(" ")
    headers = KEYS.get(code, {"Authorization": f"Bearer {caller.key}"})
    async with out_of_reach(app, OUT_OF_REACH[code]) if code in OUT_OF_REACH else nullcontext():
        answer = await fetch(session, method, caller.base_url + path, headers=headers, data=filled(body) or None)
    assert answer.status == STATUS[code]
    because = errors.because("no_json") if code == "invalid_json" else None
    assert answer.json == envelope(code, because, **json.loads(filled(extra)))
    assert list(answer.json)[:4] == ["success", "error", "message", "message_en"]
    limit = app._limiter.limit
    assert_headers(answer, limit=limit, remaining=limit - int(slots), also=HEADERS.get(answer.status))


async def test_a_model_that_fails_gives_502_with_its_reason(caller: Caller, engine: ScriptedEngine) -> None:
    for code, reasons in (("assistant_unavailable", frozenset(REPLY_FAILURES) - EMPTY_REASONS), ("assistant_empty_reply", EMPTY_REASONS)):
        for reason in reasons:
            engine.script = failing(reason)
            answer = await caller.send()
            assert (answer.status, answer.json) == (502, envelope(code, reason=reason))
    for text, code, reason in (
        ("", "assistant_empty_reply", "empty"),
        ("\n\t ", "assistant_empty_reply", "empty"),
        ("\u2003", "assistant_empty_reply", "empty"),
        ("NUL \0", "assistant_unavailable", "bad_response"),
        ("half a pair \ud83d", "assistant_unavailable", "bad_response"),
    ):
        engine.script = lambda _, text=text: Reply(text)  # type: ignore[misc]  # bound at once
        assert (await caller.send()).json == envelope(code, reason=reason)


async def test_a_bot_without_time_tier_or_answer_says_so(app: App, caller: Caller, make_caller: MakeCaller, engine: ScriptedEngine) -> None:
    offline = await make_caller(model="offline")
    assert (await offline.send("what is the tensile strength of basalt")).json == envelope("assistant_unavailable", reason="no_answer")
    app.services.config = replace(app.config, models={"offline": MODELS["offline"]})
    assert (await caller.send()).json == envelope("assistant_unavailable", reason="not_configured")
    app.services.config = replace(app.config, anthropic=replace(app.config.anthropic, timeout_s=0.05))
    engine.gate = asyncio.Event()
    assert (await caller.send()).json == envelope("assistant_unavailable", reason="timeout")


async def test_a_subscription_that_is_not_active_may_not_send(app: App, make_caller: MakeCaller) -> None:
    caller = await make_caller(messages_limit=0)
    for status, reason in (
        *((status, "subscription_inactive") for status in ("past_due", "canceled", "paused")),
        *((status, "allowance_exhausted") for status in ("active", "trialing")),
    ):
        await accounts.change(app.services, ADMIN, account=caller.account, status=status)
        assert (await caller.send()).json == envelope("message_quota_exceeded", reason=reason)


async def test_a_limiter_that_is_down_altogether_is_told_as_such(app: App, caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app._limiter, "take", _down)
    answer = await caller.get("/chatbots")
    assert answer.status == 503
    assert answer.json == envelope("rate_limit_unavailable")
    assert_headers(answer, limit=100_000, remaining=100_000)


async def test_a_store_that_fails_while_the_account_is_looked_up_cannot_verify_the_key(app: App, make_caller: MakeCaller) -> None:
    caller = await make_caller()
    app.services.account_cache._accounts.clear()
    async with out_of_reach(app, "accounts"):
        assert (await caller.get("/chatbots")).json == envelope("auth_backend_unavailable")
    assert (await caller.get("/chatbots")).status == 200


@pytest.mark.parametrize(
    ("table", "path"),
    [("conversations", "/conversations"), ("messages", "/conversations/x"), ("usage_records", "/analytics")],
)
async def test_a_store_that_fails_after_the_gates_is_service_unavailable(
    table: str, path: str, app: App, caller: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    await caller.send(user_id="v")
    if path.endswith("x"):
        path = f"/conversations/{(await caller.get('/conversations')).json['data'][0]['id']}"
    async with out_of_reach(app, table):
        answer = await caller.get(path)
    assert answer.status == 503
    assert answer.json == envelope("service_unavailable")
    assert "the store cannot answer" in caplog.text
    assert (await caller.get(path)).status == 200


@pytest.mark.parametrize("table", ["usage_records", "allowances"])
async def test_an_exchange_that_cannot_be_written_is_not_answered_and_not_charged(
    table: str, app: App, make_caller: MakeCaller, engine: ScriptedEngine, store: str
) -> None:
    caller = await make_caller(messages_limit=1)
    await caller.get("/chatbots")
    async with out_of_reach(app, table):
        answer = await caller.send(user_id="v")
    assert answer.status == 503
    assert answer.json == envelope("service_unavailable")
    # Of several processes none asks the engine before it has reserved the message in the store.
    assert len(engine.turns) == (0 if (store, table) == ("postgres", "allowances") else 1)
    assert (await caller.get("/conversations")).json["data"] == []
    assert (await caller.send(user_id="v")).status == 200
    assert engine.turns[-1].history == []
    assert (await caller.send(user_id="v")).json == envelope("message_quota_exceeded", reason="allowance_exhausted")


async def test_a_bug_is_logged_whole_with_the_request_id_and_answered_bare(
    caller: Caller, engine: ScriptedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    def with_request_id(record: logging.LogRecord) -> bool:
        record.request_id = request_id.get()
        return True

    caplog.handler.addFilter(with_request_id)
    engine.script = _buggy
    answer = await caller.send("a message nobody should see")
    assert answer.status == 500
    assert answer.json == envelope("internal_error")
    (record,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert vars(record)["request_id"] == answer.headers["X-Request-Id"]
    assert record.exc_info
    assert isinstance(record.exc_info[1], ZeroDivisionError)
    assert "_buggy" in caplog.text
    assert "Traceback" in caplog.text


async def test_outside_of_the_interface_is_nothing_and_no_slot_is_counted(app: App, caller: Caller, session: ClientSession) -> None:
    for path in ("/", "/health", "/api", "/apis/v2/chatbots"):
        answer = await fetch(session, "GET", app.url + path)
        assert answer.status == 404
        assert answer.json == envelope("unknown_endpoint", method="GET", path=path, supported_endpoints=ENDPOINTS)
        assert sorted(names(answer)) == ["cache-control", "content-length", "content-type", "date", "x-request-id"]
    assert (await caller.get("/chatbots")).headers["X-RateLimit-Remaining"] == "99999"


async def test_no_response_has_a_cors_header(caller: Caller) -> None:
    origin = {"Origin": "https://shop.example", "Access-Control-Request-Method": "POST"}
    answers = [await caller.request(method, "/chatbots", headers=origin) for method in ("GET", "OPTIONS", "HEAD")]
    answers.append(await caller.request("OPTIONS", "/messages", headers=origin))
    assert [answer.status for answer in answers] == [200, 405, 405, 405]
    assert not [name for answer in answers for name in answer.headers if name.lower().startswith("access-control")]


async def test_too_many_in_flight_take_a_slot_but_no_allowance(
    app: App, make_caller: MakeCaller, engine: ScriptedEngine, session: ClientSession
) -> None:
    app.services.tallies.most = 1
    caller = await make_caller(messages_limit=2)
    held = await engine.hold(caller.send())
    # A key that nobody knows is told so even now.
    assert (await fetch(session, "GET", f"{caller.base_url}/chatbots")).error == "missing_api_key"
    refused = [await caller.send(), await caller.get("/chatbots"), await caller.get("/nowhere")]
    assert [answer.status for answer in refused] == [503] * 3
    assert [answer.json for answer in refused] == [envelope("service_unavailable")] * 3
    assert [answer.headers["X-RateLimit-Remaining"] for answer in refused] == ["99998", "99997", "99996"]
    engine.release()
    assert (await held).status == 200
    assert [(await caller.send()).status for _ in range(2)] == [200, 402]
