"""Telegram over real HTTP: polling, buttons, groups, faults of the token, and what its network does."""

import asyncio
import json
import socket
from dataclasses import replace
from typing import Any

import pytest

from chatsvc.config import Config
from chatsvc.engines import Reply
from chatsvc.platforms.telegram import updates
from chatsvc.platforms.telegram.pollers import LOOK_EVERY_S, TelegramPollers
from chatsvc.platforms.telegram.updates import Myself, ReadMessage
from chatsvc.services.administration import perform
from chatsvc.services.conversations import conversations
from chatsvc.services.messages import channel_messages
from chatsvc.services.messages.channel_messages import ChannelAnswers
from chatsvc.store import channel_messages as stored
from tests.conftest import Caller
from tests.fakes import ADMIN, FailingAtFirst, FakeClock, ScriptedEngine
from tests.platforms.bot_api import NAME, TOKEN, BotApi, Fault, chats
from tests.platforms.conftest import begun, offer_rooms
from tests.tables import rows

ME = Myself(123456, NAME)


@pytest.fixture
def config(config: Config, api: BotApi) -> Config:
    return replace(config, channels={"telegram": api.url, "whatsapp": f"{api.url}/v26.0"})


@pytest.fixture
async def bot(caller: Caller, api: BotApi) -> Caller:
    await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "telegram", "token": TOKEN})
    return caller


async def act(caller: Caller, operation: str) -> Any:
    return await perform(caller.app.services, ADMIN, f"channel.{operation}", {"bot": caller.bot, "channel": "telegram"})


async def listed(caller: Caller) -> Any:
    (channel,) = await perform(caller.app.services, ADMIN, "channel.list", {"bot": caller.bot})
    return channel


async def thread(caller: Caller, chat: int = 7) -> Any:
    page = await conversations.list_all(caller.app.services, ADMIN, bot=await caller.chatbot())
    conversation = next(entry.id for entry in page.items if entry.user_id == str(chat))
    return await conversations.show(caller.app.services, ADMIN, conversation=conversation)


async def until_fault(caller: Caller, fault: str | None) -> None:
    async with asyncio.timeout(30):
        while (await listed(caller)).fault != fault:  # noqa: ASYNC110  # of the store
            await asyncio.sleep(0.01)


async def test_a_message_is_answered_and_confirmed_after_it_is_stored(bot: Caller, api: BotApi, clock: FakeClock) -> None:
    api.message(text="of yesterday", at=clock() // 1000 - 86_500)  # stored without an answer
    api.message(text="hello", at=clock() // 1000 - 60)
    await api.until(lambda: bool(api.sent) and api.unconfirmed() == 0)
    assert api.texts() == ["echo: hello"]
    view = await thread(bot)
    assert (view.conversation.channel, view.conversation.source_page_host) == ("telegram", "")
    # The time is Telegram's, not that of the arrival.
    assert view.messages[1].created_at == (clock() // 1000 - 60) * 1000
    assert api.of("deleteWebhook") == [{"drop_pending_updates": False}]
    assert all(set(call["allowed_updates"]) == {"message", "callback_query"} for call in api.of("getUpdates"))
    assert (await listed(bot)).seen_at == clock()
    shown = await perform(bot.app.services, ADMIN, "account.show", {"account": bot.account})
    assert shown.messages_used == 1
    usage = (await bot.get("/conversations", params={"channel": "telegram"})).json["data"]
    assert [entry["session_id"] for entry in usage] == ["telegram:7"]


async def test_updates_that_come_again_in_any_order_are_answered_once(bot: Caller, api: BotApi) -> None:
    api.times, api.shuffled = 3, True
    for number in range(30):
        api.message(chat=number % 5, text=f"message {number}")
    await api.until(lambda: len(api.sent) == 30 and api.unconfirmed() == 0)
    await asyncio.sleep(0.3)
    assert chats(api.sent) == {chat: [f"echo: message {n}" for n in range(chat, 30, 5)] for chat in range(5)}


async def test_updates_are_confirmed_where_telegram_counts_from_a_lower_number(bot: Caller, api: BotApi) -> None:
    api.message(text="before")
    await api.until(lambda: len(api.sent) == 1 and api.unconfirmed() == 0)
    api.count_anew()
    api.message(text="after a week")
    await api.until(lambda: len(api.sent) == 2 and api.unconfirmed() == 0)
    assert api.texts() == ["echo: before", "echo: after a week"]


async def test_a_store_that_fails_confirms_nothing(bot: Caller, api: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = FailingAtFirst(stored.store)
    monkeypatch.setattr(stored, "store", failing)
    monkeypatch.setattr("chatsvc.platforms.telegram.update_loop._STORE_PAUSE_S", 0.05)
    api.message(text="hello")
    await api.until(lambda: bool(api.sent))
    assert api.texts() == ["echo: hello"]
    assert failing.left < 0


async def test_a_question_back_has_buttons_whose_text_is_the_visitors(bot: Caller, api: BotApi, engine: ScriptedEngine) -> None:
    engine.script = lambda turn: Reply(f"heard: {turn.message}", choices=("Opening hours?", "Prices?") if turn.message == "hm" else ())
    api.message(text="hm")
    await api.until(lambda: bool(api.sent))
    assert api.sent[0].buttons == ["Opening hours?", "Prices?"]
    api.press(api.sent[0], 1)
    await api.until(lambda: len(api.sent) == 2 and bool(api.answered_queries))
    assert api.texts() == ["heard: hm", "heard: Prices?"]
    assert [message.content for message in (await thread(bot)).messages if message.role == "user"] == ["hm", "Prices?"]


async def test_a_form_is_answered_by_its_buttons(bot: Caller, api: BotApi) -> None:
    await offer_rooms(bot, ["Double room with a view of the sea and of the harbour", "Garden room"])
    for number, text in enumerate(["please call me back about a bike repair", None, "Jo Miller", "jo@example.com"], start=1):
        if text is None:  # the second room
            api.press(api.sent[-1], 1)
        else:
            api.message(text=text)
        await api.until(lambda count=number: len(api.sent) == count)  # type: ignore[misc]
    assert [message.buttons for message in api.sent[:2]] == [["Double room with a view of the sea and of the harbour", "Garden room"], []]
    assert "• Room: Garden room\n" in api.sent[3].text + "\n"
    texts = [message.content for message in (await thread(bot)).messages if message.role == "user"]
    assert texts == ["please call me back about a bike repair", "Garden room", "Jo Miller", "jo@example.com"]


async def test_more_choices_than_a_keyboard_holds_are_told_in_words(bot: Caller, api: BotApi) -> None:
    rooms = [f"Room {n}" for n in range(101)]
    await offer_rooms(bot, rooms)
    api.message(text="please call me back about a bike repair")
    await api.until(lambda: bool(api.sent))
    assert (api.sent[0].buttons, rooms[-1] in api.sent[0].text) == ([], True)
    api.message(text=rooms[-1])
    await api.until(lambda: len(api.sent) == 2)
    assert "your name" in api.sent[1].text


async def test_the_beginning_is_the_greeting_and_costs_nothing(bot: Caller, api: BotApi, engine: ScriptedEngine) -> None:
    await perform(bot.app.services, ADMIN, "bot.set", {"bot": bot.bot, "greeting": "Welcome to Acme", "hand_off": True, "language": "en"})
    api.message(text="/start from-the-poster")
    await api.until(lambda: bool(api.sent))
    assert (api.texts(), engine.turns) == (["Welcome to Acme"], [])
    assert api.sent[0].buttons == ["Talk to a person", "Call me back"]
    shown = await perform(bot.app.services, ADMIN, "account.show", {"account": bot.account})
    assert shown.messages_used == 0


async def test_what_is_no_text_gets_one_sentence_and_a_caption_is_text(bot: Caller, api: BotApi) -> None:
    api.message(text="good morning to all of you")
    api.message(photo=[{"file_id": "a"}])
    api.message(sticker={"file_id": "b"})
    api.message(photo=[{"file_id": "c"}], caption="What does this one cost?")
    await api.until(lambda: len(api.sent) == 3)
    assert [text[:10] for text in api.texts()] == ["echo: good", "I can only", "echo: What"]
    assert [message.content for message in (await thread(bot)).messages if message.role == "user"][1:3] == ["[photo]", "[sticker]"]


async def test_a_reply_that_takes_long_shows_that_it_is_being_written(
    bot: Caller, api: BotApi, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatsvc.platforms.telegram.pollers.TYPING_AFTER_S", 0.05)
    monkeypatch.setattr("chatsvc.platforms.telegram.pollers.TYPING_EVERY_S", 0.05)
    engine.gate = asyncio.Event()
    api.message(text="hello")
    await api.until(lambda: len(api.of("sendChatAction")) >= 2)
    assert api.of("sendChatAction")[0] == {"chat_id": 7, "action": "typing"}
    engine.gate.set()
    await api.until(lambda: bool(api.sent))
    count = len(api.of("sendChatAction"))
    await asyncio.sleep(0.2)
    assert len(api.of("sendChatAction")) <= count + 1


async def test_a_paused_or_removed_channel_is_not_polled_and_goes_on_where_it_was(bot: Caller, api: BotApi) -> None:
    await api.until(lambda: bool(api.of("getUpdates")))
    await act(bot, "pause")
    await asyncio.sleep(0.1)
    api.message(text="hello")
    asked = len(api.of("getUpdates"))
    await asyncio.sleep(0.3)
    assert (len(api.of("getUpdates")), api.unconfirmed()) == (asked, 1)
    await act(bot, "resume")
    await api.until(lambda: bool(api.sent))
    assert api.texts() == ["echo: hello"]
    await act(bot, "remove")
    await is_polled_no_more(api)


@pytest.mark.parametrize("kind", ["account", "bot"])
async def test_the_channel_of_what_was_deleted_is_polled_no_more(bot: Caller, api: BotApi, kind: str) -> None:
    await api.until(lambda: bool(api.of("getUpdates")))
    await perform(bot.app.services, ADMIN, f"{kind}.delete", {kind: bot.account if kind == "account" else bot.bot})
    await is_polled_no_more(api)


async def is_polled_no_more(api: BotApi) -> None:
    await asyncio.sleep(0.1)
    asked = len(api.calls)
    await asyncio.sleep(0.3)
    assert len(api.calls) == asked


@pytest.mark.sqlite  # doctor reads the file
async def test_a_token_that_is_refused_or_used_elsewhere_is_told_until_it_works(
    bot: Caller, api: BotApi, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pause in ("_REFUSED_PAUSE_S", "_ELSEWHERE_PAUSE_S"):
        monkeypatch.setattr(f"chatsvc.platforms.telegram.update_loop.{pause}", 0.05)
    await api.until(lambda: bool(api.of("getUpdates")))
    api.fail("getUpdates", *[Fault(401, "Unauthorized")] * 3)
    api.message(text="one")
    await until_fault(bot, "token_refused")
    assert (await listed(bot)).fault_at == clock()
    examined = await perform(bot.app.services, ADMIN, "doctor.run", {})
    assert ("channel_token_refused", {"bot": "Desk", "channel": "telegram"}) in [
        (finding.code, finding.facts) for finding in examined.findings
    ]
    await until_fault(bot, None)
    api.fail("getUpdates", *[Fault(409, "Conflict: terminated by other getUpdates request")] * 20)
    api.message(text="two")
    await until_fault(bot, "token_elsewhere")
    await until_fault(bot, None)
    await api.until(lambda: len(api.sent) == 2)


async def channel_findings(bot: Caller) -> list[tuple[str, Any]]:
    examined = await perform(bot.app.services, ADMIN, "doctor.run", {})
    return [(finding.code, finding.facts) for finding in examined.findings if finding.name == "channels"]


@pytest.mark.sqlite  # doctor reads the file
async def test_doctor_asks_about_the_token_before_a_poll_has_told(bot: Caller, api: BotApi) -> None:
    await api.until(lambda: bool(api.of("getUpdates")))
    assert await channel_findings(bot) == []
    # Polls are answered all the same.
    api.fail("getMe", Fault(401, "Unauthorized"))
    assert await channel_findings(bot) == [("channel_token_refused", {"bot": "Desk", "channel": "telegram"})]
    assert await channel_findings(bot) == []


@pytest.mark.sqlite  # doctor reads the file
async def test_doctor_names_a_platform_that_cannot_be_reached(bot: Caller, api: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    await api.until(lambda: bool(api.of("getUpdates")))
    api.fail("getMe", Fault(502, "Bad Gateway"))
    reason = "it answered with status 502"
    assert await channel_findings(bot) == [("channel_unreachable", {"channel": "telegram", "reason": reason})]
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        places = {"telegram": f"http://127.0.0.1:{closed.getsockname()[1]}", "whatsapp": api.url}
        monkeypatch.setattr(bot.app.services, "config", replace(bot.app.config, channels=places))
        ((code, facts),) = await channel_findings(bot)
    assert (code, facts["channel"]) == ("channel_unreachable", "telegram")
    assert "did not answer" in facts["reason"]
    assert TOKEN not in str(facts)


async def test_a_webhook_set_elsewhere_is_removed_without_dropping_updates(caller: Caller, api: BotApi) -> None:
    api.webhooks.add(TOKEN)
    api.message(text="before the bot was here")
    await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "telegram", "token": TOKEN})
    await api.until(lambda: bool(api.sent))
    assert api.webhooks == set()
    api.webhooks.add(TOKEN)
    api.fail("getUpdates", Fault(409, "Conflict: can't use getUpdates method while webhook is active"))
    api.message(text="hello")
    await api.until(lambda: len(api.sent) == 2)
    await api.until(lambda: len(api.of("deleteWebhook")) == 2)
    assert (await listed(caller)).fault is None


async def test_a_proxy_that_does_not_wait_for_updates_is_not_asked_without_a_pause(bot: Caller, api: BotApi) -> None:
    api.is_impatient = True
    # The call under way ends with this message.
    api.message(text="one")
    await api.until(lambda: len(api.sent) == 1)
    asked = len(api.of("getUpdates"))
    await asyncio.sleep(1.5)
    assert len(api.of("getUpdates")) <= asked + 3
    api.message(text="two")
    await api.until(lambda: len(api.sent) == 2)


async def test_a_busy_or_broken_platform_is_asked_again(bot: Caller, api: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    await api.until(lambda: bool(api.of("getUpdates")))
    monkeypatch.setattr("chatsvc.platforms.telegram.update_loop._LONGEST_PAUSE_S", 0.05)
    api.fail("getUpdates", Fault(429, "", {"retry_after": 1}), Fault(breaks=True), Fault(500), Fault(400, "Bad Request"))
    api.message(text="hello")
    await api.until(lambda: bool(api.sent) and not api.faults["getUpdates"])
    assert api.texts() == ["echo: hello"]


async def test_one_bots_dead_platform_delays_no_others(bot: Caller, api: BotApi, make_caller: Any) -> None:
    other, token = await make_caller(), "777:another-bot"
    api.tokens[token] = "another_bot"
    await perform(other.app.services, ADMIN, "channel.set", {"bot": other.bot, "channel": "telegram", "token": token})
    api.script = lambda call: Fault(delay_s=60.0) if call.token == TOKEN and call.method == "sendMessage" else None
    for chat in range(40):
        api.message(chat=chat, text="to the dead one")
    await api.until(lambda: len(api.of("sendMessage")) == 16)
    api.message(chat=1, text="hello", token=token)
    await api.until(lambda: any(message.token == token for message in api.sent))
    # The service need not wait for them at its end.
    await api.hang_up()


async def test_answers_beyond_the_limit_wait_their_turn(bot: Caller, api: BotApi, engine: ScriptedEngine) -> None:
    services = bot.app.services
    services.part(ChannelAnswers)._of_account = 1  # the limit of a test
    engine.gate = asyncio.Event()
    for chat in range(3):
        api.message(chat=chat, text="hello")
    await begun(engine, 1)
    await asyncio.sleep(0.2)
    assert len(engine.turns) == 1
    engine.gate.set()
    await api.until(lambda: len(api.sent) == 3)


async def test_an_answer_is_tried_again_while_the_store_cannot(bot: Caller, api: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = FailingAtFirst(channel_messages.answer)
    monkeypatch.setattr(channel_messages, "answer", failing)
    monkeypatch.setattr("chatsvc.services.messages.channel_messages.STORE_PAUSE_S", 0.05)
    api.message(text="hello")
    await api.until(lambda: bool(api.sent))
    assert failing.left < 0


# The reading of updates.

PRIVATE = {"chat": {"id": 7, "type": "private"}, "from": {"id": 7, "is_bot": False, "first_name": "Selin"}, "date": 100, "message_id": 5}
GROUP = {**PRIVATE, "chat": {"id": -50, "type": "supergroup"}}


UPDATES = rows("platforms/telegram_updates")[1:]
UPDATES += [["private", json.dumps({"text": text}), read, "-"] for text, read in (("a\0b\ud800", "ab?"), ("x" * 5000, "x" * 4096))]


@pytest.mark.parametrize(("chat", "content", "text", "kind"), UPDATES)
def test_a_message_to_the_bot_is_read_and_what_needs_no_answer_is_passed_over(chat: str, content: str, text: str, kind: str) -> None:
    given = json.loads(content)
    message = {**(GROUP if chat == "group" else PRIVATE), **given}
    read = updates.read(given if chat == "update" else {"update_id": 1, "message": message}, ME)
    if text == "-":
        assert read is None
        return
    reply_to = message.get("reply_to_message", {}).get("message_id")
    assert read == ReadMessage(1, message["chat"]["id"], text, None if kind == "-" else kind, 100_000, None, reply_to, "Selin", 7)


@pytest.mark.parametrize(
    ("query", "chat"),
    [
        ({"id": "q1", "data": "0"}, 0),
        ({"id": "q1", "game_short_name": "chess", "message": {"chat": {"id": 7}}}, 7),
        ({"id": "q1", "data": "0", "message": {"chat": {"id": 7}, "message_id": 3, "date": 0}}, 7),
        ({"id": "q1", "data": "0", "message": {"chat": {"id": 7}, "reply_markup": {"inline_keyboard": 5}}}, 7),
        ({"id": "q1", "data": "5", "message": {"chat": {"id": 7}, "reply_markup": {"inline_keyboard": [[{"callback_data": "0"}]]}}}, 7),
    ],
)
def test_a_button_whose_message_is_gone_is_answered_and_nothing_else(query: dict[str, Any], chat: int) -> None:
    read = updates.read({"update_id": 1, "callback_query": query}, ME)
    assert read == ReadMessage(1, chat, "", None, None, "q1")


async def test_a_button_whose_message_is_gone_waits_for_nothing(bot: Caller, api: BotApi) -> None:
    person = {"id": 7, "is_bot": False, "first_name": "Selin"}
    api.update(callback_query={"id": "q-old", "from": person, "message": {"chat": {"id": 7}, "message_id": 3, "date": 0}, "data": "0"})
    api.message(text="hello")
    await api.until(lambda: bool(api.sent) and bool(api.answered_queries))
    assert api.answered_queries == ["q-old"]
    assert [message.content for message in (await thread(bot)).messages if message.role == "user"] == ["hello"]


async def test_pollers_stop_at_once_while_the_store_is_read(caller: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    reading = asyncio.Event()

    async def hang(*_: object) -> list[object]:
        reading.set()
        await asyncio.sleep(3600)
        return []

    monkeypatch.setattr(caller.app.services.channels, "of_kind", hang)
    pollers = TelegramPollers(caller.app.services)
    pollers.start()
    await reading.wait()
    async with asyncio.timeout(LOOK_EVERY_S / 2):
        await pollers.stop()


async def test_a_group_that_becomes_a_supergroup_keeps_its_conversation(bot: Caller, api: BotApi) -> None:
    api.message(text=f"@{NAME} hello", chat=7, group=-5)
    await api.until(lambda: len(api.sent) == 1)
    api.message(chat=7, group=-5, migrate_to_chat_id=-1005)
    api.message(text=f"@{NAME} again", chat=7, group=-1005)
    await api.until(lambda: len(api.sent) == 2)
    assert [message.chat for message in api.sent] == [-5, -1005]
    assert [message.content for message in (await thread(bot, -1005)).messages] == ["hello", "echo: hello", "again", "echo: again"]


async def test_a_reply_follows_a_group_that_became_a_supergroup_meanwhile(bot: Caller, api: BotApi) -> None:
    moved = {"migrate_to_chat_id": -1005}
    api.fail("sendMessage", Fault(400, "Bad Request: group chat was upgraded to a supergroup chat", moved))
    api.message(text=f"@{NAME} hello", chat=7, group=-5)
    await api.until(lambda: bool(api.sent))
    assert [(message.chat, message.text) for message in api.sent] == [(-1005, "echo: hello")]


async def test_a_reply_goes_to_the_topic_that_was_written_in(bot: Caller, api: BotApi) -> None:
    for topic in (11, 12):
        api.message(text=f"@{NAME} in {topic}", chat=7, group=-1005, message_thread_id=topic, is_topic_message=True)
    api.message(text=f"@{NAME} in none", chat=7, group=-1005, message_thread_id=13)  # an answer to a message
    await api.until(lambda: len(api.sent) == 3)
    sent = sorted((call.get("message_thread_id", 0), call["text"]) for call in api.of("sendMessage"))
    assert sent == [(0, "echo: in none"), (11, "echo: in 11"), (12, "echo: in 12")]
