"""The order of help/interface.md 3.2 by what can be seen of it: key, plan, rate limit, routing, and only then the rest."""

import asyncio
import hashlib
import json
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import ClientSession

from chatsvc.app import App
from chatsvc.domain import keys as key_shapes
from chatsvc.domain.captures import Captured
from chatsvc.domain.plans import Plan
from chatsvc.engines import Reply
from chatsvc.services.accounts import accounts, bots, webhooks
from chatsvc.store import accounts as stored_accounts
from chatsvc.store.database import Database
from chatsvc.store.tables import CONVERSATION, TABLES
from tests.api.conftest import Connect
from tests.api.support import MINUTE_END, REMAINING, assert_headers, envelope, execute, fetch, request, standing, until
from tests.conftest import Caller, MakeCaller
from tests.fakes import ADMIN, START, FakeClock, ScriptedEngine, bot_of
from tests.store.inspection import row_counts
from tests.tables import rows

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")
PATHS = (
    "/chatbots",
    "/chatbots/x",
    "/chatbots/",
    "/messages",
    "/conversations",
    "/conversations/x",
    "/analytics",
    "/",
    "",
    "/nowhere",
    "/webhooks/1",
)


async def test_without_a_valid_key_every_path_and_method_is_401_and_never_404_or_405(caller: Caller, session: ClientSession) -> None:
    unknown = {"Authorization": f"Bearer {key_shapes.generate()}"}
    for headers, code in (({}, "missing_api_key"), (unknown, "invalid_api_key")):
        for method in METHODS:
            for path in (*PATHS, "/../v1/x", "/../"):
                answer = await fetch(session, method, caller.base_url + path, headers=headers)
                assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer"), (method, path)
                assert answer.json == (None if method == "HEAD" else envelope(code))
                assert standing(answer) == (100_000, 100_000, MINUTE_END)


async def test_other_versions_below_api_pass_the_gates_too(app: App, caller: Caller, session: ClientSession) -> None:
    url = f"{app.url}/api/v1/chatbots"
    assert (await fetch(session, "GET", url)).error == "missing_api_key"
    answer = await fetch(session, "GET", url, headers={"Authorization": f"Bearer {caller.key}"})
    assert answer.error == "unknown_endpoint"
    assert answer.json["path"] == "/api/v1/chatbots"
    assert answer.headers[REMAINING] == "99999"


async def test_a_path_is_taken_as_it_was_sent_and_one_that_does_not_exist_takes_a_slot(connect: Connect, caller: Caller) -> None:
    wire = await connect()
    for taken, path in enumerate(("/chatbots/", "/Chatbots", "//chatbots", "/chatbots/x/y", "/analytics/x", "/chatbots%2Fx", "")):
        await wire.send(request("GET", f"/api/v2{path}?q=%41#top", caller))
        answer = await wire.answer()
        assert (answer.status, answer.error, answer.json["path"]) == (404, "unknown_endpoint", f"/api/v2{path}")
        assert answer.headers[REMAINING] == str(99_999 - taken)


async def test_a_known_path_takes_its_one_method(caller: Caller) -> None:
    for path in ("/chatbots", "/chatbots/x", "/messages", "/conversations", "/conversations/x", "/analytics"):
        allow = "POST" if path == "/messages" else "GET"
        for method in METHODS:
            answer = await caller.request(method, path)
            if method == allow:
                assert answer.status in {200, 400, 404}
            else:
                assert (answer.status, answer.headers["Allow"]) == (405, allow)
                assert answer.json == (None if method == "HEAD" else envelope("method_not_allowed", allow=[allow]))


async def test_the_plan_is_checked_before_a_slot_is_taken(app: App, make_caller: MakeCaller) -> None:
    caller = await make_caller(plan="business")
    answers = [await caller.get(path) for path in ("/chatbots", "/nowhere")] + [await caller.send()]
    refusal = envelope("plan_upgrade_required", required_plan="enterprise", feature="rest_api", plan="business")
    assert [(answer.status, answer.json) for answer in answers] == [(403, refusal)] * 3
    assert [answer.headers[REMAINING] for answer in answers] == ["100000"] * 3
    await accounts.change(app.services, ADMIN, account=caller.account, plan="enterprise")
    assert (await caller.get("/chatbots")).headers[REMAINING] == "99999"


async def test_the_rate_limit_is_checked_before_routing(app: App, caller: Caller) -> None:
    app._limiter.limit = 1
    assert (await caller.get("/nowhere")).status == 404
    for method, path in (("GET", "/nowhere"), ("DELETE", "/chatbots"), ("POST", "/messages"), ("GET", "/chatbots")):
        assert (await caller.request(method, path)).error == "rate_limit_exceeded"


async def test_the_body_is_not_read_before_the_gates_are_passed_and_one_that_nobody_wants_is_not_waited_for(
    app: App, connect: Connect, make_caller: MakeCaller
) -> None:
    unknown, poor, busy, known = await make_caller(), await make_caller(plan="starter"), await make_caller(), await make_caller()
    unknown.key = key_shapes.generate()
    app._limiter.limit = 2
    assert {(await busy.get("/chatbots")).status for _ in range(2)} == {200}

    async def refused(caller: Caller, error: str, method: str = "POST", path: str = "/messages") -> None:
        wire = await connect()
        await wire.send(request(method, f"/api/v2{path}", caller, "Content-Length: 1000000000") + b"x" * 70_000)
        answer = await wire.answer()
        assert (answer.error, answer.headers["Connection"]) == (error, "close")
        assert await wire.is_closed()

    await asyncio.gather(
        refused(unknown, "invalid_api_key"),
        refused(poor, "plan_upgrade_required"),
        refused(busy, "rate_limit_exceeded"),
        refused(known, "unknown_endpoint", path="/nowhere"),
        refused(known, "method_not_allowed", "PUT"),
    )


@pytest.mark.parametrize("at_once", [True, False])
async def test_an_unread_body_is_never_taken_for_a_request(connect: Connect, caller: Caller, at_once: bool) -> None:
    inner, following = request("GET", "/api/v2/analytics", caller), request("GET", "/api/v2/chatbots/x", caller)
    for method in ("POST", "DELETE", "GET"):
        wire, head = await connect(), request(method, "/api/v2/nowhere", caller, body=inner)[: -len(inner)]
        await wire.send(head + (inner + following) * at_once)
        assert (await wire.answer()).error == "unknown_endpoint"
        await wire.send((inner + following) * (not at_once))
        assert (await wire.answer()).error == "chatbot_not_found"


# -- the header ---------------------------------------------------------------------------------------------------------


async def test_anything_odd_about_the_header_is_an_invalid_key_without_a_look_up(
    caller: Caller, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_look_up(*_: object) -> None:
        raise AssertionError("the key was looked up")

    monkeypatch.setattr(stored_accounts, "find_key", no_look_up)
    key = caller.key
    forms = {
        "key": key,
        "bare": key[4:],
        "short": key[:-1],
        "swapped": key.swapcase(),
        "flipped": key[:-1] + ("0" if key[-1] != "0" else "1"),
        "long": key * 100,
        "digest": hashlib.sha256(key.encode()).hexdigest(),
    }
    wire = await connect()
    for lines in [json.loads(row) for (row,) in rows("api/odd_headers")]:
        await wire.send(request("GET", "/api/v2/nowhere", None, *(line.format(**forms) for line in lines)))
        answer = await wire.answer()
        assert (answer.status, answer.json) == (401, envelope("invalid_api_key")), lines
        assert_headers(answer, limit=100_000, remaining=100_000, also={"WWW-Authenticate": "Bearer"})


async def test_the_case_of_the_scheme_and_spaces_around_do_not_matter(caller: Caller, connect: Connect) -> None:
    wire = await connect()
    for before, behind in (("bearer ", ""), ("bEaReR ", "  "), ("  Bearer ", "  "), ("Bearer    ", "")):
        await wire.send(request("GET", "/api/v2/chatbots", None, f"aUTHORIZATION: {before}{caller.key}{behind}"))
        assert (await wire.answer()).status == 200


async def test_a_key_elsewhere_than_in_the_header_is_no_key(caller: Caller, session: ClientSession) -> None:
    for query, headers in (
        (f"?api_key={caller.key}&access_token={caller.key}&key={caller.key}", {}),
        ("", {"X-Api-Key": caller.key, "Cookie": f"Authorization=Bearer {caller.key}", "Proxy-Authorization": f"Bearer {caller.key}"}),
    ):
        assert (await fetch(session, "GET", f"{caller.base_url}/chatbots{query}", headers=headers)).error == "missing_api_key"


# -- keys, accounts and plans that change -------------------------------------------------------------------------------


async def _second_key(app: App, caller: Caller, **options: Any) -> tuple[str, dict[str, str]]:
    new_key = await accounts.create_key(app.services, ADMIN, account=caller.account, **options)
    return new_key.key.id, {"Authorization": f"Bearer {new_key.secret}"}


async def test_what_was_accepted_before_its_key_was_revoked_is_answered(app: App, caller: Caller, engine: ScriptedEngine) -> None:
    under_way = await engine.hold(caller.send())
    await accounts.revoke_key(app.services, ADMIN, key=(await accounts.list_keys(app.services, ADMIN)).items[0].key.id)
    assert (await caller.send()).error == "invalid_api_key"
    engine.release()
    assert (await under_way).status == 200
    assert (await caller.send()).error == "invalid_api_key"


async def test_a_key_revoked_while_it_is_looked_up_is_not_remembered(app: App, caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    key_id, with_second = await _second_key(app, caller)
    find_key = stored_accounts.find_key
    found, go_on = asyncio.Event(), asyncio.Event()

    async def slow(db: Database, digest: bytes) -> Any:
        result = await find_key(db, digest)
        found.set()
        await go_on.wait()
        return result

    monkeypatch.setattr(stored_accounts, "find_key", slow)
    looking = asyncio.create_task(caller.get("/chatbots", headers=with_second))
    await found.wait()
    await accounts.revoke_key(app.services, ADMIN, key=key_id)
    go_on.set()
    await looking
    assert (await caller.get("/chatbots", headers=with_second)).error == "invalid_api_key"


async def test_the_owner_sees_when_a_key_was_last_let_in(app: App, caller: Caller, clock: FakeClock) -> None:
    async def last_use() -> object:
        (shown,) = (await accounts.list_keys(app.services, ADMIN, account=caller.account)).items
        return shown.key.last_used_at

    assert await last_use() is None
    assert (await caller.get("/chatbots")).status == 200
    assert await last_use() == START
    clock.advance(60)
    assert (await caller.get("/chatbots")).status == 200
    assert await last_use() == START + 60_000


async def test_a_key_ends_at_its_time_to_the_millisecond(app: App, caller: Caller, clock: FakeClock) -> None:
    _, expiring = await _second_key(app, caller, expires="2026-11-20T12:14:29")
    for now, status in ((START - START % 1000 + 999, 200), (START - START % 1000 + 1000, 401), (START, 200)):
        clock.now = now
        assert (await caller.get("/chatbots", headers=expiring)).status == status


async def test_a_deleted_account_is_told_to_its_live_keys_and_to_no_other(app: App, caller: Caller, clock: FakeClock) -> None:
    stranger_id, revoked = await _second_key(app, caller)
    _, expired = await _second_key(app, caller, expires="2026-11-20T12:14:29")
    _, unused = await _second_key(app, caller)
    await accounts.revoke_key(app.services, ADMIN, key=stranger_id)
    clock.advance(1)
    assert (await caller.get("/chatbots")).status == 200
    await accounts.delete(app.services, ADMIN, account=caller.account)
    for _ in range(2):
        for path in ("/chatbots", "/nowhere"):
            answer = await caller.get(path)
            assert answer.status == 401
            assert answer.json == envelope("account_not_found")
            assert answer.headers["WWW-Authenticate"] == "Bearer"
            assert (await caller.get(path, headers=unused)).json == envelope("account_not_found")
            assert (await caller.get(path, headers=revoked)).json == envelope("invalid_api_key")
            assert (await caller.get(path, headers=expired)).json == envelope("invalid_api_key")


async def test_nothing_but_digests_stays_of_a_deleted_account(app: App, caller: Caller) -> None:
    await caller.send(user_id="v", headers={"Idempotency-Key": "k"})
    await accounts.delete(app.services, ADMIN, account=caller.account)
    left = await row_counts(app)
    # Over PostgreSQL the number of its changes stays, by which the other processes learn that it is gone.
    assert left.pop("chatsvc_versions", 0) <= 1
    assert left == {"api_keys": 1, "store_facts": left["store_facts"]}
    assert await execute(app, "SELECT account_id, label, prefix, last_used_at FROM api_keys") == [(None, None, "", None)]


async def test_an_account_deleted_while_its_message_is_answered_gets_no_reply(app: App, caller: Caller, engine: ScriptedEngine) -> None:
    under_way = await engine.hold(caller.send())
    await accounts.delete(app.services, ADMIN, account=caller.account)
    engine.release()
    answer = await under_way
    assert answer.status == 401
    assert answer.json == envelope("account_not_found")
    assert await execute(app, "SELECT count(*) FROM messages") == [(0,)]


async def test_a_bot_deleted_while_its_message_is_answered_goes_with_all_its_rows_and_no_other(
    app: App, caller: Caller, engine: ScriptedEngine, clock: FakeClock
) -> None:
    added = []
    for name in ("Other", "Third"):
        clock.advance(1)
        added.append((await bots.create(app.services, ADMIN, name=name, account=caller.account, model="scripted")).id)
    other, third = added
    page = (await caller.get("/chatbots?limit=1")).json["pagination"]
    engine.script = lambda _: Reply("Noted.", captured=Captured("contact", "x", "Selin", "selin@example.com", None))
    for bot in (caller.bot, other):
        await webhooks.put(app.services, ADMIN, bot=await bot_of(app.services, bot), events=["request.created"])
        answer = await caller.send("Selin, selin@example.com", "v", headers={"Idempotency-Key": bot}, chatbot_id=bot)
        assert answer.status == 200
    before = await rows_of(app, other)
    under_way = await engine.hold(caller.send(user_id="v"))
    await bots.delete(app.services, ADMIN, bot=await caller.chatbot())
    engine.release()
    assert (await under_way).error == "chatbot_not_found"
    assert (await caller.send(user_id="v")).error == "chatbot_not_found"
    assert await rows_of(app, caller.bot) == {}
    assert await rows_of(app, other) == before
    assert {"conversations", "requests", "usage_records", "conversation_counts", "webhooks", "idempotency_keys"} <= before.keys()
    assert await execute(app, "SELECT messages_used FROM allowances") == [(2,)]
    # A walk that began before goes on with the bots that are left.
    assert [chatbot["id"] for chatbot in (await caller.get(f"/chatbots?cursor={page['next_cursor']}")).json["data"]] == [other]
    assert [chatbot["id"] for chatbot in (await caller.get("/chatbots")).json["data"]] == [third, other]


async def rows_of(app: App, bot: str) -> dict[str, int]:
    """Count the rows of each table that name a bot or hang on one of its conversations; none with 0."""
    counted = {}
    for table in TABLES:
        records = await execute(app, f"SELECT * FROM {table.name}")  # noqa: S608  # the registry's names
        if table.owner and (count := sum(bot in map(str, row) or f'["{bot}"' in str(row) for row in records)):
            counted[table.name] = count
        elif table.owner == CONVERSATION and records:
            parents = f"SELECT count(*) FROM {table.name} t JOIN conversations c ON c.number = t.conversation WHERE c.bot_id = '{bot}'"  # noqa: S608
            ((count,),) = await execute(app, parents)
            counted |= {table.name: count} if count else {}
    return counted


async def test_a_plan_that_the_configuration_has_no_more_is_no_active_plan(app: App, caller: Caller) -> None:
    others = {name: plan for name, plan in app.config.plans.items() if name != "enterprise"}
    app.services.config = replace(app.config, plans={**others, "gold": Plan("gold", 1, 10, 1, rest_api=True)})
    answer = await caller.get("/chatbots")
    assert answer.status == 403
    assert answer.json == envelope("plan_required", required_plan="gold", feature="rest_api", plan="enterprise")


async def test_the_lowest_plan_with_the_interface_is_the_one_required(app: App, make_caller: MakeCaller) -> None:
    caller = await make_caller(plan="free")
    plans = {name: plan._replace(rest_api=name in {"business", "enterprise"}) for name, plan in app.config.plans.items()}
    app.services.config = replace(app.config, plans=plans)
    assert (await caller.get("/chatbots")).json["required_plan"] == "business"
    app.services.config = replace(app.config, plans={name: plan._replace(rest_api=False) for name, plan in plans.items()})
    assert (await caller.get("/chatbots")).json["required_plan"] is None


# -- shutdown -----------------------------------------------------------------------------------------------------------


async def _is_refused(connect: Connect) -> None:
    async with asyncio.timeout(20):
        with suppress(ConnectionError):
            while True:
                await connect()


async def test_a_stopping_service_finishes_what_it_began_and_answers_what_comes_on_kept_connections(
    app: App, caller: Caller, connect: Connect, engine: ScriptedEngine
) -> None:
    kept, other, idle = await connect(), await connect(), await connect()
    for wire in (kept, other, idle):
        await wire.send(request("GET", "/api/v2/chatbots", caller))
        assert (await wire.answer()).status == 200
    under_way = await engine.hold(caller.send(user_id="v"))
    stopping = asyncio.create_task(app.stop())
    await _is_refused(connect)
    await other.send(request("GET", "/api/v2/chatbots"))
    refused = await other.answer()
    assert (refused.error, refused.headers["Connection"]) == ("missing_api_key", "close")
    assert await other.is_closed()
    # A message whose turn begins after the stop.
    body = json.dumps({"chatbot_id": caller.bot, "message": "and now?", "user_id": "late"}).encode()
    await kept.send(request("POST", "/api/v2/messages", caller, body=body))
    await until(lambda: len(engine.turns) == 2)
    assert not stopping.done()
    engine.release()
    late = await kept.answer()
    assert (late.status, late.json["data"]["reply"], late.headers["Connection"]) == (200, "echo: and now?", "close")
    answered = await under_way
    assert answered.status == 200
    assert answered.json["data"]["reply"] == "echo: hello"
    await stopping
    assert await kept.is_closed()
    assert await idle.is_closed()
