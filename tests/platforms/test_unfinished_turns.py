"""Turns that the end of the process interrupted: settled at the next start, in order, a few at a time, without a call of the visitor."""

import asyncio
from typing import Any

import pytest

from chatsvc.domain.channels import NewMessage
from chatsvc.engines import Reply, Turn
from chatsvc.services.administration import perform
from chatsvc.services.conversations import conversations
from chatsvc.services.messages import channel_messages
from chatsvc.services.messages.messages import MessageTurn
from chatsvc.store import channel_messages as stored
from chatsvc.store.database import StoreUnavailable
from tests.conftest import Caller, MakeCaller
from tests.fakes import ADMIN, ScriptedEngine
from tests.platforms.conftest import Visitor


async def store(caller: Caller, *texts: str, user_id: str = "visitor", channel: str = "web") -> list[int]:
    """Store messages and settle none, as a process does that is killed; their numbers."""
    services, numbers = caller.app.services, []
    for text in texts:
        arrived = NewMessage(caller.account, caller.bot, channel, user_id, text, f"{user_id} {text}", services.clock())
        (message,) = await channel_messages.receive(services, arrived)
        assert message is not None
        numbers.append(message.number)
    return numbers


async def test_the_turns_of_all_channels_and_bots_are_settled_in_order(make_visitor: Any, engine: ScriptedEngine) -> None:
    visitor, caller = await make_visitor()
    other, others_owner = await make_visitor()
    await store(caller, "one", "two", "three")
    await store(others_owner, "elsewhere")
    await store(caller, "by an app", user_id="7", channel="telegram")
    assert await channel_messages.settle_all(caller.app.services) == 5
    assert [turn.message for turn in engine.turns if turn.bot.id == caller.bot] == ["one", "two", "three"]
    assert [message.content for message in (await visitor.thread()).messages] == [
        "one",
        "two",
        "three",
        "echo: one",
        "echo: two",
        "echo: three",
    ]
    assert [message.content for message in (await other.thread()).messages] == ["elsewhere", "echo: elsewhere"]
    # Without a channel that is on, the sentence for that is said.
    page = await perform(caller.app.services, ADMIN, "conversation.list", {"bot": caller.bot})
    (app,) = [conversation for conversation in page.items if conversation.channel == "telegram"]
    shown = await perform(caller.app.services, ADMIN, "conversation.show", {"conversation": app.id})
    assert [message.role for message in shown.messages] == ["user", "assistant"]
    assert await channel_messages.settle_all(caller.app.services) == 0


async def test_a_bot_has_two_turns_at_once_and_delays_no_other_bot(make_caller: MakeCaller, engine: ScriptedEngine) -> None:
    slow, quick = await make_caller(), await make_caller()
    for caller in (slow, quick):
        await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "web"})
        for number in range(5):
            await store(caller, "hello", user_id=f"visitor-{number}")
    gate, under_way, most = asyncio.Event(), 0, 0
    ask = engine.reply

    async def reply(turn: Turn) -> Reply:
        nonlocal under_way, most
        if turn.bot.id == slow.bot:
            under_way += 1
            most = max(most, under_way)
            await gate.wait()
            under_way -= 1
        return await ask(turn)

    engine.reply = reply  # type: ignore[method-assign]
    settling = asyncio.create_task(channel_messages.settle_all(slow.app.services))
    async with asyncio.timeout(30):
        while len(engine.turns) < 5:  # noqa: ASYNC110  # the engine has no event for it
            await asyncio.sleep(0.01)
    assert {turn.bot.id for turn in engine.turns} == {quick.bot}
    gate.set()
    assert await settling == 10
    assert most == channel_messages.OF_A_BOT


async def test_a_turn_that_cannot_be_settled_keeps_no_other_waiting(
    visitor: Visitor, caller: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    first = await store(caller, "one", user_id="a")
    await store(caller, "two", "three", user_id="b")
    settle, services = channel_messages.answer, caller.app.services

    async def answer(services: Any, message: Any) -> None:
        if message.number == first[0]:
            raise ValueError("a fault of the program")
        await settle(services, message)

    monkeypatch.setattr(channel_messages, "answer", answer)
    assert await channel_messages.settle_all(services) == 2
    assert "could not be settled" in caplog.text


async def test_a_store_that_cannot_answer_is_reported_and_the_turns_wait(
    visitor: Visitor, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store(caller, "hello")
    services = caller.app.services

    async def unavailable(*_: Any) -> bool:
        raise StoreUnavailable("the disk is full")

    monkeypatch.setattr(MessageTurn, "record", unavailable)
    with pytest.raises(StoreUnavailable):
        await channel_messages.settle_all(services)
    monkeypatch.undo()
    assert await channel_messages.settle_all(services) == 1


async def test_nothing_is_begun_while_the_service_stops_and_an_erased_message_is_passed_over(
    visitor: Visitor, caller: Caller, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    services, pending = caller.app.services, stored.pending

    async def erased(*_: object) -> list[Any]:
        turns = await pending(services.db)
        await conversations.erase(services, ADMIN, user_id="visitor", bot=await caller.chatbot())
        return turns

    await store(caller, "hello")
    with monkeypatch.context() as patched:
        patched.setattr(stored, "pending", erased)
        await channel_messages.settle_all(services)
    await store(caller, "again")
    services.events.close()
    assert await channel_messages.settle_all(services) == 0
    assert engine.turns == []
