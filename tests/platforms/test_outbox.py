"""Messages on their way to a platform: each sent at most once, in order, and its outcome kept."""

import asyncio
import ssl
from dataclasses import replace

import pytest

from chatsvc.config import Config
from chatsvc.delivery import queue as delivery
from chatsvc.domain.channels import NewMessage
from chatsvc.domain.rich_text import split
from chatsvc.engines import Reply
from chatsvc.outbound import posting
from chatsvc.outbound.posting import NotConnected, RetryLater
from chatsvc.platforms.telegram.client import TelegramClient, utf16_units
from chatsvc.services.administration import perform
from chatsvc.services.messages import channel_messages, outbox
from chatsvc.services.messages.outbox import Outbox
from chatsvc.store import outbox as stored
from chatsvc.store.database import Connection
from chatsvc.store.outbox import OutgoingMessage
from tests.conftest import Caller
from tests.fakes import ADMIN, FailingAtFirst, FakeClock, ScriptedEngine
from tests.platforms.bot_api import TOKEN, BotApi, Fault
from tests.platforms.conftest import Visitor
from tests.store.inspection import execute
from tests.tables import rows


@pytest.fixture
def config(config: Config, api: BotApi) -> Config:
    return replace(config, channels={"telegram": api.url, "whatsapp": f"{api.url}/v26.0"})


class Chat(Visitor):
    """A visitor's chat with a bot, one layer below the platform's updates."""

    channel = "telegram"

    def wake(self) -> None:
        """Look for messages to send, as the service does every few seconds."""
        self.services.part(Outbox).wake(f"telegram {self.caller.bot}")

    async def deliveries(self) -> list[tuple[str, str | None, str | None]]:
        """Text, delivery state and error of what was written to the visitor."""
        return [(message.content, message.delivery, message.error) for message in (await self.thread()).messages if message.role != "user"]

    async def until(self, *states: str) -> list[tuple[str, str | None, str | None]]:
        """Wait until the messages to the visitor have these delivery states; return them."""
        async with asyncio.timeout(30):
            while [state for _, state, _ in await self.deliveries()] != list(states):  # noqa: ASYNC110  # of the store
                await asyncio.sleep(0.01)
        return await self.deliveries()

    async def until_error(self, error: str) -> None:
        """Wait until the last message to the visitor has an error."""
        async with asyncio.timeout(30):
            while (await self.deliveries())[-1][2] != error:  # noqa: ASYNC110  # of the store
                await asyncio.sleep(0.01)


@pytest.fixture
async def chat(caller: Caller, api: BotApi, clock: FakeClock) -> Chat:
    """A visitor of a bot with an active Telegram channel."""
    await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "telegram", "token": TOKEN})
    return Chat(caller, clock, "7")


async def test_messages_of_a_conversation_keep_their_order_and_others_do_not_wait(chat: Chat, api: BotApi, caller: Caller) -> None:
    other = Chat(caller, chat.clock, "8")
    api.fail("sendMessage", Fault(delay_s=0.3))
    for n in range(3):
        await chat.say(f"message {n}")
    await other.say("hello")
    await other.until("sent")
    await chat.until("sent", "sent", "sent")
    assert api.texts(7) == [f"echo: message {n}" for n in range(3)]
    assert api.texts(8) == ["echo: hello"]


@pytest.mark.parametrize(
    ("fault", "delivery", "error", "accepted"),
    [
        (Fault(403, "Forbidden: bot was blocked by the user"), "failed", "telegram_403", 0),
        (Fault(502, "Bad Gateway", before=False), "unknown", "telegram_502", 1),
        (Fault(302, "Found"), "unknown", "telegram_302", 0),
        (Fault(200, raw=b"<html>a proxy</html>"), "unknown", "telegram_200", 0),
        (Fault(200, raw=b'{"ok": true, "result": {}}'), "unknown", "telegram_bad_answer", 0),
        (Fault(200, raw=b"x" * 5_000_000), "unknown", "telegram_answer_too_long", 0),
        (Fault(breaks=True, before=False), "unknown", "connection_broken", 1),
    ],
)
async def test_a_refusal_fails_and_an_unclear_outcome_is_unknown_and_not_sent_again(
    chat: Chat, api: BotApi, fault: Fault, delivery: str, error: str, accepted: int
) -> None:
    api.fail("sendMessage", fault)
    await chat.say("one")
    await chat.until(delivery)
    await chat.say("two")
    assert await chat.until(delivery, "sent") == [("echo: one", delivery, error), ("echo: two", "sent", None)]
    assert api.texts() == ["echo: one"] * accepted + ["echo: two"]


async def test_a_time_out_after_the_request_is_unknown(chat: Chat, api: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chatsvc.platforms.telegram.client.TelegramClient.call.__defaults__", (0.2,))
    api.fail("sendMessage", Fault(delay_s=1.0))
    await chat.say("hello")
    assert await chat.until("unknown") == [("echo: hello", "unknown", "timeout")]


async def test_a_refused_connection_is_tried_again_for_ten_minutes(chat: Chat, api: BotApi, clock: FakeClock) -> None:
    await api.hang_up()
    await chat.say("hello")
    await chat.until_error("not_connected")
    assert (await chat.deliveries())[0][1] == "queued"
    await api.listen()
    await chat.until("sent")
    await api.hang_up()
    await chat.say("again")
    await chat.until_error("not_connected")
    clock.advance(600)
    await stored.waiting(chat.services.db, clock())
    assert (await chat.deliveries())[-1] == ("echo: again", "failed", "not_connected")
    assert api.texts() == ["echo: hello"]


async def test_a_paused_channel_keeps_its_messages(chat: Chat, api: BotApi) -> None:
    services, channel = chat.services, {"bot": chat.caller.bot, "channel": "telegram"}
    api.fail("sendMessage", Fault(429, "", {"retry_after": 3}))
    await chat.say("hello")
    await api.until(lambda: len(api.of("sendMessage")) == 1)
    await perform(services, ADMIN, "channel.pause", channel)
    await asyncio.sleep(3.2)
    await chat.until("queued")
    await perform(services, ADMIN, "channel.resume", channel)
    chat.wake()
    await chat.until("sent")
    assert len(api.of("sendMessage")) == 2


async def test_a_message_that_nobody_could_try_fails_after_a_day(chat: Chat, api: BotApi, clock: FakeClock) -> None:
    await chat.services.part(Outbox).close()
    await chat.say("hello there, good morning")
    clock.advance(86_399)
    assert await stored.waiting(chat.services.db, clock()) == [f"telegram {chat.caller.bot}"]
    clock.advance(1)
    await stored.waiting(chat.services.db, clock())
    ((_, delivery, error),) = await chat.deliveries()
    assert (delivery, error) == ("failed", "expired")
    assert api.sent == []


async def test_a_platform_that_asks_to_wait_for_a_day_holds_up_no_removal(chat: Chat, api: BotApi) -> None:
    api.fail("sendMessage", Fault(429, "", {"retry_after": 86_400}))
    await chat.say("hello")
    await chat.until_error("rate_limited")
    await chat.say("are you there?")
    await perform(chat.services, ADMIN, "channel.remove", {"bot": chat.caller.bot, "channel": "telegram"})
    chat.wake()
    assert {error for _, _, error in await chat.until("failed", "failed")} == {"channel_removed"}


async def test_another_account_at_the_platform_does_not_wait_for_the_first(chat: Chat, api: BotApi) -> None:
    await chat.say("hello")
    await chat.until("sent")
    api.fail("sendMessage", Fault(429, "", {"retry_after": 86_400}))
    await chat.say("are you there?")
    await chat.until_error("rate_limited")
    api.tokens = {"99:another": "other_desk_bot"}
    await perform(chat.services, ADMIN, "channel.set", {"bot": chat.caller.bot, "channel": "telegram", "token": "99:another"})
    chat.wake()
    await chat.until("sent", "sent")
    assert [message.token for message in api.sent] == [TOKEN, "99:another"]


async def test_a_long_reply_is_sent_in_parts_that_are_not_repeated(chat: Chat, api: BotApi, engine: ScriptedEngine) -> None:
    text = " ".join(f"Word{n} 🙂." for n in range(450))
    engine.script = lambda _: Reply(text, choices=("yes", "no"))
    api.script = lambda call: (
        Fault(429, "", {"retry_after": 1}) if len(api.of("sendMessage")) == 2 and call.method == "sendMessage" else None
    )
    await chat.say("hello")
    await chat.until("sent")
    assert " ".join(api.texts()) == text
    assert [message.buttons for message in api.sent] == [[], ["yes", "no"]]
    assert len(api.of("sendMessage")) == 3


async def test_what_was_in_flight_when_the_process_ended_is_unknown_and_never_sent(chat: Chat, api: BotApi) -> None:
    api.fail("sendMessage", Fault(429, "", {"retry_after": 30}))
    await chat.say("hello")
    await chat.until_error("rate_limited")  # the outcome is written
    await execute(chat.caller.app, "UPDATE messages SET in_flight = 1, node = NULL WHERE outbox IS NOT NULL")
    # As the next process does.
    later = outbox.Outbox(replace(chat.services, platforms={}))
    await later.start()
    await later.close()
    assert await chat.until("unknown") == [("echo: hello", "unknown", "interrupted")]
    assert await stored.waiting(chat.services.db, chat.services.clock()) == []
    assert api.sent == []


async def test_the_end_of_the_service_waits_for_what_is_under_way_and_leaves_the_rest(
    chat: Chat, api: BotApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    send, go_on = TelegramClient.send, asyncio.Event()

    async def held(self: TelegramClient, part: OutgoingMessage) -> str:
        name = await send(self, part)
        await go_on.wait()
        return name

    monkeypatch.setattr(TelegramClient, "send", held)
    await chat.say("one")
    await api.until(lambda: len(api.sent) == 1)
    await chat.say("two")
    closing = asyncio.create_task(chat.services.part(Outbox).close())
    await api.until(lambda: chat.services.part(Outbox).stopping)
    go_on.set()
    await closing
    assert await chat.deliveries() == [("echo: one", "sent", None), ("echo: two", "queued", None)]
    assert api.texts() == ["echo: one"]


async def test_an_unexpected_fault_of_a_sender_is_unknown(chat: Chat, api: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: object) -> str:
        raise RuntimeError("a fault of the program")

    monkeypatch.setattr("chatsvc.platforms.telegram.client.TelegramClient.send", broken)
    await chat.say("hello")
    assert await chat.until("unknown") == [("echo: hello", "unknown", "internal_error")]


async def test_an_outcome_that_the_store_cannot_take_is_written_later(chat: Chat, api: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = FailingAtFirst(stored.settle)
    monkeypatch.setattr(stored, "settle", failing)
    monkeypatch.setattr(delivery, "STORE_PAUSE_S", 0.01)
    await chat.say("hello")
    await chat.until("sent")
    assert api.texts() == ["echo: hello"]
    assert failing.left < 0


async def test_a_conversation_that_must_wait_delays_no_other(
    chat: Chat, api: BotApi, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    send, refused = TelegramClient.send, 0

    async def busy(self: TelegramClient, part: OutgoingMessage) -> str:
        nonlocal refused
        if part.user_id == "7" and not refused:
            refused += 1
            raise RetryLater("pair_limited", 3.0, whole=False)
        return await send(self, part)

    monkeypatch.setattr(TelegramClient, "send", busy)
    other = Chat(caller, chat.clock, "8")
    await chat.say("one")
    await chat.until_error("pair_limited")
    await chat.say("two")
    await other.say("hello")
    await other.until("sent")
    assert [state for _, state, _ in await chat.deliveries()] == ["queued", "queued"]
    await chat.until("sent", "sent")
    assert [message.text for message in api.sent] == ["echo: hello", "echo: one", "echo: two"]


async def test_the_end_of_the_service_between_two_parts_keeps_the_rest_for_the_next_start(
    chat: Chat, api: BotApi, engine: ScriptedEngine
) -> None:
    text = " ".join(f"Word{n} 🙂." for n in range(450))
    engine.script = lambda _: Reply(text)
    api.send_delay_s = 0.3
    await chat.say("hello")
    await api.until(lambda: len(api.sent) == 1)
    await chat.services.part(Outbox).close()
    assert [state for _, state, _ in await chat.deliveries()] == ["queued"]
    later = outbox.Outbox(chat.services)
    await later.start()
    await later.look()
    await chat.until("sent")
    await later.close()
    assert " ".join(api.texts()) == text


async def test_a_text_without_any_part_fails(chat: Chat, api: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TelegramClient, "parts", lambda *_: [])
    await chat.say("hello")
    assert await chat.until("failed") == [("echo: hello", "failed", "empty")]
    assert api.sent == []


async def queued(chat: Chat, *others: Chat) -> list[int]:
    """Let visitors write while nothing is sent; return the numbers of the messages to them."""
    await chat.services.part(Outbox).close()
    for visitor in (chat, *others):
        await visitor.say("hello there, good morning")
    return [number for (number,) in await execute(chat.caller.app, "SELECT number FROM messages WHERE outbox IS NOT NULL ORDER BY number")]


@pytest.mark.parametrize("error", ["rate_limited", "pair_limited"])
async def test_a_limit_of_the_platform_begins_the_ten_minutes_of_all_and_one_of_a_conversation_its_own(
    chat: Chat, caller: Caller, clock: FakeClock, error: str
) -> None:
    other, queue = Chat(caller, chat.clock, "8"), f"telegram {caller.bot}"
    tried, _ = await queued(chat, other)
    now, blocked = clock(), queue if error == "rate_limited" else None

    def put_back(connection: Connection) -> None:
        stored.mark(connection, [tried], None)
        stored.put_back(connection, tried, now, error, blocked=blocked)

    await chat.services.db.write(put_back)
    clock.advance(599)
    assert await stored.waiting(chat.services.db, clock()) == [queue]
    clock.advance(1)
    await stored.waiting(chat.services.db, clock())
    assert [(state, reason) for _, state, reason in await chat.deliveries()] == [("failed", error)]
    assert [state for _, state, _ in await other.deliveries()] == ["failed" if blocked else "queued"]


async def test_messages_wait_while_the_store_cannot_mark_them(chat: Chat, api: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = FailingAtFirst(stored.mark)
    monkeypatch.setattr(stored, "mark", failing)
    monkeypatch.setattr(delivery, "STORE_PAUSE_S", 0.01)
    await chat.say("hello")
    await chat.until("sent")
    assert (api.texts(), failing.left) == (["echo: hello"], -1)


@pytest.mark.parametrize("raw", [b'{"ok": false, "parameters": {"retry_after": %b}}' % (b"9" * 400), b"<html>busy</html>"])
async def test_a_platform_that_is_busy_and_says_nonsense_is_obeyed(chat: Chat, api: BotApi, raw: bytes) -> None:
    api.fail("sendMessage", Fault(429, raw=raw))
    await chat.say("hello")
    await chat.until_error("rate_limited")
    assert [state for _, state, _ in await chat.deliveries()] == ["queued"]


@pytest.mark.parametrize(
    ("pause", "seconds"), [(7, 7), (0.5, 0.5), (10**400, 86_400), (float("inf"), 86_400), (-1, 5), (float("nan"), 5), (True, 5), ("7", 5)]
)
def test_the_time_for_which_a_platform_asks(pause: object, seconds: float) -> None:
    assert posting.retry_after_s(pause) == seconds


async def test_without_readable_certificates_nothing_is_sent(chat: Chat, api: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> ssl.SSLContext:
        raise ssl.SSLError("no certificate or crl found")

    monkeypatch.setattr("chatsvc.outbound.posting.client_context", broken)
    client = TelegramClient(chat.services.egress, api.url.replace("http:", "https:"), TOKEN)
    with pytest.raises(NotConnected, match="SSLError"):
        await client.call("getMe", {})


async def test_messages_that_wait_are_answered_by_their_own_times(chat: Chat, api: BotApi, clock: FakeClock) -> None:
    now = clock()
    arrived = [
        NewMessage(chat.caller.account, chat.caller.bot, "telegram", "7", text, text, now - age)
        for text, age in (("third", 0), ("first", 2000), ("second", 1000))
    ]
    turns = await channel_messages.receive(chat.services, *arrived)
    await asyncio.gather(*(channel_messages.answer(chat.services, turn) for turn in turns if turn))
    await chat.until("sent", "sent", "sent")
    assert api.texts() == ["echo: first", "echo: second", "echo: third"]


@pytest.mark.parametrize(
    ("text", "most", "parts"),
    [
        *rows("platforms/divided_texts"),
        ("e\u0301" * 3, "3", "e\u0301|e\u0301|e\u0301"),
        ("\u0301" * 200, "150", "\u0301" * 150 + "|" + "\u0301" * 50),
    ],
)
def test_a_text_is_divided_where_it_reads_best(text: str, most: str, parts: str) -> None:
    assert split(text, int(most), utf16_units) == [part for part in parts.split("|") if part]
