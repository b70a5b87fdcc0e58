"""GET /conversations/{id} (help/interface.md 5.5): the newest messages, oldest first, and the true total."""

import asyncio
import uuid

from chatsvc.app import App
from tests.api.support import UUID, assert_headers, envelope, insert_conversations, insert_messages, until
from tests.conftest import Caller, MakeCaller
from tests.fakes import START, FakeClock, ScriptedEngine


async def _with_messages(app: App, caller: Caller, count: int) -> str:
    """A conversation of `count` messages, numbered from 0 in their text."""
    (conversation,) = await insert_conversations(app, caller, [START])
    await insert_messages(app, conversation, [(("user", "assistant")[n % 2], str(n), START + n) for n in range(count)])
    return conversation


async def test_a_conversation_has_exactly_the_fields_of_the_specification(caller: Caller, clock: FakeClock) -> None:
    await caller.send("İlk mesaj", "visitor-1")
    clock.now += 1_001
    await caller.send("ikinci", "visitor-1")
    listed = (await caller.get("/conversations")).json["data"][0]
    answer = await caller.get(f"/conversations/{listed['id']}")
    messages = answer.json["data"]["messages"]
    ids = [message.pop("id") for message in messages]
    assert len(set(ids)) == 4
    assert all(UUID.fullmatch(id_) for id_ in ids)
    assert answer.status == 200
    assert answer.json == {
        "success": True,
        "data": {
            **listed,
            "message_count": 4,
            "messages": [
                {"role": "user", "content": "İlk mesaj", "created_at": "2026-11-20T12:14:28.123Z"},
                {"role": "assistant", "content": "echo: İlk mesaj", "created_at": "2026-11-20T12:14:28.123Z"},
                {"role": "user", "content": "ikinci", "created_at": "2026-11-20T12:14:29.124Z"},
                {"role": "assistant", "content": "echo: ikinci", "created_at": "2026-11-20T12:14:29.124Z"},
            ],
            "messages_truncated": False,
        },
    }
    assert_headers(answer, limit=100_000, remaining=99_996)


async def test_times_never_go_back_where_a_message_came_while_the_one_before_was_answered(
    app: App, caller: Caller, clock: FakeClock, engine: ScriptedEngine
) -> None:
    first = await engine.hold(caller.send("first", "v"))
    clock.now += 1_000
    second = asyncio.create_task(caller.send("second", "v"))
    await until(lambda: app.services.conversation_locks.waiting > 0)
    clock.now += 1_000
    engine.release()
    await asyncio.gather(first, second)
    (listed,) = (await caller.get("/conversations")).json["data"]
    messages = (await caller.get(f"/conversations/{listed['id']}")).json["data"]["messages"]
    assert [message["content"] for message in messages] == ["first", "echo: first", "second", "echo: second"]
    assert [message["created_at"] for message in messages] == sorted(message["created_at"] for message in messages)


async def test_a_question_has_the_time_of_its_acceptance_and_a_reply_that_of_its_own(
    caller: Caller, clock: FakeClock, engine: ScriptedEngine
) -> None:
    under_way = await engine.hold(caller.send("hello", "v"))
    clock.now += 2_000
    engine.release()
    exchange = (await under_way).json["data"]
    (listed,) = (await caller.get("/conversations")).json["data"]
    detail = (await caller.get(f"/conversations/{listed['id']}")).json["data"]
    assert exchange["created_at"] == "2026-11-20T12:14:30.123Z"
    assert [message["created_at"] for message in detail["messages"]] == ["2026-11-20T12:14:28.123Z", "2026-11-20T12:14:30.123Z"]
    assert detail["created_at"] == "2026-11-20T12:14:28.123"
    assert detail["last_message_at"] == detail["updated_at"] == "2026-11-20T12:14:30.123"


async def test_the_newest_messages_come_oldest_first_and_truncated_is_true_when_some_are_left_out(app: App, caller: Caller) -> None:
    for count, query, is_truncated in (
        (10, "?message_limit=1", True),
        (10, "?message_limit=9", True),
        (10, "?message_limit=10", False),
        (10, "?message_limit=500", False),
        (100, "", False),
        (101, "", True),
    ):
        answer = await caller.get(f"/conversations/{await _with_messages(app, caller, count)}{query}")
        data = answer.json["data"]
        assert (data["message_count"], data["messages_truncated"]) == (count, is_truncated)
        assert [int(message["content"]) for message in data["messages"]] == list(range(count))[-len(data["messages"]) :]


async def test_a_foreign_conversation_and_a_missing_one_cannot_be_told_apart(app: App, caller: Caller, make_caller: MakeCaller) -> None:
    stranger = await make_caller()
    theirs = await _with_messages(app, stranger, 3)
    mine = await _with_messages(app, caller, 1)
    others = (theirs, str(uuid.uuid4()), "x", "%00", "%FF", "{id}", mine.upper(), f"{mine}%20", caller.bot, "a" * 5000, "'")
    answers = [await caller.get(f"/conversations/{conversation}{query}") for conversation in others for query in ("", "?message_limit=5")]
    assert {answer.status for answer in answers} == {404}
    assert {answer.body for answer in answers} == {answers[0].body}
    assert answers[0].json == envelope("conversation_not_found")
    assert len({frozenset(answer.headers) for answer in answers}) == 1
    assert (await stranger.get(f"/conversations/{theirs}")).status == 200
    assert (await caller.get(f"/conversations/{mine}")).status == 200


async def test_a_long_history_comes_whole_and_as_it_was_written(caller: Caller) -> None:
    text = 'ş🚲\r\n\t"\\ \u2028 \x7f\x01' + "x" * 3900
    await caller.send(text, "v")
    (listed,) = (await caller.get("/conversations")).json["data"]
    messages = (await caller.get(f"/conversations/{listed['id']}")).json["data"]["messages"]
    assert [message["content"] for message in messages] == [text, f"echo: {text}"]
