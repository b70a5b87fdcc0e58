"""Messages that arrive by a channel: stored, answered once, charged only for a reply, and never without a word."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from chatsvc.domain.captures import Captured
from chatsvc.domain.channels import NewMessage
from chatsvc.engines import EngineError, Reply, Turn
from chatsvc.services.accounts import accounts
from chatsvc.services.administration import perform
from chatsvc.services.conversations import conversations
from chatsvc.services.messages import channel_messages
from chatsvc.store import channel_messages as stored
from chatsvc.store.database import Database
from tests.conftest import Caller, MakeCaller
from tests.fakes import ADMIN, FakeClock, ScriptedEngine, failing
from tests.platforms.conftest import Visitor, begun
from tests.store.inspection import execute


async def used(caller: Caller) -> tuple[int, int]:
    """Messages charged to the account, and to the bot."""
    shown = await accounts.show(caller.app.services, ADMIN, account=caller.account)
    return shown.messages_used, (await caller.chatbot()).messages_used


async def test_a_reply_is_stored_charged_and_found_on_every_side(visitor: Visitor, caller: Caller, engine: ScriptedEngine) -> None:
    assert await visitor.say("hello") == [("assistant", "echo: hello")]
    assert await visitor.say("again") == [("assistant", "echo: again")]
    assert await used(caller) == (2, 2)
    conversation, messages, *_ = await visitor.thread()
    assert (conversation.channel, conversation.handling, conversation.message_count) == ("web", "bot", 4)
    assert [(message.role, message.delivery) for message in messages] == [("user", None), ("assistant", "sent")] * 2
    # The next turn sees the turns before, and not the message that it answers.
    assert [(message.role, message.content) for message in engine.turns[1].history] == [("user", "hello"), ("assistant", "echo: hello")]
    listed = (await caller.get("/conversations", params={"channel": "web"})).json["data"]
    assert [(entry["session_id"], "handling" in entry) for entry in listed] == [("web:visitor", False)]


async def test_a_message_that_comes_twice_is_answered_once(visitor: Visitor, caller: Caller, engine: ScriptedEngine) -> None:
    engine.gate = asyncio.Event()
    twice = [asyncio.create_task(visitor.say("hello", key="k")) for _ in range(2)]
    await begun(engine, 1)
    engine.gate.set()
    assert await asyncio.gather(*twice) == [[("assistant", "echo: hello")]] * 2
    assert await visitor.say("other words", key="k") == [("assistant", "echo: hello")]
    assert (len(engine.turns), await used(caller)) == (1, (1, 1))


async def test_two_quick_messages_are_answered_in_their_order(visitor: Visitor, engine: ScriptedEngine) -> None:
    await asyncio.gather(visitor.say("one"), visitor.say("two"))
    assert [turn.message for turn in engine.turns] == ["one", "two"]
    assert [message.content for message in engine.turns[1].history] == ["one", "echo: one"]
    assert (await visitor.thread()).conversation.message_count == 4


async def test_a_stored_message_is_answered_after_the_process_has_gone(visitor: Visitor, caller: Caller) -> None:
    services = caller.app.services
    arrived = NewMessage(caller.account, caller.bot, "web", "visitor", "hello", "k", services.clock())
    (message,) = await channel_messages.receive(services, arrived)
    assert message is not None
    assert await stored.pending(services.db) == [message]
    # The retry of the widget goes on with what was stored.
    assert await visitor.say("hello", key="k") == [("assistant", "echo: hello")]
    assert await stored.pending(services.db) == []


async def test_a_message_that_waited_for_longer_than_a_day_is_not_answered(visitor: Visitor, caller: Caller, clock: FakeClock) -> None:
    services = caller.app.services
    for key in ("a", "b"):
        arrived = NewMessage(caller.account, caller.bot, "web", "visitor", f"message {key}", key, services.clock())
        assert await channel_messages.receive(services, arrived) != [None]
        clock.advance(86_400)
    assert await visitor.say("and now?") == [("assistant", "echo: message b"), ("assistant", "echo: and now?")]


async def test_an_erased_visitors_message_that_comes_again_is_not_stored(visitor: Visitor, caller: Caller) -> None:
    services = caller.app.services
    await visitor.say("hello", key="k")
    done = await conversations.erase(services, ADMIN, user_id="visitor", bot=await caller.chatbot())
    assert (done.erased.conversations, done.erased.messages) == (1, 2)
    arrived = NewMessage(caller.account, caller.bot, "web", "visitor", "hello", "k", services.clock())
    assert await channel_messages.receive(services, arrived) == [None]


async def test_a_question_erased_before_its_turn_is_settled_is_not_kept(
    visitor: Visitor, caller: Caller, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    services, settle = caller.app.services, stored.settle

    async def erased_first(db: Database, number: int, *values: Any, **how: Any) -> bool:
        await execute(caller.app, "DELETE FROM messages WHERE number = :1", number)
        return await settle(db, number, *values, **how)

    engine.script = failing("no_answer")
    monkeypatch.setattr(stored, "settle", erased_first)
    arrived = NewMessage(caller.account, caller.bot, "web", "visitor", "What does breakfast cost on Sundays?", "k", services.clock())
    (message,) = await channel_messages.receive(services, arrived)
    assert message is not None
    await channel_messages.answer(services, message)
    assert await perform(services, ADMIN, "knowledge.unanswered", {"bot": caller.bot}) == []


async def test_a_late_turn_of_an_erased_message_settles_no_other(visitor: Visitor, caller: Caller) -> None:
    services = caller.app.services

    async def arrive(user_id: str) -> int:
        arrived = NewMessage(caller.account, caller.bot, "web", user_id, "hello", user_id, services.clock())
        (message,) = await channel_messages.receive(services, arrived)
        assert message is not None
        return message.number

    erased = await arrive("first")
    await conversations.erase(services, ADMIN, user_id="first", bot=await caller.chatbot())
    later = await arrive("second")
    assert later > erased
    assert not await stored.settle(services.db, erased, None)
    assert [message.number for message in await stored.pending(services.db)] == [later]


async def test_keys_are_kept_for_eight_days(visitor: Visitor, caller: Caller, clock: FakeClock) -> None:
    await visitor.say("hello", key="k")
    clock.advance(8 * 86_400 - 1)
    await visitor.say("a new key")
    assert await visitor.say("hello", key="k") == [("assistant", "echo: hello"), ("user", "a new key"), ("assistant", "echo: a new key")]
    clock.advance(1)
    await visitor.say("another key")
    new = NewMessage(caller.account, caller.bot, "web", "else", "hello", "the key of somebody else", clock())
    assert await stored.store(caller.app.services.db, [new]) != [None]


@pytest.mark.parametrize(
    ("reason", "text"),
    [("timeout", "can't answer just now"), ("no_answer", "don't have information"), ("empty", "can't answer just now")],
)
async def test_a_failed_reply_is_a_sentence_that_costs_nothing(
    visitor: Visitor, caller: Caller, engine: ScriptedEngine, reason: str, text: str
) -> None:
    engine.script = failing(reason)
    ((role, reply),) = await visitor.say("What does the breakfast cost on Sundays?")
    assert role == "assistant"
    assert text in reply
    assert await used(caller) == (0, 0)
    engine.script = lambda turn: Reply(f"{len(turn.history)} before")
    # Both remain context of the next turn.
    assert await visitor.say("And on Mondays?") == [("assistant", "2 before")]
    noted = await perform(caller.app.services, ADMIN, "knowledge.unanswered", {"bot": caller.bot})
    assert bool(noted) is (reason == "no_answer")


async def test_the_engines_own_fallback_is_said_in_its_language(visitor: Visitor, engine: ScriptedEngine) -> None:
    def script(_: Turn) -> Reply:
        raise EngineError("no_answer", fallback="Leider nicht.")

    engine.script = script
    assert await visitor.say("Was kostet das?") == [("assistant", "Leider nicht.")]


async def test_the_sentence_is_in_the_language_of_the_conversation(visitor: Visitor, engine: ScriptedEngine) -> None:
    engine.script = failing("timeout")
    assert "Şu anda yanıt veremiyorum" in (await visitor.say("Kahvaltı saat kaçta başlıyor acaba?"))[0][1]
    assert "Şu anda" in (await visitor.say("123"))[0][1]
    assert "can't answer" in (await visitor.say("When does breakfast begin on Sundays, please?"))[0][1]
    assert "can't answer" in (await visitor.say("123"))[0][1]


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("channel.pause", {"channel": "web"}),
        ("channel.remove", {"channel": "web"}),
        ("bot.deactivate", {}),
        ("account.set", {"status": "past_due"}),
    ],
)
async def test_where_nothing_may_be_answered_the_visitor_is_told(
    visitor: Visitor, caller: Caller, engine: ScriptedEngine, operation: str, arguments: dict[str, Any]
) -> None:
    named = {"account": caller.account} if operation.startswith("account") else {"bot": caller.bot}
    await perform(caller.app.services, ADMIN, operation, {**named, **arguments})
    ((_, reply),) = await visitor.say("Hello, how are you today?")
    assert "not available here" in reply
    assert engine.turns == []


async def test_a_spent_allowance_is_told_and_credits_are_used(make_caller: MakeCaller, clock: FakeClock) -> None:
    caller = await make_caller(messages_limit=1, credits=1)
    await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "web"})
    visitor = Visitor(caller, clock)
    replies = [(await visitor.say(f"Hello, this is message {n}"))[-1][1][:9] for n in range(3)]
    assert replies == ["echo: Hel", "echo: Hel", "I can't a"]


async def test_a_capture_names_the_page_and_goes_to_the_webhook(visitor: Visitor, caller: Caller, engine: ScriptedEngine) -> None:
    await perform(caller.app.services, ADMIN, "webhook.set", {"bot": caller.bot, "events": ["request.created"]})
    engine.script = lambda _: Reply("Noted.", captured=Captured("contact", "call me", "Selin", None, "05321234567"))
    await visitor.say("Selin, 0532 123 45 67", page_host="shop.example.com")
    (item,) = (await perform(caller.app.services, ADMIN, "request.list", {"bot": caller.bot})).items
    request = item.request
    assert (request.source_page_host, request.visitor_name) == ("shop.example.com", "Selin")
    (event,) = await perform(caller.app.services, ADMIN, "webhook.events", {"bot": caller.bot})
    assert '"source_page_host":"shop.example.com"' in event.body


async def test_a_turn_that_waits_too_long_for_another_is_told(
    visitor: Visitor, caller: Caller, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.gate = asyncio.Event()
    first = asyncio.create_task(visitor.say("Hello, is there anybody?"))
    await begun(engine, 1)
    services = caller.app.services
    monkeypatch.setattr(services, "config", replace(services.config, anthropic=replace(services.config.anthropic, timeout_s=0.05)))
    second = await visitor.say("Hello, is there anybody else?")
    assert "can't answer" in second[0][1]
    engine.gate.set()
    assert ("assistant", "echo: Hello, is there anybody?") in await first


async def test_the_team_alone_sees_delivery_and_feedback(visitor: Visitor, caller: Caller) -> None:
    await visitor.say("hello")
    conversation = await visitor.conversation()
    reply = (await visitor.thread()).messages[-1]
    key = (caller.bot, "web", "visitor")
    assert await stored.rate(caller.app.services.db, key, reply.id, "up")
    assert not await stored.rate(caller.app.services.db, (caller.bot, "web", "else"), reply.id, "down")
    assert (await visitor.thread()).messages[-1].feedback == "up"
    shown = (await caller.get(f"/conversations/{conversation}")).json["data"]
    assert [set(message) for message in shown["messages"]] == [{"id", "role", "content", "created_at"}] * 2


async def test_a_question_whose_choices_nobody_took_is_in_the_list_of_the_unanswered(
    visitor: Visitor, caller: Caller, engine: ScriptedEngine
) -> None:
    engine.script = lambda _: Reply("Oak: £45.", missed="what does a frame of oak cost")
    await visitor.say("what about oak")
    ((missed, _),) = await perform(caller.app.services, ADMIN, "knowledge.unanswered", {"bot": caller.bot})
    assert missed.question == "what does a frame of oak cost"
    assert (await execute(caller.app, "SELECT coalesce(sum(times), 0) FROM day_counts WHERE name = 'answered'")) == [(0,)]
