"""The order of help/interface.md 3.2 by what can be seen of it: key, plan, rate limit, routing, and only then the rest."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
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
from chatsvc.services.accounts import accounts, bots, keys, webhooks
from chatsvc.services.conversations import search
from chatsvc.store import keys as stored_keys
from chatsvc.store.database import Database
from chatsvc.store.tables import CONVERSATION, TABLES
from tests.api.conftest import Connect
from tests.api.support import MINUTE_END, REMAINING, assert_headers, envelope, execute, fetch, request, standing, until
from tests.conftest import Caller, MakeCaller
from tests.fakes import ADMIN, START, FakeClock, ScriptedEngine
from tests.store.inspection import row_counts

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


@pytest.mark.parametrize("method", METHODS)
async def test_without_a_key_every_path_and_method_is_401(method: str, caller: Caller, session: ClientSession) -> None:
    for path in (*PATHS, "/../v1/x", "/../"):
        answer = await fetch(session, method, caller.base_url + path)
        assert answer.status == 401, path
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert answer.json == (None if method == "HEAD" else envelope("missing_api_key"))


@pytest.mark.parametrize("method", METHODS)
async def test_with_an_invalid_key_every_path_and_method_is_401_and_never_404_or_405(method: str, caller: Caller) -> None:
    unknown = {"Authorization": f"Bearer {key_shapes.generate()}"}
    for path in PATHS:
        answer = await caller.request(method, path, headers=unknown)
        assert answer.status == 401, path
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        assert answer.json == (None if method == "HEAD" else envelope("invalid_api_key"))
        assert standing(answer) == (100_000, 100_000, MINUTE_END)


async def test_other_versions_below_api_pass_the_gates_too(app: App, caller: Caller, session: ClientSession) -> None:
    url = f"{app.url}/api/v1/chatbots"
    assert (await fetch(session, "GET", url)).error == "missing_api_key"
    answer = await fetch(session, "GET", url, headers={"Authorization": f"Bearer {caller.key}"})
    assert answer.error == "unknown_endpoint"
    assert answer.json["path"] == "/api/v1/chatbots"
    assert answer.headers[REMAINING] == "99999"


async def test_a_valid_key_on_a_path_that_does_not_exist_is_404_and_takes_a_slot(caller: Caller) -> None:
    first = await caller.get("/nowhere")
    second = await caller.get("/chatbots/x/y")
    assert [answer.error for answer in (first, second)] == ["unknown_endpoint"] * 2
    assert [answer.headers[REMAINING] for answer in (first, second)] == ["99999", "99998"]


@pytest.mark.parametrize(
    "path", ["/chatbots/", "/messages/", "/Chatbots", "//chatbots", "/chatbots//", "/analytics/x", "/chatbots%2Fx", ""]
)
async def test_a_path_is_taken_as_it_was_sent(path: str, connect: Connect, caller: Caller) -> None:
    wire = await connect()
    await wire.send(request("GET", f"/api/v2{path}?q=%41#top", caller))
    answer = await wire.answer()
    assert answer.status == 404
    assert answer.error == "unknown_endpoint"
    assert answer.json["path"] == f"/api/v2{path}"


@pytest.mark.parametrize(
    ("path", "allow"),
    [
        ("/chatbots", "GET"),
        ("/chatbots/x", "GET"),
        ("/messages", "POST"),
        ("/conversations", "GET"),
        ("/conversations/x", "GET"),
        ("/analytics", "GET"),
    ],
)
async def test_a_known_path_takes_its_one_method(path: str, allow: str, caller: Caller) -> None:
    for method in METHODS:
        answer = await caller.request(method, path)
        if method == allow:
            assert answer.status in {200, 400, 404}
            continue
        assert answer.status == 405
        assert answer.headers["Allow"] == allow
        assert answer.json == (None if method == "HEAD" else envelope("method_not_allowed", allow=[allow]))


async def test_the_plan_is_checked_before_a_slot_is_taken(app: App, make_caller: MakeCaller) -> None:
    caller = await make_caller(plan="business")
    answers = [await caller.get(path) for path in ("/chatbots", "/nowhere")] + [await caller.send()]
    refusal = envelope("plan_upgrade_required", required_plan="enterprise", feature="rest_api", plan="business")
    assert [(answer.status, answer.json) for answer in answers] == [(403, refusal)] * 3
    assert [answer.headers[REMAINING] for answer in answers] == ["100000"] * 3
    await accounts.change(app.services, ADMIN, account=caller.account, plan="enterprise")
    assert (await caller.get("/chatbots")).headers[REMAINING] == "99999"


async def test_what_is_left_is_shown_where_no_slot_is_taken(app: App, caller: Caller) -> None:
    await caller.get("/chatbots")
    await caller.get("/nowhere")
    await accounts.change(app.services, ADMIN, account=caller.account, plan="business")
    assert (await caller.get("/chatbots")).headers[REMAINING] == "99998"
    await keys.revoke(app.services, ADMIN, key=(await keys.list_all(app.services, ADMIN)).items[0].key.id)
    answer = await caller.get("/chatbots")
    assert answer.error == "invalid_api_key"
    assert answer.headers[REMAINING] == "99998"


async def test_the_key_is_checked_before_the_plan(app: App, make_caller: MakeCaller) -> None:
    caller = await make_caller(plan="free")
    assert (await caller.get("/chatbots")).status == 403
    await keys.revoke(app.services, ADMIN, key=(await keys.list_all(app.services, ADMIN)).items[0].key.id)
    assert (await caller.get("/chatbots")).error == "invalid_api_key"


async def test_the_rate_limit_is_checked_before_routing(app: App, caller: Caller) -> None:
    app._limiter.limit = 1
    assert (await caller.get("/nowhere")).status == 404
    for method, path in (("GET", "/nowhere"), ("DELETE", "/chatbots"), ("POST", "/messages"), ("GET", "/chatbots")):
        assert (await caller.request(method, path)).error == "rate_limit_exceeded"


async def test_the_body_is_not_read_before_the_gates_are_passed(app: App, connect: Connect, make_caller: MakeCaller) -> None:
    unknown, poor, busy = await make_caller(), await make_caller(plan="starter"), await make_caller()
    unknown.key = key_shapes.generate()
    app._limiter.limit = 1
    assert (await busy.get("/chatbots")).status == 200

    async def refused(caller: Caller, error: str) -> None:
        await _answered_at_once(connect, request("POST", "/api/v2/messages", caller, "Content-Length: 1000000000"), error)

    await asyncio.gather(refused(unknown, "invalid_api_key"), refused(poor, "plan_upgrade_required"), refused(busy, "rate_limit_exceeded"))


async def test_a_body_that_nobody_wants_is_not_waited_for(connect: Connect, caller: Caller) -> None:
    async def refused(method: str, path: str, error: str) -> None:
        await _answered_at_once(connect, request(method, f"/api/v2{path}", caller, "Content-Length: 1000000000"), error)

    await asyncio.gather(refused("POST", "/nowhere", "unknown_endpoint"), refused("PUT", "/messages", "method_not_allowed"))


async def _answered_at_once(connect: Connect, head: bytes, error: str) -> None:
    wire = await connect()
    began = time.monotonic()
    await wire.send(head + b"x" * 70_000)
    answer = await wire.answer()
    assert time.monotonic() - began < 5
    assert answer.error == error
    assert answer.headers["Connection"] == "close"
    assert await wire.is_closed()


async def test_an_unread_body_is_never_taken_for_a_request(connect: Connect, caller: Caller) -> None:
    inner = request("GET", "/api/v2/analytics", caller)
    for method in ("POST", "DELETE", "GET"):
        wire = await connect()
        whole = request(method, "/api/v2/nowhere", caller, body=inner)
        await wire.send(whole + request("GET", "/api/v2/chatbots/x", caller))
        assert (await wire.answer()).error == "unknown_endpoint"
        assert (await wire.answer()).error == "chatbot_not_found"


async def test_the_rest_of_an_unread_body_is_never_taken_for_a_request(connect: Connect, caller: Caller) -> None:
    inner = request("GET", "/api/v2/analytics", caller)
    for method in ("POST", "DELETE", "PUT"):
        wire = await connect()
        whole = request(method, "/api/v2/nowhere", caller, body=inner)
        await wire.send(whole[: -len(inner)])
        assert (await wire.answer()).error == "unknown_endpoint"
        await wire.send(inner + request("GET", "/api/v2/chatbots/x", caller))
        assert (await wire.answer()).error == "chatbot_not_found"


# -- the header ---------------------------------------------------------------------------------------------------------


ODD = {
    "empty": ["Authorization:"],
    "white space": ["Authorization:   "],
    "scheme alone": ["Authorization: Bearer"],
    "scheme and a space": ["Authorization: Bearer "],
    "no scheme": ["Authorization: {key}"],
    "another scheme": ["Authorization: Basic {key}"],
    "token scheme": ["Authorization: Token {key}"],
    "no space": ["Authorization: Bearer{key}"],
    "colon": ["Authorization: Bearer: {key}"],
    "tab": ["Authorization: Bearer\t{key}"],
    "two keys": ["Authorization: Bearer {key} {key}"],
    "comma": ["Authorization: Bearer {key},"],
    "two credentials": ["Authorization: Bearer {key}, Bearer {key}"],
    "parameter": ["Authorization: Bearer {key}; realm=x"],
    "quotes": ['Authorization: Bearer "{key}"'],
    "angle brackets": ["Authorization: Bearer <{key}>"],
    "text before": ["Authorization: Bearer x{key}"],
    "text behind": ["Authorization: Bearer {key}x"],
    "non-ASCII behind": ["Authorization: Bearer {key}\xe9"],
    "non-ASCII before": ["Authorization: \xa0Bearer {key}"],
    "non-breaking space": ["Authorization: Bearer\xa0{key}"],
    "UTF-8": ["Authorization: Bearer \xc4\xb1\xc5\x9f\xc4\xb1k"],
    "not UTF-8": ["Authorization: Bearer \xff\xfe\x80"],
    "two headers": ["Authorization: Bearer {key}", "Authorization: Bearer {key}"],
    "two headers, spelled apart": ["Authorization: Bearer {key}", "authorization: Bearer {key}"],
    "a good one and an empty one": ["Authorization: Bearer {key}", "Authorization:"],
    "an empty one and a good one": ["Authorization:", "Authorization: Bearer {key}"],
    "other case": ["Authorization: Bearer {swapped}"],
    "prefix in capitals": ["Authorization: Bearer CSK_{bare}"],
    "without its prefix": ["Authorization: Bearer {bare}"],
    "shortened": ["Authorization: Bearer {short}"],
    "prefix alone": ["Authorization: Bearer csk_"],
    "checksum": ["Authorization: Bearer {flipped}"],
    "percent-encoded": ["Authorization: Bearer csk%5F{bare}"],
    "very long": ["Authorization: Bearer {long}"],
    "digest": ["Authorization: Bearer {digest}"],
}


@pytest.mark.parametrize("lines", ODD.values(), ids=ODD)
async def test_anything_odd_about_the_header_is_an_invalid_key_without_a_look_up(
    lines: list[str], caller: Caller, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_look_up(*_: object) -> None:
        raise AssertionError("the key was looked up")

    monkeypatch.setattr(stored_keys, "find", no_look_up)
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
    await wire.send(request("GET", "/api/v2/nowhere", None, *(line.format(**forms) for line in lines)))
    answer = await wire.answer()
    assert answer.status == 401
    assert answer.json == envelope("invalid_api_key")
    assert_headers(answer, limit=100_000, remaining=100_000, also={"WWW-Authenticate": "Bearer"})


@pytest.mark.parametrize("before", ["Bearer ", "bearer ", "BEARER ", "bEaReR ", "  Bearer ", "Bearer  ", "Bearer    "])
@pytest.mark.parametrize("behind", ["", "  "])
async def test_the_case_of_the_scheme_and_spaces_around_do_not_matter(before: str, behind: str, caller: Caller, connect: Connect) -> None:
    wire = await connect()
    await wire.send(request("GET", "/api/v2/chatbots", None, f"aUTHORIZATION: {before}{caller.key}{behind}"))
    assert (await wire.answer()).status == 200


async def test_a_key_elsewhere_than_in_the_header_is_no_key(caller: Caller, session: ClientSession) -> None:
    for query, headers in (
        (f"?api_key={caller.key}&access_token={caller.key}&key={caller.key}", {}),
        ("", {"X-Api-Key": caller.key, "Cookie": f"Authorization=Bearer {caller.key}", "Proxy-Authorization": f"Bearer {caller.key}"}),
    ):
        assert (await fetch(session, "GET", f"{caller.base_url}/chatbots{query}", headers=headers)).error == "missing_api_key"


async def test_a_well_formed_key_that_nobody_has_is_looked_up_and_invalid(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[bytes] = []
    find = stored_keys.find

    async def counted(db: Database, digest: bytes) -> Any:
        looked_up.append(digest)
        return await find(db, digest)

    monkeypatch.setattr(stored_keys, "find", counted)
    foreign = key_shapes.generate()
    answer = await caller.get("/chatbots", headers={"Authorization": f"Bearer {foreign}"})
    assert answer.json == envelope("invalid_api_key")
    assert looked_up == [hashlib.sha256(foreign.encode()).digest()]


# -- keys, accounts and plans that change -------------------------------------------------------------------------------


async def _second_key(app: App, caller: Caller, **options: Any) -> tuple[str, dict[str, str]]:
    made = await keys.create(app.services, ADMIN, account=caller.account, **options)
    return made.key.id, {"Authorization": f"Bearer {made.secret}"}


async def test_a_revoked_key_is_refused_from_the_very_next_request_on(app: App, caller: Caller) -> None:
    key_id, with_second = await _second_key(app, caller)
    for _ in range(3):
        assert (await caller.get("/chatbots", headers=with_second)).status == 200
    await keys.revoke(app.services, ADMIN, key=key_id)
    for path in ("/chatbots", "/nowhere"):
        assert (await caller.get(path, headers=with_second)).json == envelope("invalid_api_key")
    assert (await caller.get("/chatbots")).status == 200


async def test_what_was_accepted_before_its_key_was_revoked_is_answered(app: App, caller: Caller, engine: ScriptedEngine) -> None:
    engine.gate = asyncio.Event()
    under_way = asyncio.create_task(caller.send())
    await until(lambda: bool(engine.turns))
    await keys.revoke(app.services, ADMIN, key=(await keys.list_all(app.services, ADMIN)).items[0].key.id)
    assert (await caller.send()).error == "invalid_api_key"
    engine.gate.set()
    assert (await under_way).status == 200
    assert (await caller.send()).error == "invalid_api_key"


async def test_a_key_revoked_while_it_is_looked_up_is_not_remembered(app: App, caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    key_id, with_second = await _second_key(app, caller)
    read = app.services.db.read
    found, go_on = asyncio.Event(), asyncio.Event()

    async def slow(unit: Any) -> Any:
        result = await read(unit)
        found.set()
        await go_on.wait()
        return result

    monkeypatch.setattr(app.services.db, "read", slow)
    looking = asyncio.create_task(caller.get("/chatbots", headers=with_second))
    await found.wait()
    await keys.revoke(app.services, ADMIN, key=key_id)
    go_on.set()
    await looking
    assert (await caller.get("/chatbots", headers=with_second)).error == "invalid_api_key"


async def test_a_key_expires_to_the_millisecond(app: App, caller: Caller, clock: FakeClock) -> None:
    _, with_second = await _second_key(app, caller, expires="2026-11-20T12:14:29")
    clock.now += 876
    assert (await caller.get("/chatbots", headers=with_second)).status == 200
    clock.now += 1
    assert (await caller.get("/chatbots", headers=with_second)).json == envelope("invalid_api_key")
    assert (await caller.get("/chatbots")).status == 200


async def test_the_owner_sees_when_a_key_was_last_let_in(app: App, caller: Caller, clock: FakeClock) -> None:
    async def last_use() -> object:
        (shown,) = (await keys.list_all(app.services, ADMIN, account=caller.account)).items
        return shown.key.last_used_at

    assert await last_use() is None
    assert (await caller.get("/chatbots")).status == 200
    assert await last_use() == START
    clock.advance(60)
    assert (await caller.get("/chatbots")).status == 200
    assert await last_use() == START + 60_000


async def test_a_deleted_account_is_told_to_its_live_keys_and_to_no_other(app: App, caller: Caller, clock: FakeClock) -> None:
    stranger_id, revoked = await _second_key(app, caller)
    _, expired = await _second_key(app, caller, expires="2026-11-20T12:14:29")
    _, unused = await _second_key(app, caller)
    await keys.revoke(app.services, ADMIN, key=stranger_id)
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


async def test_a_key_that_expires_after_its_account_has_gone_is_invalid(app: App, caller: Caller, clock: FakeClock) -> None:
    _, with_second = await _second_key(app, caller, expires="2026-11-20T12:14:29")
    await accounts.delete(app.services, ADMIN, account=caller.account)
    assert (await caller.get("/chatbots", headers=with_second)).error == "account_not_found"
    clock.advance(1)
    assert (await caller.get("/chatbots", headers=with_second)).error == "invalid_api_key"


async def test_nothing_but_digests_stays_of_a_deleted_account(app: App, caller: Caller) -> None:
    await caller.send(user_id="v", headers={"Idempotency-Key": "k"})
    await accounts.delete(app.services, ADMIN, account=caller.account)
    left = await row_counts(app)
    # Over PostgreSQL the number of its changes stays, by which the other processes learn that it is gone.
    assert left.pop("chatsvc_versions", 0) <= 1
    assert left == {"api_keys": 1, "store_facts": left["store_facts"]}
    assert await execute(app, "SELECT account_id, label, prefix, last_used_at FROM api_keys") == [(None, None, "", None)]


async def test_an_account_deleted_while_its_message_is_answered_gets_no_reply(app: App, caller: Caller, engine: ScriptedEngine) -> None:
    engine.gate = asyncio.Event()
    under_way = asyncio.create_task(caller.send())
    await until(lambda: bool(engine.turns))
    await accounts.delete(app.services, ADMIN, account=caller.account)
    engine.gate.set()
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
        await webhooks.put(app.services, ADMIN, bot=bot, events=["request.created"])
        said = await caller.send("Selin, selin@example.com", "v", headers={"Idempotency-Key": bot}, chatbot_id=bot)
        assert said.status == 200
    await search.catch_up(app.services)
    before = await rows_of(app, other)
    engine.gate = asyncio.Event()
    under_way = asyncio.create_task(caller.send(user_id="v"))
    await until(lambda: len(engine.turns) == 3)
    await bots.delete(app.services, ADMIN, bot=caller.bot)
    engine.gate.set()
    assert (await under_way).error == "chatbot_not_found"
    assert (await caller.send(user_id="v")).error == "chatbot_not_found"
    assert await rows_of(app, caller.bot) == {}
    assert await rows_of(app, other) == before
    assert {"conversations", "requests", "usage_records", "conversation_counts", "webhooks", "idempotency_keys"} <= before.keys()
    assert await execute(app, "SELECT messages_used FROM allowances") == [(2,)]
    # A walk that began before goes on with the bots that are left.
    assert [one["id"] for one in (await caller.get(f"/chatbots?cursor={page['next_cursor']}")).json["data"]] == [other]
    assert [one["id"] for one in (await caller.get("/chatbots")).json["data"]] == [third, other]


async def rows_of(app: App, bot: str) -> dict[str, int]:
    """Count the rows of each table that name a bot or hang on one of its conversations; none with 0."""
    counted = {}
    for table in TABLES:
        found = await execute(app, f"SELECT * FROM {table.name}")  # noqa: S608  # the registry's names
        if table.owner and (count := sum(bot in map(str, row) or f'["{bot}"' in str(row) for row in found)):
            counted[table.name] = count
        elif table.owner == CONVERSATION and found:
            parents = f"SELECT count(*) FROM {table.name} t JOIN conversations c ON c.number = t.conversation WHERE c.bot_id = '{bot}'"  # noqa: S608
            ((count,),) = await execute(app, parents)
            counted |= {table.name: count} if count else {}
    return counted


async def test_a_changed_plan_holds_from_the_next_request_on(app: App, caller: Caller) -> None:
    seen = []
    for plan in ("none", "business", "enterprise", "free", "enterprise"):
        await accounts.change(app.services, ADMIN, account=caller.account, plan=plan)
        answer = await caller.get("/chatbots")
        seen.append((answer.status, answer.error, answer.json.get("plan", "-")))
    assert seen == [
        (403, "plan_required", None),
        (403, "plan_upgrade_required", "business"),
        (200, None, "-"),
        (403, "plan_upgrade_required", "free"),
        (200, None, "-"),
    ]


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


async def test_a_changed_bot_holds_from_the_next_request_on(app: App, caller: Caller) -> None:
    for change, status in ((bots.deactivate, 409), (bots.activate, 200)):
        await change(app.services, ADMIN, bot=caller.bot)
        assert (await caller.send()).status == status
        listed = (await caller.get("/chatbots")).json["data"]
        assert [bot["active"] for bot in listed] == [status == 200]
    await bots.change(app.services, ADMIN, bot=caller.bot, name="Front desk")
    assert (await caller.get(f"/chatbots/{caller.bot}")).json["data"]["name"] == "Front desk"
    assert (await caller.get("/chatbots")).json["data"][0]["name"] == "Front desk"


async def test_a_changed_status_or_allowance_holds_from_the_next_request_on(app: App, caller: Caller) -> None:
    change: dict[str, Any]
    for change, status in (
        ({"status": "paused"}, 402),
        ({"status": "trialing"}, 200),
        ({"messages_limit": 1}, 402),
        ({"credits": 1}, 200),
        ({"messages_limit": 3}, 200),
        ({"messages_limit": 0}, 402),
    ):
        await accounts.change(app.services, ADMIN, account=caller.account, **change)
        assert (await caller.send()).status == status, change


# -- shutdown -----------------------------------------------------------------------------------------------------------


async def _is_refused(connect: Connect) -> None:
    async with asyncio.timeout(5):
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
    engine.gate = asyncio.Event()
    under_way = asyncio.create_task(caller.send(user_id="v"))
    await until(lambda: bool(engine.turns))
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
    engine.gate.set()
    late = await kept.answer()
    assert (late.status, late.json["data"]["reply"], late.headers["Connection"]) == (200, "echo: and now?", "close")
    answered = await under_way
    assert answered.status == 200
    assert answered.json["data"]["reply"] == "echo: hello"
    await stopping
    assert await kept.is_closed()
    assert await idle.is_closed()
