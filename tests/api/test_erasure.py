"""A visitor is erased while the service runs: answers under way, what is held in memory, and the files."""

import asyncio
from pathlib import Path

import pytest

from chatsvc.config import Config
from chatsvc.domain.refusals import Refused
from chatsvc.services.conversations import conversations
from chatsvc.store import erasure as stored
from tests.api.support import execute
from tests.conftest import Caller
from tests.fakes import ADMIN, ScriptedEngine
from tests.postgres import RUNNING
from tests.store.support import dump
from tests.webhooks.support import BOTH, SAID, captures, hook

pytestmark = pytest.mark.postgres


def readable(config: Config, *texts: str) -> list[Path]:
    if RUNNING:
        return [Path(line) for line in dump(config.data_dir / "chatsvc.db") if any(text in line for text in texts)]
    files = [file for file in config.data_dir.iterdir() if file.is_file()]
    return [file for file in files if any(text.encode() in file.read_bytes() for text in texts)]


async def test_all_that_a_visitor_left_is_gone_and_counted(caller: Caller, engine: ScriptedEngine, config: Config) -> None:
    await hook(caller, None, *BOTH)
    captures(engine)
    for message in (SAID, "Teşekkürler, görüşmek üzere"):
        assert (await caller.send(message, "v", headers={"Idempotency-Key": str(len(message))})).status == 200
    assert readable(config, "Selin", "üzere")
    erased = await conversations.erase(caller.app.services, ADMIN, user_id="v")
    gone = {"conversations": 1, "messages": 4, "requests": 2, "appointments": 2, "events": 4}
    assert (erased.user_id, erased.erased) == ("v", stored.Erased(**gone))
    assert readable(config, "Selin", "selin@", "üzere", "görüşmek") == []
    assert (await conversations.erase(caller.app.services, ADMIN, user_id="v")).erased == stored.Erased()


async def test_what_was_shown_before_is_not_shown_again_and_usage_and_allowance_stay(caller: Caller) -> None:
    for visitor in ("v", "w"):
        await caller.send("hello", visitor)
    before = [conversation["id"] for conversation in (await caller.get("/conversations")).json["data"] if conversation["user_id"] == "v"]
    assert (await caller.get(f"/conversations/{before[0]}")).status == 200
    used = (await caller.get("/analytics")).json["data"]
    await conversations.erase(caller.app.services, ADMIN, user_id="v")
    assert (await caller.get("/analytics")).json["data"] == used
    assert used["usage"]["total_messages"] == used["account"]["messages_used"] == 2
    listed = (await caller.get("/conversations")).json
    assert [conversation["user_id"] for conversation in listed["data"]] == ["w"]
    assert listed["pagination"]["total"] == 1
    assert (await caller.get(f"/conversations/{before[0]}")).error == "conversation_not_found"


async def test_an_answer_under_way_is_waited_for_and_goes_as_well(caller: Caller, engine: ScriptedEngine) -> None:
    sending = await engine.hold(caller.send("my first words", "v"))
    erasing = asyncio.create_task(conversations.erase(caller.app.services, ADMIN, user_id="v"))
    await asyncio.sleep(0.05)
    assert not erasing.done()
    engine.release()
    assert (await sending).status == 200
    assert (await erasing).erased.messages == 2
    assert await execute(caller.app, "SELECT count(*) FROM messages") == [(0,)]


async def test_where_an_answer_takes_too_long_nothing_is_erased_and_that_is_said(
    caller: Caller, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await caller.send("hello", "v")
    monkeypatch.setattr(conversations, "ERASE_WAIT_S", 0.05 - caller.app.config.anthropic.timeout_s)
    sending = await engine.hold(caller.send("again", "v"))
    with pytest.raises(Refused, match="visitor_busy"):
        await conversations.erase(caller.app.services, ADMIN, user_id="v")
    assert await execute(caller.app, "SELECT count(*) FROM messages") == [(2,)]
    engine.release()
    assert (await sending).status == 200
    assert (await conversations.erase(caller.app.services, ADMIN, user_id="v")).erased.messages == 4


async def test_a_message_that_comes_meanwhile_begins_a_conversation_that_knows_nothing(
    caller: Caller, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "BATCH", 2)
    for i in range(10):
        await caller.send(f"secret {i}", "v")
    turns = caller.app.services.conversation_locks
    erasing = asyncio.create_task(conversations.erase(caller.app.services, ADMIN, user_id="v"))
    # Nobody else is in the visitor's line: it is the erasure that has it.
    while not await turns.locked("v", caller.bot):  # noqa: ASYNC110  # a step at a time, so that it is met half-way
        await asyncio.sleep(0)
    answers = await asyncio.gather(*(caller.send("new", "v") for _ in range(3)))
    await erasing
    assert [answer.status for answer in answers] == [200] * 3
    heard = [message.content for turn in engine.turns[10:] for message in turn.history]
    assert not [text for text in heard if "secret" in text]
    assert await execute(caller.app, "SELECT conversations FROM conversation_counts") == [(1,)]
