"""All conversations in pages: none missing, none twice, however long one is and whatever is written or erased meanwhile."""

import csv
import io
import json

import pytest

from chatsvc.cli import conversation
from chatsvc.domain.models import Conversation, Message
from chatsvc.store import conversations, erasure
from chatsvc.store.database import Database
from tests.fakes import START
from tests.store.support import chat, furnish

pytestmark = pytest.mark.postgres


async def pages(db: Database, bot: str | None = None) -> list[list[conversations.Part]]:
    ids, position = [], None
    while True:
        parts, position = await conversations.walk(db, None, bot, position)
        ids.append(parts)
        if position is None:
            return ids


@pytest.mark.parametrize("room", [1, 700, 10_000_000])
async def test_every_message_comes_once_and_in_order_whatever_a_page_holds(
    db: Database, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr(conversations, "EXPORT_PAGE", room)
    await furnish(db, bot_ids=("bot", "other"))
    for i in range(12):
        await chat(db, bot_id="other" if i % 3 else "bot", user_id=f"v{i % 2}", channel="web" if i == 5 else "api", text=f"text {i}")
    walked = await pages(db)
    parts = [part for page in walked for part in page]
    contents: dict[str, list[str]] = {}
    for part in parts:
        assert part.conversation
        contents.setdefault(part.conversation.id, []).extend(message.content for message in part.messages)
    assert len(contents) == 5
    assert sorted(text for texts in contents.values() for text in texts if "reply" not in text) == sorted(f"text {i}" for i in range(12))
    assert all(texts[1::2] == [f"reply to {text}" for text in texts[::2]] for texts in contents.values())
    assert all(texts == sorted(texts, key=lambda text: int(text.split()[-1])) for texts in contents.values())
    assert sum(part.begins for part in parts) == sum(part.ends for part in parts) == 5
    assert (len(walked) == 1) is (room > 1000)
    of_one = [part.conversation for page in await pages(db, "bot") for part in page if part.begins]
    assert {conversation.chatbot_id for conversation in of_one if conversation} == {"bot"}
    assert len(of_one) == 2


async def test_what_is_said_during_the_walk_is_left_out_and_what_is_erased_ends(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversations, "EXPORT_PAGE", 1)
    await furnish(db)
    for visitor in ("a", "a", "b"):
        await chat(db, user_id=visitor)
    _, position = await conversations.walk(db, None, None, None)
    assert position is not None
    await chat(db, user_id="a", text="later")
    texts: list[str] = []
    while position is not None and position.user_id == "a" and position.read_to < position.until:
        parts, position = await conversations.walk(db, None, None, position)
        texts += [message.content for part in parts for message in part.messages]
    assert texts == ["reply to hello", "hello", "reply to hello"]
    begun, position = await conversations.walk(db, None, None, position)
    assert begun[0].begins
    assert not begun[0].ends
    (gone,) = await erasure.conversations(db, "b", None)
    await erasure.some_of(db, gone)
    parts, position = await conversations.walk(db, None, None, position)
    assert [(part.conversation, part.messages, part.ends) for part in parts][:1] == [(None, [], True)]
    assert position is None


def part(messages: list[str], *, begins: bool = True, ends: bool = True) -> conversation.Part:
    """As the use-case gives it."""
    from chatsvc.domain import shapes

    conversation = shapes.conversation(Conversation("c", "b", "api", "=u", None, "e", START, START, START, 3))
    texts = [shapes.message(Message("m", "user", text, START)) for text in messages]
    return {"conversation": conversation, "message_count": 3, "messages": texts, "begins": begins, "ends": ends}


LONG = [[part(["one"], ends=False)], [part(["two"], begins=False, ends=False)], [part(["three"], begins=False), part([])]]


def test_a_conversation_of_several_pages_is_one_object() -> None:
    array = json.loads("".join(conversation.write("json", LONG)))
    assert [[message["content"] for message in one["messages"]] for one in array] == [["one", "two", "three"], []]
    assert [json.loads(line) for line in "".join(conversation.write("jsonl", LONG)).splitlines()] == array


def test_a_text_that_a_spreadsheet_would_run_is_made_harmless_in_csv_alone() -> None:
    texts = ["=HYPERLINK(1)", "+1", "-1", "@a", "\ta", 'plain, "quoted"\nand broken']
    rows = list(csv.DictReader(io.StringIO("".join(conversation.write("csv", [[part(texts)]])), newline="")))
    assert [row["content"] for row in rows] == [*(f"'{text}" for text in texts[:-1]), texts[-1]]
    assert {row["user_id"] for row in rows} == {"'=u"}
    (whole,) = json.loads("".join(conversation.write("json", [[part(texts)]])))
    assert [message["content"] for message in whole["messages"]] == texts
