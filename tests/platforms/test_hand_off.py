"""The hand-off: a visitor asks for a person, somebody takes the conversation, and the bot gets it back."""

import asyncio
import re
from typing import Any

import pytest

from chatsvc import background
from chatsvc.app import App
from chatsvc.domain.actors import Actor, Caller, Role, Scope
from chatsvc.domain.operators import actor_of
from chatsvc.domain.refusals import Refused
from chatsvc.engines import Reply
from chatsvc.services.administration import perform
from chatsvc.services.conversations import handling
from chatsvc.services.conversations.conversation_events import ConversationEvents, ExpiringMarks
from chatsvc.services.team import operators
from tests import conftest
from tests.fakes import ADMIN, FakeClock, ScriptedEngine, failing
from tests.platforms.conftest import Visitor, begun
from tests.tables import rows

WISH = "Can I talk to a real person please?"


async def switch_on(caller: conftest.Caller, **settings: Any) -> None:
    await perform(caller.app.services, ADMIN, "bot.set", {"bot": caller.bot, "hand_off": True, **settings})


async def handled(visitor: Visitor) -> str:
    return (await visitor.thread()).conversation.handling


async def test_a_visitor_who_asks_for_a_person_waits_and_hears_one_sentence(
    visitor: Visitor, caller: conftest.Caller, engine: ScriptedEngine
) -> None:
    await switch_on(caller)
    await visitor.say("hello")
    ((_, text),) = await visitor.say(WISH)
    assert "someone from our team" in text
    assert await handled(visitor) == "waiting"
    assert await visitor.say("are you there?") == []
    assert len(engine.turns) == 1
    assert (await perform(caller.app.services, ADMIN, "bot.show", {"bot": caller.bot})).messages_used == 1


@pytest.mark.parametrize(
    ("settings", "text"),
    [({"hand_off": False}, WISH), ({}, "When are you open?"), ({"opening_hours": "mon-thu 9-18"}, "When are you open?")],
)
async def test_without_wish_the_bot_answers(visitor: Visitor, caller: conftest.Caller, settings: dict[str, Any], text: str) -> None:
    await switch_on(caller, **settings)
    assert await visitor.say(text) == [("assistant", f"echo: {text}")]
    assert await handled(visitor) == "bot"


# The clock stands on Friday, 20 November 2026, at 15:14 in Istanbul.
@pytest.mark.parametrize(("settings", "text", "away"), rows("platforms/team_away"))
async def test_outside_of_the_hours_the_bot_says_when_the_team_is_back_and_answers(
    visitor: Visitor, caller: conftest.Caller, engine: ScriptedEngine, settings: str, text: str, away: str
) -> None:
    await switch_on(caller)
    await perform(caller.app.services, ADMIN, "bot.apply", {"bot": caller.bot, "file": "b.yaml", "text": settings})
    assert await visitor.say(text) == [("assistant", f"{away}\n\necho: {text}")]
    assert await handled(visitor) == "bot"
    engine.script = failing("no_answer")
    assert (await visitor.say(text))[0][1].startswith(f"{away}\n\n")
    assert await visitor.say("And now?") != []


@pytest.mark.parametrize(
    ("wish", "language"),
    [
        ("Can I talk to a real person please?", "en"),
        ("This is unacceptable, I want to complain!", "en"),
        ("Bir insanla görüşmek istiyorum", "tr"),
        ("Temsilciye bağlanmak istiyorum", "tr"),
        ("Bu ne rezalet, şikayetçiyim!", "tr"),
    ],
)
async def test_outside_of_the_hours_a_request_is_left(visitor: Visitor, caller: conftest.Caller, wish: str, language: str) -> None:
    await switch_on(caller, model="offline", opening_hours="mon-thu 9-18", language=language)
    away = {"en": "Our team is away right now.", "tr": "Ekibimiz şu anda burada değil."}[language]
    answers = {
        r"\((?:yes / no|evet / hayır)\)$": "yes" if language == "en" else "evet",
        r"your name|[Aa]dınızı": "Jane Smith" if language == "en" else "Ayşe Yılmaz",
        r"phone number|telefon|numara": "0532 111 22 33",
        r"^[^•-].*\?$": "My bike has broken" if language == "en" else "Bisikletim bozuldu",
    }
    reply = (await visitor.say(wish))[-1][1]
    assert reply.startswith(away)
    for _ in range(8):
        answer = next((answer for asked, answer in answers.items() if re.search(asked, reply.rsplit("\n", 1)[-1])), None)
        if answer is None:
            break
        reply = (await visitor.say(answer))[-1][1]
        assert away not in reply
    (item,) = (await perform(caller.app.services, ADMIN, "request.list", {"bot": caller.bot})).items
    request = item.request
    assert (request.visitor_name, request.visitor_phone) == (answers[r"your name|[Aa]dınızı"], "+905321112233")
    assert request.message in (wish, answers[r"^[^•-].*\?$"])


async def test_on_the_interface_nobody_waits(caller: conftest.Caller) -> None:
    await switch_on(caller)
    answer = await caller.send(WISH, "v")
    assert answer.json["data"]["reply"] == f"echo: {WISH}"


async def test_a_person_takes_replies_and_releases(visitor: Visitor, caller: conftest.Caller, engine: ScriptedEngine) -> None:
    await visitor.say("hello")
    taken = await visitor.act("conversation.take")
    assert (taken.handling, taken.operator_name) == ("operator", "root")
    assert await visitor.say("anybody?") == []
    written = await visitor.act("conversation.reply", text="  Yes, Ada here. ")
    assert (written.message.role, written.message.content, written.message.author) == ("operator", "Yes, Ada here.", "root")
    assert written.message.delivery == "queued"
    released = await visitor.act("conversation.release")
    assert (released.handling, released.operator_name) == ("bot", None)
    assert (await visitor.act("conversation.release")).handling == "bot"
    messages = (await visitor.thread()).messages
    assert [message.role for message in messages] == ["user", "assistant", "user", "operator", "assistant"]
    await visitor.say("thanks")
    # The engine sees the person's words as said to the visitor, and all of what the visitor said.
    assert [(message.role, message.content[:6]) for message in engine.turns[-1].history] == [
        ("user", "hello"),
        ("assistant", "echo: "),
        ("user", "anybod"),
        ("assistant", "Yes, A"),
        ("assistant", messages[-1].content[:6]),
    ]


async def test_a_reply_of_the_model_that_comes_late_is_dropped_and_not_charged(
    visitor: Visitor, caller: conftest.Caller, engine: ScriptedEngine
) -> None:
    await visitor.say("hello")
    engine.gate = asyncio.Event()
    late = asyncio.create_task(visitor.say("a hard question"))
    await begun(engine, 2)
    await visitor.act("conversation.reply", text="I know that.")
    await visitor.act("conversation.release")
    engine.gate.set()
    replies = await late
    assert [role for role, _ in replies] == ["operator", "assistant"]
    assert "echo: a hard question" not in {text for _, text in replies}
    bot = await perform(caller.app.services, ADMIN, "bot.show", {"bot": caller.bot})
    assert bot.messages_used == 1
    held = await caller.app.services.account_cache.account(caller.account)
    assert held
    assert held.allowance.reserved == {}


async def test_the_bot_returns_after_the_operators_silence_with_one_notice(
    visitor: Visitor, caller: conftest.Caller, clock: FakeClock
) -> None:
    await switch_on(caller, hand_off_return=30)
    await visitor.say("Hello, I would like to ask something")
    await visitor.act("conversation.reply", text="Ask.")
    clock.advance(29 * 60)
    # The visitor's words do not lengthen it, the operator's do.
    await visitor.say("What about the breakfast?")
    assert await handling.return_overdue(caller.app.services) == 0
    await visitor.act("conversation.reply", text="One moment.")
    clock.advance(29 * 60)
    assert await handling.return_overdue(caller.app.services) == 0
    clock.advance(60)
    assert await handling.return_overdue(caller.app.services) == 1
    assert await handling.return_overdue(caller.app.services) == 0
    last = (await visitor.thread()).messages[-1]
    assert (last.role, "automated assistant" in last.content) == ("assistant", True)
    assert await visitor.say("Thank you") == [("assistant", "echo: Thank you")]


async def test_where_nobody_came_the_bot_takes_a_request(make_visitor: Any, clock: FakeClock) -> None:
    visitor, caller = await make_visitor(model="offline")
    await switch_on(caller, hand_off_wait=10)
    await visitor.say(WISH)
    clock.advance(599)
    assert await handling.return_overdue(caller.app.services) == 0
    clock.advance(1)
    assert await handling.return_overdue(caller.app.services) == 1
    last = (await visitor.thread()).messages[-1]
    assert "Nobody from our team is free" in last.content
    await visitor.say("Jane Smith")
    await visitor.say("jane@example.com")
    await visitor.say("yes")
    (item,) = (await perform(caller.app.services, ADMIN, "request.list", {"bot": caller.bot})).items
    request = item.request
    assert (request.visitor_name, request.visitor_email) == ("Jane Smith", "jane@example.com")
    assert "real person" in request.message


async def test_another_engine_goes_on_from_the_sentence(
    visitor: Visitor, caller: conftest.Caller, engine: ScriptedEngine, clock: FakeClock
) -> None:
    await switch_on(caller)
    engine.script = lambda _: Reply("ok", dialogue='{"own": 1}')
    await visitor.say("hello")
    await visitor.say(WISH)
    clock.advance(600)
    await handling.return_overdue(caller.app.services)
    await visitor.say("Jane")
    assert "Nobody from our team" in engine.turns[-1].history[-1].content
    assert engine.turns[-1].dialogue == '{"own": 1}'


async def operator(app: App, email: str, account: str, role: str = "editor") -> Caller:
    invitation = await operators.add(app.services, ADMIN, email=email, account=account, role=role, name=email[:3])
    who = invitation.operator
    return Caller(Actor("operator", who.id, who.name or ""), Scope({account: Role[role.upper()]}), "web")


async def test_visitors_see_the_account_where_an_operator_has_no_name(visitor: Visitor, caller: conftest.Caller) -> None:
    services = caller.app.services
    invitation = await operators.add(services, ADMIN, email="ada@example.com", account=caller.account, role="editor")
    state = await services.account_cache.account(caller.account)
    assert state is not None
    ada = Caller(actor_of(invitation.operator), Scope({caller.account: Role.EDITOR}), "web")
    await visitor.say("hello")
    named = {"conversation": await visitor.conversation()}
    written = await perform(services, ada, "conversation.reply", {**named, "text": "hi"})
    assert (written.message.author, written.conversation.operator_name) == (state.account.name, state.account.name)
    assert (await visitor.act("conversation.take", email="ada@example.com", yes=True)).operator_name == state.account.name


async def test_anothers_conversation_is_taken_only_on_purpose(visitor: Visitor, caller: conftest.Caller) -> None:
    services = caller.app.services
    ada, bob = await operator(caller.app, "ada@example.com", caller.account), await operator(caller.app, "bob@example.com", caller.account)
    await visitor.say("hello")
    named = {"conversation": await visitor.conversation()}
    await perform(services, ada, "conversation.take", named)
    # Taken again by the same one, whose silence begins anew.
    assert (await perform(services, ada, "conversation.take", named)).operator_name == "ada"
    for operation, more in (("take", {}), ("reply", {"text": "x"})):
        with pytest.raises(Refused, match="conversation_taken"):
            await perform(services, bob, f"conversation.{operation}", {**named, **more})
    # A local user writes for the one who has it.
    assert (await visitor.act("conversation.reply", text="hi")).message.author == "ada"
    assert (await perform(services, bob, "conversation.reply", {**named, "text": "mine", "yes": True})).conversation.operator_name == "bob"
    with pytest.raises(Refused, match="conversation_taken"):
        await visitor.act("conversation.take", email="ada@example.com")
    assert (await visitor.act("conversation.take", email="ada@example.com", yes=True)).operator_name == "ada"
    with pytest.raises(Refused, match="operator_not_found"):
        await perform(services, ada, "conversation.take", {**named, "email": "bob@example.com", "yes": True})


async def test_only_somebody_of_the_team_takes_a_conversation(visitor: Visitor, caller: conftest.Caller) -> None:
    await operator(caller.app, "reads@example.com", caller.account, "reader")
    await visitor.say("hello")
    for email, code in (("reads@example.com", "operator_without_role"), ("nobody@example.com", "operator_not_found")):
        with pytest.raises(Refused, match=code):
            await visitor.act("conversation.take", email=email)
    for text, code in ((" ", "text_empty"), ("x" * 4001, "text_too_long"), ("a\0b", "text_invalid")):
        with pytest.raises(Refused, match=code):
            await visitor.act("conversation.reply", text=text)


async def test_a_paused_channel_sends_nothing_of_an_operator(visitor: Visitor, caller: conftest.Caller) -> None:
    await visitor.say("hello")
    await perform(caller.app.services, ADMIN, "channel.pause", {"bot": caller.bot, "channel": "web"})
    with pytest.raises(Refused, match="channel_paused"):
        await visitor.act("conversation.reply", text="hi")
    await perform(caller.app.services, ADMIN, "channel.remove", {"bot": caller.bot, "channel": "web"})
    with pytest.raises(Refused, match="channel_not_found"):
        await visitor.act("conversation.reply", text="hi")


async def test_a_conversation_of_the_interface_can_be_taken_and_the_bot_goes_on_there(
    caller: conftest.Caller, engine: ScriptedEngine, clock: FakeClock
) -> None:
    await caller.send("hello", "v")
    (listed,) = (await perform(caller.app.services, ADMIN, "conversation.list", {"bot": caller.bot})).items
    written = await perform(caller.app.services, ADMIN, "conversation.reply", {"conversation": listed.id, "text": "a person here"})
    assert written.message.delivery is None
    assert (await caller.send("and now?", "v")).json["data"]["reply"] == "echo: and now?"
    assert [message.content for message in engine.turns[-1].history] == ["hello", "echo: hello", "a person here"]
    shown = (await caller.get(f"/conversations/{listed.id}")).json["data"]
    assert [message["role"] for message in shown["messages"]] == ["user", "assistant", "operator", "user", "assistant"]
    await perform(caller.app.services, ADMIN, "conversation.release", {"conversation": listed.id})
    await perform(caller.app.services, ADMIN, "conversation.take", {"conversation": listed.id})
    clock.advance(30 * 60)
    assert await handling.return_overdue(caller.app.services) == 1
    # No notice either way: nobody would read it.
    assert (await caller.get(f"/conversations/{listed.id}")).json["data"]["message_count"] == 5
    (again,) = (await perform(caller.app.services, ADMIN, "conversation.list", {"bot": caller.bot})).items
    assert (again.handling, again.operator_name) == ("bot", None)


async def wait(events: ConversationEvents, key: tuple[str, str, str], timeout_s: float) -> None:
    async with events.waiting_for(key) as waiter:
        await background.wait(waiter, timeout_s)


async def test_who_is_typing_is_known_for_some_seconds(visitor: Visitor, caller: conftest.Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    await visitor.say("hello")
    events, key = caller.app.services.events, (caller.bot, "web", "visitor")
    waiting = asyncio.create_task(wait(events, key, 30))
    await asyncio.sleep(0)
    await visitor.act("conversation.type")
    await asyncio.wait_for(waiting, 20)
    assert events.typing.has(key, "operator")
    assert not events.typing.has(key, "visitor")
    await visitor.act("conversation.reply", text="hi")
    assert not events.typing.has(key, "operator")
    monkeypatch.setattr(events, "typing", ExpiringMarks(0.0))
    events.type(key, "visitor")
    assert not events.typing.has(key, "visitor")
    await wait(events, key, 0.01)
    assert events.waiting == 0


async def test_nobody_waits_any_more_when_the_service_stops(app: App) -> None:
    events = app.services.events
    waiting = [asyncio.create_task(wait(events, ("b", "web", str(n)), 30)) for n in range(3)]
    await asyncio.sleep(0)
    events.close()
    await asyncio.wait_for(asyncio.gather(*waiting), 20)
    await asyncio.wait_for(wait(events, ("b", "web", "1"), 30), 20)
