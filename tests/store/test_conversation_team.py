"""The team's own records of conversations: unread messages of each operator, notes, assignment, saved replies; on both stores."""

from collections.abc import Awaitable, Callable
from unittest.mock import patch

import pytest

from chatsvc.domain.models import Conversation, SavedReply
from chatsvc.domain.paging import ResultPage
from chatsvc.domain.refusals import Refused
from chatsvc.domain.search_words import Term
from chatsvc.store import conversation_team, erasure, operators, search_queries
from chatsvc.store.database import Database
from chatsvc.store.search_queries import ConversationFilter
from tests.fakes import START
from tests.store.support import chat, furnish

pytestmark = pytest.mark.postgres


async def listed(db: Database, after: str | None = None, **chosen: object) -> ResultPage[tuple[Conversation, int]]:
    """A page of two conversations of the account."""
    wanted = ConversationFilter(**chosen)  # type: ignore[arg-type]  # the names are those of the filter
    return await search_queries.conversations(db, ["account"], wanted, 2, after)


async def visitors(db: Database, **chosen: object) -> list[str]:
    """The visitors of all pages of a list."""
    ids, after = [], None
    while True:
        page = await listed(db, after, **chosen)
        ids += [conversation.user_id for conversation, _ in page.items]
        after = page.next
        if after is None:
            return ids


async def everything(db: Database) -> list[tuple[Conversation, int]]:
    """All conversations with their numbers, newest first."""
    return (await search_queries.conversations(db, ["account"], ConversationFilter(), 20)).items


async def written(db: Database, count: int, text: str = "helmet") -> dict[str, str]:
    """Let visitors write one after the other; their conversations' ids."""
    await furnish(db)
    for number in range(count):
        await chat(db, user_id=f"v{number}", text=text, at=START + number)
    return {conversation.user_id: conversation.id for conversation, _ in await everything(db)}


async def unread(db: Database, operator: str) -> dict[str, int]:
    """The unread messages of each visitor."""
    rows = await everything(db)
    details = await conversation_team.details(db, [number for _, number in rows], operator)
    return {conversation.user_id: details[number].unread for conversation, number in rows}


async def see(db: Database, visitor: str, operator: str) -> None:
    """Open the visitor's conversation."""
    (conversation,) = [row for row, _ in await everything(db) if row.user_id == visitor]
    view = await conversation_team.view(db, None, conversation.id, 20, operator)
    await conversation_team.see(db, None, conversation.id, operator, view.messages[-1].number)


async def test_each_operator_has_unread_messages_of_visitors_until_the_conversation_is_opened(db: Database) -> None:
    await furnish(db)
    for visitor in ("v1", "v2"):
        await chat(db, user_id=visitor, text="One", at=START)
    await chat(db, user_id="v1", text="Two", at=START)
    assert await unread(db, "ada") == {"v1": 2, "v2": 1}
    await see(db, "v1", "ada")
    assert (await unread(db, "ada"), await unread(db, "selin")) == ({"v1": 0, "v2": 1}, {"v1": 2, "v2": 1})
    assert await visitors(db, status="unread", operator_id="ada") == ["v2"]
    await chat(db, user_id="v1", text="Three", at=START)
    assert await unread(db, "ada") == {"v1": 1, "v2": 1}
    with patch.object(conversation_team, "MOST_UNREAD", 2):
        assert await unread(db, "selin") == {"v1": 2, "v2": 1}


async def test_unread_conversations_are_found_behind_many_read_ones(db: Database) -> None:
    await written(db, 6)
    for conversation, _ in (await everything(db))[:4]:
        await see(db, conversation.user_id, "ada")
    with patch.object(search_queries, "STEPS", (1, 2)):
        first = await listed(db, status="unread", operator_id="ada")
        assert (first.items, first.next is None) == ([], False)
        assert await visitors(db, status="unread", operator_id="ada") == ["v1", "v0"]
    assert await visitors(db, status="unread", operator_id="ada") == ["v1", "v0"]


async def test_a_row_has_the_last_words_and_the_assignee(db: Database) -> None:
    await written(db, 1, "x" * 500)
    ((_, number),) = (await listed(db)).items
    details = (await conversation_team.details(db, [number], "ada"))[number]
    assert (details.role, details.words, details.assignee) == ("assistant", f"reply to {'x' * 151}", None)


async def test_mine_are_assigned_or_taken_ones_once_each(db: Database) -> None:
    ids = await written(db, 4)
    for visitor in ("v0", "v2", "v3"):
        assert await conversation_team.change(db, ["account"], ids[visitor], {"assignee": "ada"})
    taken = "UPDATE conversations SET handling = 'operator', handling_since = 5, operator_id = 'ada' WHERE id IN (?, ?)"
    await db.write(lambda connection: connection.execute(taken, (ids["v1"], ids["v2"])).rowcount)
    assert await visitors(db, status="mine", operator_id="ada") == ["v3", "v2", "v1", "v0"]
    assert await visitors(db, status="mine", operator_id="selin") == []
    sought = {"status": "mine", "terms": [Term("helmet")]}
    with patch.object(search_queries, "STEPS", (1, 1)):
        assert await visitors(db, operator_id="ada", **sought) == ["v3", "v2", "v1", "v0"]
    assert await visitors(db, operator_id="selin", **sought) == []
    assert await conversation_team.change(db, ["account"], ids["v3"], {"assignee": None})
    assert await visitors(db, status="mine", operator_id="ada", channel="api") == ["v2", "v1", "v0"]
    assert await visitors(db, status="operator") == ["v2", "v1"]


async def test_those_who_wait_are_left_out_of_the_rest(db: Database) -> None:
    await written(db, 3)
    waits = "UPDATE conversations SET handling = 'waiting', handling_since = 5 WHERE user_id = 'v1'"
    await db.write(lambda connection: connection.execute(waits).rowcount)
    assert await visitors(db, without_first=True) == ["v2", "v0"]
    assert await visitors(db, status="waiting") == ["v1"]


async def test_what_is_set_aside_comes_back_with_its_time_or_a_message(db: Database) -> None:
    ids = await written(db, 4)
    for visitor, until in (("v0", None), ("v1", START + 100), ("v2", START + 200)):
        assert await conversation_team.set_aside(db, ["account"], ids[visitor], START + 50, until)
    is_open = {"open_only": True, "without_first": True}

    async def lists() -> list[list[str]]:
        return [await visitors(db, **is_open), *[await visitors(db, status=status) for status in ("resolved", "snoozed", "back")]]

    assert await lists() == [["v3"], ["v0"], ["v2", "v1"], []]
    await conversation_team.wake(db, START + 100)
    await conversation_team.wake(db, START + 100)
    assert await lists() == [["v3"], ["v0"], ["v2"], ["v1"]]
    await chat(db, user_id="v0", at=START + 110)
    await chat(db, user_id="v1", at=START + 111)
    await chat(db, user_id="v2", at=START + 112)
    await conversation_team.wake(db, START + 200)
    assert await lists() == [["v2", "v1", "v0", "v3"], [], [], []]
    assert await visitors(db, oldest_first=True, **is_open) == ["v3", "v0", "v1", "v2"]


async def test_labels_are_filtered_with_a_status_and_words(db: Database) -> None:
    ids = await written(db, 3)
    for visitor, labels in (("v0", ["b", "vip"]), ("v1", ["b"])):
        assert await conversation_team.put_labels(db, ["account"], ids[visitor], lambda _, labels=labels: labels)  # type: ignore[misc]
    assert await conversation_team.labels(db, "account") == ["b", "vip"]
    await conversation_team.change(db, ["account"], ids["v0"], {"assignee": "ada"})
    await conversation_team.set_aside(db, ["account"], ids["v1"], START + 50, None)
    terms = [Term("helmet")]
    chosen: tuple[tuple[dict[str, object], list[str]], ...] = (
        ({"label": "b"}, ["v1", "v0"]),
        ({"label": "b", "terms": terms}, ["v1", "v0"]),
        ({"label": "b", "terms": terms, "status": "resolved"}, ["v1"]),
        ({"label": "b", "status": "unread", "operator_id": "ada"}, ["v1", "v0"]),
        ({"label": "vip", "status": "mine", "operator_id": "ada"}, ["v0"]),
        ({"label": "vip", "status": "resolved"}, []),
    )
    for wanted, expected in chosen:
        assert await visitors(db, **wanted) == expected, wanted
    await conversation_team.put_labels(db, ["account"], ids["v0"], lambda _: [])
    assert await visitors(db, label="vip") == []


async def test_notes_and_views_go_with_the_visitor_and_views_with_the_operator(db: Database) -> None:
    await furnish(db)
    await chat(db, user_id="v1", at=START)
    ((conversation, _),) = (await listed(db)).items
    note = await conversation_team.add_note(db, ["account"], conversation.id, "Ada", "Call back", START)
    assert (await conversation_team.view(db, None, conversation.id, 1, "ada")).team.notes == [note]
    assert await conversation_team.notes_of(db, [conversation.id, "none"]) == {conversation.id: [note]}
    for operator in ("ada", "selin"):
        await conversation_team.see(db, None, conversation.id, operator, 7)
    count = "SELECT (SELECT count(*) FROM conversation_views), (SELECT count(*) FROM conversation_notes)"

    async def left() -> tuple[int, int]:
        return await db.read(lambda connection: tuple(connection.execute(count).fetchone()))

    await operators.remove(db, "ada")
    assert await left() == (1, 1)
    (position,) = await erasure.conversations(db, "v1", None)
    while await erasure.some_of(db, position):
        pass
    assert await left() == (0, 0)


OPERATIONS: list[Callable[[Database, str], Awaitable[object]]] = [
    lambda db, key: conversation_team.change(db, ["other"], key, {"assignee": None}),
    lambda db, key: conversation_team.set_aside(db, ["other"], key, START, None),
    lambda db, key: conversation_team.put_labels(db, ["other"], key, lambda labels: labels),
    lambda db, key: conversation_team.add_note(db, ["other"], key, "Ada", "x", START),
    lambda db, key: conversation_team.see(db, ["other"], key, "ada", 7),
    lambda db, key: conversation_team.view(db, ["other"], key, 20, "ada"),
]


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_conversation_outside_the_scope_is_not_there(db: Database, operation: Callable[[Database, str], Awaitable[object]]) -> None:
    ids = await written(db, 1)
    with pytest.raises(Refused, match="conversation_not_found"):
        await operation(db, ids["v0"])


async def test_saved_replies_are_of_one_account_and_bounded(db: Database) -> None:
    await furnish(db)
    for name, text in (("greeting", "Hello"), ("address", "Here"), ("greeting", "Hello {name}")):
        assert await conversation_team.put_reply(db, "account", SavedReply(name, text), START, 2)
    assert not await conversation_team.put_reply(db, "account", SavedReply("third", "x"), START, 2)
    assert await conversation_team.saved_replies(db, "account") == [SavedReply("address", "Here"), SavedReply("greeting", "Hello {name}")]
    assert await conversation_team.saved_replies(db, "other") == []
    assert await conversation_team.remove_reply(db, "other", "address") is None
    assert await conversation_team.remove_reply(db, "account", "address") == SavedReply("address", "Here")
    assert await conversation_team.saved_replies(db, "account") == [SavedReply("greeting", "Hello {name}")]
