"""GET /chatbots and GET /chatbots/{id} (help/interface.md 5.1, 5.2)."""

import base64
import uuid
from dataclasses import replace
from typing import Any

import pytest
from yarl import URL

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.domain.paging import MAX_DEPTH, Position
from chatsvc.services.accounts import bots
from tests.api.support import UUID, assert_headers, envelope, fetch, insert_history
from tests.conftest import Answer, Caller, MakeCaller
from tests.fakes import ADMIN, START, FakeClock, bot_of
from tests.postgres import store_of_test
from tests.tables import rows


@pytest.fixture
def config(config: Config) -> Config:
    """A plan with more bots than a page."""
    plans = {name: plan._replace(bots=1000) for name, plan in config.plans.items()}
    return replace(config, plans=plans)


async def _more_bots(app: App, caller: Caller, count: int) -> list[str]:
    """The ids of all bots, newest first."""
    chatbots = [caller.bot] + [
        (await bots.create(app.services, ADMIN, name=f"Bot {n}", account=caller.account, model="scripted")).id for n in range(count)
    ]
    return chatbots[::-1]


async def _walk(caller: Caller, path: str = "/chatbots?limit=7") -> list[dict[str, Any]]:
    pages = [(await caller.get(path)).json]
    while cursor := pages[-1]["pagination"]["next_cursor"]:
        pages.append((await caller.get(f"{path}&cursor={cursor}")).json)
    return pages


async def test_a_chatbot_and_a_list_have_exactly_the_fields_of_the_specification(app: App, caller: Caller, clock: FakeClock) -> None:
    bot = {
        "id": caller.bot,
        "name": "Desk",
        "description": None,
        "model": "scripted",
        "active": True,
        "messages_used": 0,
        "created_at": "2026-11-20T12:14:28Z",
        "updated_at": "2026-11-20T12:14:28Z",
    }
    answer = await caller.get("/chatbots")
    pagination = {"limit": 20, "returned": 1, "total": 1, "has_more": False, "next_cursor": None}
    assert (answer.status, answer.json) == (200, {"success": True, "data": [bot], "pagination": pagination})
    assert_headers(answer, limit=100_000, remaining=99_999)
    assert UUID.fullmatch(caller.bot)
    clock.advance(3600.877)
    await bots.change(app.services, ADMIN, bot=await caller.chatbot(), description="Answers about bicycles", name="Şükrü’nün botu 🚲")
    answer = await caller.get(f"/chatbots/{caller.bot}")
    changes = {"description": "Answers about bicycles", "name": "Şükrü’nün botu 🚲", "updated_at": "2026-11-20T13:14:29Z"}
    assert (answer.status, answer.json) == (200, {"success": True, "data": {**bot, **changes}})
    assert "Şükrü’nün botu 🚲".encode() in answer.body


async def test_the_settings_of_a_bot_do_not_leave_by_the_interface(app: App, caller: Caller) -> None:
    await bots.change(
        app.services,
        ADMIN,
        bot=await caller.chatbot(),
        instructions="Say nothing of the merger",
        greeting="Welcome to the merger",
    )
    for path in ("/chatbots", f"/chatbots/{caller.bot}", "/analytics"):
        assert b"merger" not in (await caller.get(path)).body


async def test_bots_come_newest_first_even_when_made_in_the_same_millisecond(app: App, caller: Caller, clock: FakeClock) -> None:
    expected = await _more_bots(app, caller, 3)
    clock.advance(-3600)
    expected.insert(0, (await bots.create(app.services, ADMIN, name="Late", account=caller.account)).id)
    await bots.change(app.services, ADMIN, bot=await bot_of(app.services, expected[-1]), name="Changed last")
    assert [bot["id"] for bot in (await caller.get("/chatbots")).json["data"]] == expected


async def test_a_walk_gives_every_bot_once_in_order(app: App, caller: Caller) -> None:
    expected = await _more_bots(app, caller, 13)
    pages = await _walk(caller, "/chatbots?limit=4")
    assert [bot["id"] for page in pages for bot in page["data"]] == expected
    assert [len(page["data"]) for page in pages] == [4, 4, 4, 2]
    for page in pages:
        is_last = page is pages[-1]
        cursor = page["pagination"].pop("next_cursor")
        assert page["pagination"] == {"limit": 4, "returned": len(page["data"]), "total": 14, "has_more": not is_last}
        assert (cursor is None) == is_last
    # A page that is just full has no more.
    assert (await caller.get("/chatbots?limit=14")).json["pagination"]["has_more"] is False


async def test_bots_made_while_paging_disturb_nothing(app: App, caller: Caller) -> None:
    expected = await _more_bots(app, caller, 10)
    first = (await caller.get("/chatbots?limit=4")).json
    await bots.create(app.services, ADMIN, name="New", account=caller.account)
    rest = (await caller.get(f"/chatbots?limit=100&cursor={first['pagination']['next_cursor']}")).json
    assert [bot["id"] for bot in first["data"] + rest["data"]] == expected
    assert rest["pagination"] == {"limit": 100, "returned": 7, "total": 12, "has_more": False, "next_cursor": None}


LIMITS = {**{query: int(limit) for query, limit in rows("api/limits")}, "limit=" + "9" * 5000: 100}


async def test_a_number_out_of_range_is_clamped_and_what_is_no_integer_counts_as_absent(app: App, caller: Caller) -> None:
    for path in ("/chatbots", "/conversations"):
        for query, limit in LIMITS.items():
            assert (await _get_raw(caller, f"{path}?{query}")).json["pagination"]["limit"] == limit, query
    conversation = await insert_history(app, caller, 600, 1)
    for path, default, most, count in (
        (f"/conversations/{conversation}?message_limit", 100, 500, lambda data: len(data["messages"])),
        ("/analytics?days", 30, 90, lambda data: data["usage"]["window_days"]),
    ):
        for text, expected in ("", default), (most, most), (most + 1, most), ("9" * 30, most), (-1, 1), ("%2B5", default), ("3&x=9", 3):
            assert count((await _get_raw(caller, f"{path}={text}")).json["data"]) == expected


async def _get_raw(caller: Caller, target: str) -> Answer:
    """GET a target as it is spelled."""
    url = URL(caller.base_url + target, encoded=True)
    return await fetch(caller.session, "GET", url, headers={"Authorization": f"Bearer {caller.key}"})


# -- cursors ------------------------------------------------------------------------------------------------------------


async def _cursor(app: App, caller: Caller) -> str:
    await _more_bots(app, caller, 4)
    return str((await caller.get("/chatbots?limit=2")).json["pagination"]["next_cursor"])


async def test_a_cursor_goes_into_a_url_as_it_is_and_tells_nothing(app: App, caller: Caller) -> None:
    cursor = await _cursor(app, caller)
    assert cursor.replace("-", "").replace("_", "").isalnum()
    raw = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4))
    for secret in (caller.account, caller.bot, caller.key, "chatbots"):
        assert secret.encode() not in raw


async def test_a_cursor_may_come_back_with_another_limit_and_more_than_once(app: App, caller: Caller) -> None:
    cursor = await _cursor(app, caller)
    everything = [bot["id"] for bot in (await caller.get("/chatbots")).json["data"]]
    for limit in (1, 3, 100, 1):
        page = (await caller.get(f"/chatbots?limit={limit}&cursor={cursor}")).json["data"]
        assert [bot["id"] for bot in page] == everything[2 : 2 + limit]


async def test_anything_but_a_cursor_received_is_an_invalid_cursor(app: App, caller: Caller) -> None:
    cursor = await _cursor(app, caller)
    raw = bytearray(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    forged = ["", "abc", "null", "0", "%ED%A0%80", "A" * 4000, cursor[:-1], cursor[: len(cursor) // 2], f"A{cursor}", f"%20{cursor}"]
    forged += [cursor + more for more in ("=", "==", "A", "AAAA", "%20", "%0A", "%00", "%FF", "%C4%B1", cursor, f",{cursor}")]
    for bit in range(0, len(raw) * 8, 5):
        raw[bit // 8] ^= 1 << bit % 8
        forged.append(base64.urlsafe_b64encode(raw).decode().rstrip("="))
        raw[bit // 8] ^= 1 << bit % 8
    for sent in forged:
        for path in ("/chatbots", "/conversations"):
            answer = await _get_raw(caller, f"{path}?cursor={sent}")
            assert (answer.status, answer.json) == (400, envelope("invalid_cursor")), sent
    assert (await caller.get(f"/chatbots?cursor={cursor}")).status == 200


async def test_a_cursor_survives_a_restart(app: App, caller: Caller, config: Config) -> None:
    cursor = await _cursor(app, caller)
    expected = (await caller.get(f"/chatbots?cursor={cursor}")).json
    await app.stop()
    async with App(config, FakeClock(), store_of_test()) as again:
        caller.base_url = f"{again.url}/api/v2"
        assert (await caller.get(f"/chatbots?cursor={cursor}")).json == expected


async def test_a_page_that_crosses_the_depth_is_whole_and_a_cursor_at_or_past_it_is_out_of_range(app: App, caller: Caller) -> None:
    for depth in (MAX_DEPTH, MAX_DEPTH + 99):
        cursor = app.services.cursors.write(Position(START, 2, depth), ("chatbots", caller.account))
        answer = await caller.get(f"/chatbots?cursor={cursor}")
        assert (answer.status, answer.json) == (400, envelope("cursor_out_of_range", max_offset=10_000))
    expected = await _more_bots(app, caller, 9)
    cursor = app.services.cursors.write(Position(START, 8, MAX_DEPTH - 1), ("chatbots", caller.account))
    answer = await caller.get(f"/chatbots?cursor={cursor}&limit=5")
    assert answer.status == 200
    assert [bot["id"] for bot in answer.json["data"]] == expected[2:7]
    assert answer.json["pagination"]["has_more"] is True
    beyond = await caller.get(f"/chatbots?cursor={answer.json['pagination']['next_cursor']}")
    assert beyond.json == envelope("cursor_out_of_range", max_offset=10_000)


# -- ownership ----------------------------------------------------------------------------------------------------------


async def test_a_foreign_bot_and_a_missing_one_cannot_be_told_apart(caller: Caller, make_caller: MakeCaller) -> None:
    stranger = await make_caller()
    answers = [await caller.get(f"/chatbots/{bot}") for bot in (stranger.bot, str(uuid.uuid4()), "x", "%00", "{id}", "a" * 5000)]
    answers += [await caller.get(f"/chatbots/{bot}") for bot in (caller.bot.upper(), caller.bot.replace("-", ""), f"{caller.bot} ")]
    answers += [await caller.get(f"/conversations?chatbot_id={bot}") for bot in (stranger.bot, str(uuid.uuid4()), "", "x")]
    answers += [await caller.request("POST", "/messages", json={"chatbot_id": bot, "message": "m"}) for bot in (stranger.bot, "x")]
    assert {answer.status for answer in answers} == {404}
    assert {answer.body for answer in answers} == {answers[0].body}
    assert answers[0].json == envelope("chatbot_not_found")
    assert len({frozenset(answer.headers) for answer in answers}) == 1
    assert (await stranger.get(f"/chatbots/{stranger.bot}")).status == 200
