"""GET /conversations (help/interface.md 5.4): pages of a list that moves while it is read."""

import itertools
import uuid
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chatsvc.app import App
from chatsvc.services.accounts import bots
from tests.api.support import UUID, assert_headers, envelope, execute, insert_conversations
from tests.conftest import Caller, MakeCaller
from tests.fakes import ADMIN, START, FakeClock, ScriptedEngine

EMPTY = {"limit": 20, "returned": 0, "total": 0, "has_more": False, "next_cursor": None}


async def _page(caller: Caller, query: str = "") -> tuple[list[dict[str, Any]], dict[str, Any]]:
    answer = await caller.get(f"/conversations?{query}")
    assert answer.status == 200
    return answer.json["data"], answer.json["pagination"]


async def _walk(caller: Caller, query: str = "limit=100") -> list[str]:
    ids, pagination = [], {"next_cursor": ""}
    for number in itertools.count():
        cursor = f"&cursor={pagination['next_cursor']}" if number else ""
        items, pagination = await _page(caller, query + cursor)
        ids += [item["id"] for item in items]
        if not pagination["has_more"]:
            return ids
    raise AssertionError("a walk has an end")


async def test_a_conversation_has_exactly_the_fields_of_the_specification(caller: Caller, clock: FakeClock, engine: ScriptedEngine) -> None:
    await caller.send("first", "visitor-1")
    clock.now += 61_877
    await caller.send("second", "visitor-1")
    answer = await caller.get("/conversations")
    (item,) = answer.json["data"]
    assert UUID.fullmatch(item["id"])
    assert answer.json == {
        "success": True,
        "data": [
            {
                "id": item["id"],
                "chatbot_id": caller.bot,
                "channel": "api",
                "user_id": "visitor-1",
                "session_id": "api:visitor-1",
                "visitor_name": None,
                "visitor_email": None,
                "last_message_at": "2026-11-20T12:15:30.000",
                "created_at": "2026-11-20T12:14:28.123",
                "updated_at": "2026-11-20T12:15:30.000",
            }
        ],
        "pagination": {"limit": 20, "returned": 1, "total": 1, "has_more": False, "next_cursor": None},
    }


async def test_a_list_has_the_headers_of_the_interface(caller: Caller) -> None:
    answer = await caller.get("/conversations")
    assert answer.json == {"success": True, "data": [], "pagination": EMPTY}
    assert_headers(answer, limit=100_000, remaining=99_999)
    await caller.send("a sentence like no other", "v")
    assert b"a sentence like no other" not in (await caller.get("/conversations")).body


async def test_a_user_id_is_kept_and_matched_as_it_was_sent(caller: Caller) -> None:
    users = ["v", "V", " v", "v ", "a:b", "İ", "i\u0307", "🚲", "'; DROP TABLE bots; --", "x" * 128, "\t", "%00"]
    for user in users:
        assert (await caller.send("m", user)).json["data"]["session_id"] == f"api:{user}"
    items, pagination = await _page(caller)
    assert pagination["total"] == len(users)
    assert sorted(item["user_id"] for item in items) == sorted(users)
    assert all(item["session_id"] == f"api:{item['user_id']}" for item in items)


async def test_conversations_come_newest_message_first(caller: Caller, clock: FakeClock) -> None:
    for user in ("a", "b", "c", "a"):
        clock.now += 1
        await caller.send("m", user)
    assert [item["user_id"] for item in (await _page(caller))[0]] == ["a", "c", "b"]


async def test_conversations_of_the_same_millisecond_have_one_order_and_are_walked_once(app: App, caller: Caller) -> None:
    ids = await insert_conversations(app, caller, [START] * 25)
    assert await _walk(caller, "limit=4") == ids[::-1]


# -- filters ------------------------------------------------------------------------------------------------------------


async def test_the_filters_by_bot_and_channel_apply_to_items_and_total(app: App, caller: Caller, make_caller: MakeCaller) -> None:
    other = Caller(app, caller.session, caller.account, "", caller.key)
    other.bot = (await bots.create(app.services, ADMIN, name="Other", account=caller.account)).id
    conversations = {
        (owner.bot, channel): await insert_conversations(app, owner, range(START + shift, START + shift + count), channel)
        for shift, (owner, channel, count) in enumerate(
            [(caller, "api", 3), (caller, "whatsapp", 2), (caller, "web", 4), (other, "api", 1), (other, "whatsapp", 5)]
        )
    }
    stranger = await make_caller()
    await insert_conversations(app, stranger, [START])

    async def found(query: str) -> tuple[set[str], int]:
        items, pagination = await _page(caller, query)
        return {item["id"] for item in items}, pagination["total"]

    def expected(bot: str | None, channel: str | None) -> tuple[set[str], int]:
        ids = {
            conversation
            for (b, of_channel), some in conversations.items()
            if bot in {None, b} and channel in {None, of_channel}
            for conversation in some
        }
        return ids, len(ids)

    assert await found("") == expected(None, None)
    for channel in ("api", "web", "whatsapp"):
        assert await found(f"channel={channel}") == expected(None, channel)
        for bot in (caller.bot, other.bot):
            assert await found(f"chatbot_id={bot}") == expected(bot, None)
            assert await found(f"chatbot_id={bot}&channel={channel}") == expected(bot, channel)
            assert set(await _walk(caller, f"chatbot_id={bot}&channel={channel}&limit=1")) == expected(bot, channel)[0]


async def test_an_unknown_channel_matches_nothing(app: App, caller: Caller) -> None:
    await insert_conversations(app, caller, [START])
    for channel in ("", "API", "telegram", "api%20", "%00", "%FF", "'", "ap"):
        assert await _page(caller, f"channel={channel}") == ([], EMPTY)
        assert await _page(caller, f"channel={channel}&chatbot_id={caller.bot}") == ([], EMPTY)


async def test_a_foreign_bot_in_the_filter_and_a_missing_one_cannot_be_told_apart(
    app: App, caller: Caller, make_caller: MakeCaller
) -> None:
    stranger = await make_caller()
    await insert_conversations(app, stranger, [START])
    answers = [
        await caller.get(f"/conversations?chatbot_id={bot}{more}")
        for bot in (stranger.bot, str(uuid.uuid4()), "", "%00", "%FF", caller.bot.upper())
        for more in ("", "&channel=api", "&channel=none", "&limit=1")
    ]
    assert {answer.status for answer in answers} == {404}
    assert {answer.body for answer in answers} == {answers[0].body}
    assert answers[0].json == envelope("chatbot_not_found")


# -- cursors ------------------------------------------------------------------------------------------------------------


async def test_a_cursor_belongs_to_its_account_and_its_filters(app: App, caller: Caller, make_caller: MakeCaller) -> None:
    other_bot = (await bots.create(app.services, ADMIN, name="Other", account=caller.account)).id
    stranger = await make_caller()
    for asker in (caller, stranger):
        await insert_conversations(app, asker, range(START, START + 9))
    filters = (
        "",
        "channel=",
        "channel=api",
        "channel=web",
        f"chatbot_id={caller.bot}",
        f"chatbot_id={other_bot}",
        f"chatbot_id={caller.bot}&channel=api",
    )
    cursors = {}
    for given_filter in filters:
        _, pagination = await _page(caller, f"limit=2&{given_filter}")
        cursors[given_filter] = pagination["next_cursor"]
    assert [bool(cursor) for cursor in cursors.values()] == [True, False, True, False, True, False, True]
    for made_for, cursor in cursors.items():
        if not cursor:
            continue
        for used_for in filters:
            answer = await caller.get(f"/conversations?{used_for}&cursor={cursor}&limit=50")
            if used_for == made_for:
                assert len(answer.json["data"]) == 7
            else:
                assert answer.json == envelope("invalid_cursor")
        assert (await stranger.get(f"/conversations?{made_for}&cursor={cursor}")).status in {400, 404}
    assert (await stranger.get(f"/conversations?cursor={cursors['']}")).json == envelope("invalid_cursor")
    assert (await caller.get(f"/chatbots?cursor={cursors['']}")).json == envelope("invalid_cursor")
    bots_cursor = (await caller.get("/chatbots?limit=1")).json["pagination"]["next_cursor"]
    assert (await caller.get(f"/conversations?cursor={bots_cursor}")).json == envelope("invalid_cursor")


async def test_paging_ends_at_a_depth_of_10000_and_not_a_record_sooner(app: App, caller: Caller) -> None:
    ids = (await insert_conversations(app, caller, range(START, START + 10_150)))[::-1]
    seen: list[str] = []
    limit, cursor = 70, ""
    while (answer := await caller.get(f"/conversations?limit={limit}{cursor}")).status == 200:
        items, pagination = answer.json["data"], answer.json["pagination"]
        seen += [item["id"] for item in items]
        cursor = f"&cursor={pagination['next_cursor']}"
        assert pagination.pop("next_cursor")
        assert pagination == {"limit": limit, "returned": limit, "total": 10_150, "has_more": True}
        limit = 100
    assert seen == ids[:10_070]
    for limit in (1, 100):
        beyond = await caller.get(f"/conversations?limit={limit}{cursor}")
        assert (beyond.status, beyond.json) == (400, envelope("cursor_out_of_range", max_offset=10_000))
    # A walk of exactly so many ends without an error.
    await execute(app, "DELETE FROM conversations WHERE last_message_at < :1", START + 150)
    assert await _walk(caller) == ids[:10_000]


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("page"), st.integers(1, 5)),
        st.tuples(st.just("new"), st.integers(-8, 12)),
        st.tuples(st.just("move"), st.integers(0, 30)),
    ),
    min_size=4,
    max_size=40,
)


@settings(max_examples=25, deadline=None, database=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(start=st.lists(st.integers(-6, 0), max_size=25), steps=STEPS)
async def test_whatever_happens_while_paging_none_comes_twice_and_none_that_stayed_is_missed(
    app: App, make_caller: MakeCaller, clock: FakeClock, start: list[int], steps: list[tuple[str, int]]
) -> None:
    caller = await make_caller()
    clock.now = START
    stayed = set(await insert_conversations(app, caller, (START + at for at in sorted(start))))
    seen: list[str] = []
    cursor, done = "", False

    async def turn(limit: int) -> None:
        nonlocal cursor, done
        items, pagination = await _page(caller, f"limit={limit}{cursor}")
        assert len(items) <= limit
        seen.extend(item["id"] for item in items)
        cursor, done = f"&cursor={pagination['next_cursor']}", not pagination["has_more"]

    for what, number in steps:
        if done:
            break
        if what == "page":
            await turn(number)
        elif what == "new":
            await insert_conversations(app, caller, [START + number])
        else:
            moved = await _move(app, caller, number, clock)
            stayed.discard(moved)
    while not done:
        await turn(5)
    assert len(seen) == len(set(seen))
    assert stayed <= set(seen)


async def _move(app: App, caller: Caller, which: int, clock: FakeClock) -> str:
    """One conversation gets a message a moment later, as an exchange writes it."""
    clock.now += 1

    rows = await execute(app, "SELECT id FROM conversations WHERE account_id = :1 ORDER BY number", caller.account)
    if not rows:
        return ""
    moved = str(rows[which % len(rows)][0])
    await execute(app, "UPDATE conversations SET last_message_at = max(last_message_at, :1) WHERE id = :2", clock.now, moved)
    return moved
