"""The team's group at Telegram: it is told of those who wait, and its answers reach the visitors."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import ClientSession, CookieJar

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.config.model import Notices, TeamNotices
from chatsvc.config.values import Secret
from chatsvc.domain.actors import ANONYMOUS
from chatsvc.outbound.egress import Egress
from chatsvc.outbound.posting import NotConnected
from chatsvc.platforms import PLATFORMS
from chatsvc.platforms.telegram import team
from chatsvc.platforms.telegram.client import MOST_UNITS, TelegramClient, utf16_units
from chatsvc.services.administration import perform
from chatsvc.services.conversations import conversations
from chatsvc.services.operations import system
from chatsvc.store import examination, handling
from chatsvc.store.database import Database
from chatsvc.store.handling import TeamNotice
from tests.conftest import Caller
from tests.dashboard.client import Client
from tests.fakes import ADMIN
from tests.platforms.bot_api import TOKEN, BotApi, Call, Fault, SentMessage

TEAM_TOKEN = "999:token-of-the-team"
GROUP = -1001
PUBLIC_URL = "https://chat.example.com"
PASSWORD = "violet staple harbour"
CALL = "I want to talk to a human being, please"


@pytest.fixture
def team_token() -> str:
    return TEAM_TOKEN


@pytest.fixture
def config(config: Config, api: BotApi, team_token: str, monkeypatch: pytest.MonkeyPatch) -> Config:
    """The configuration with Telegram on loopback and the team's group, which is told at once."""
    monkeypatch.setattr("chatsvc.platforms.telegram.pollers.TELL_EVERY_S", 0.01)
    api.tokens[TEAM_TOKEN] = "acme_team_bot"
    return replace(
        config,
        server=replace(config.server, public_url=PUBLIC_URL),
        channels={"telegram": api.url, "whatsapp": f"{api.url}/v26.0"},
        notices=Notices(team=TeamNotices(Secret(team_token), GROUP)),
    )


@pytest.fixture
async def bot(caller: Caller, api: BotApi) -> Caller:
    """The owner of a bot on Telegram that hands visitors off, in English."""
    await perform(caller.app.services, ADMIN, "bot.set", {"bot": caller.bot, "hand_off": True, "language": "en"})
    await perform(caller.app.services, ADMIN, "channel.set", {"bot": caller.bot, "channel": "telegram", "token": TOKEN})
    return caller


async def notice(api: BotApi) -> SentMessage:
    """Let a visitor call a person; return the group's notice."""
    api.message(text=CALL)
    await api.until(lambda: bool(api.texts(GROUP)))
    return next(message for message in api.sent if message.chat == GROUP)


def answer(api: BotApi, to: SentMessage, text: str | None = "Good morning, Ada here", **more: Any) -> None:
    content: dict[str, Any] = {
        "from": {"id": 55, "is_bot": False, "first_name": "Ada", "last_name": "Kaya"},
        "reply_to_message": {"message_id": to.id, "from": {"id": int(to.token.partition(":")[0]), "is_bot": True}},
    }
    api.message(text=text, token=to.token, group=GROUP, **content, **more)


async def test_the_group_is_told_once_and_an_answer_there_reaches_the_visitor(bot: Caller, api: BotApi) -> None:
    message = await notice(api)
    (conversation,) = (await conversations.list_all(bot.app.services, ADMIN, bot=await bot.chatbot())).items
    assert message.token == TEAM_TOKEN
    assert "Desk" in message.text
    assert CALL in message.text
    assert (message.buttons, message.urls) == (
        ["Open the conversation"],
        [f"{PUBLIC_URL}/conversations/{conversation.id}?account={bot.account}"],
    )
    api.times = 3
    answer(api, message)
    await api.until(lambda: len(api.texts()) == 2)
    assert api.texts()[1] == "Good morning, Ada here"
    await asyncio.sleep(0.3)
    thread = await conversations.show(bot.app.services, ADMIN, conversation=conversation.id)
    assert [(entry.role, entry.author) for entry in thread.messages if entry.role == "operator"] == [("operator", "Ada Kaya")]
    assert thread.conversation.handling == "operator"
    assert len(api.texts(GROUP)) == 1
    (record,) = [act for act in (await system.list_acts(bot.app.services, ADMIN)).items if act.operation == "conversation.reply"][:1]
    assert (record.actor.id, record.actor.name, record.via) == ("telegram 55", "Ada Kaya", "telegram")


async def test_what_cannot_be_passed_on_is_told_in_the_group(bot: Caller, api: BotApi) -> None:
    message = await notice(api)
    answer(api, message, None, photo=[{"file_id": "a"}])
    await api.until(lambda: len(api.texts(GROUP)) == 2)
    await perform(bot.app.services, ADMIN, "channel.pause", {"bot": bot.bot, "channel": "telegram"})
    answer(api, message)
    await api.until(lambda: len(api.texts(GROUP)) == 3)
    await perform(bot.app.services, ADMIN, "bot.set", {"bot": bot.bot, "language": "tr"})
    await perform(bot.app.services, ADMIN, "channel.remove", {"bot": bot.bot, "channel": "telegram"})
    answer(api, message)
    await api.until(lambda: len(api.texts(GROUP)) == 4)
    assert api.texts(GROUP)[1:] == [
        "Only written messages can be passed on.",
        "Not passed on: the channel is paused.",
        "Mesajınız ziyaretçiye iletilemedi.",
    ]


async def test_an_answer_after_the_visitor_was_erased_or_to_anything_else_is_left_alone(bot: Caller, api: BotApi) -> None:
    message = await notice(api)
    await perform(bot.app.services, ADMIN, "conversation.erase", {"user_id": "7", "bot": bot.bot})
    answer(api, message)
    answer(api, replace(message, id=4711))
    api.message(text="not in the group", token=TEAM_TOKEN)
    await api.until(lambda: api.unconfirmed(TEAM_TOKEN) == 0)
    assert len(api.texts(GROUP)) == 1
    assert (await conversations.list_all(bot.app.services, ADMIN, bot=await bot.chatbot())).items == []


async def test_many_who_wait_are_told_in_one_message(bot: Caller, api: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    untold = handling.untold

    async def all_at_once(db: Database, limit: int) -> list[TeamNotice]:
        waiting = await untold(db, limit)
        return waiting if len(waiting) == 6 else []

    monkeypatch.setattr(handling, "untold", all_at_once)
    for chat in range(1, 7):
        api.message(chat=chat, text=f"{CALL} ({chat})")
    await api.until(lambda: bool(api.texts(GROUP)))
    message = next(message for message in api.sent if message.chat == GROUP)
    assert message.text.startswith("6 visitors wait for your team:\n\n1. Desk (Telegram): “I want")
    assert message.text.endswith("\n\nOpen a conversation to answer.")
    assert message.buttons == [f"{number}. Desk" for number in range(1, 7)]
    waiting = (await conversations.list_all(bot.app.services, ADMIN, bot=await bot.chatbot())).items
    assert sorted(message.urls) == sorted(f"{PUBLIC_URL}/conversations/{conversation.id}?account={bot.account}" for conversation in waiting)
    answer(api, message)
    await api.until(lambda: len(api.texts(GROUP)) == 2)
    assert api.texts(GROUP)[1] == "Not passed on: that notice names several visitors. Open the conversation to answer."
    assert {
        conversation.handling for conversation in (await conversations.list_all(bot.app.services, ADMIN, bot=await bot.chatbot())).items
    } == {"waiting"}


def test_the_notice_of_many_fits_into_one_message() -> None:
    notice = TeamNotice(1, 2, "c" * 36, "a" * 36, "whatsapp", "a\nlong word " * 100, "🙂" * 200, "tr")
    text, buttons = team.worded([notice] * team.MOST_VISITORS, PLATFORMS, PUBLIC_URL)
    addresses = "\n".join(url for _, url in buttons)
    assert text.startswith("10 ziyaretçi ekibinizi bekliyor:\n\n1. 🙂")
    assert utf16_units(f"{text}\n\n{addresses}") <= MOST_UNITS


async def test_a_group_that_refuses_a_notice_is_told_once_it_takes_it(
    bot: Caller, api: BotApi, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("chatsvc.platforms.telegram.team._LONGEST_PAUSE_S", 0.1)
    # With the button and without it.
    is_group = {"chat_id": GROUP}.items()
    left = 4

    def refused(call: Call) -> Fault | None:
        nonlocal left
        if is_group <= call.parameters.items() and call.method == "sendMessage" and left:
            left -= 1
            return Fault(400, "Bad Request: chat not found")
        return None

    api.script = refused
    await notice(api)
    assert caplog.text.count("since the group was not told") == 2
    assert bot.bot


@pytest.mark.parametrize("fault", [Fault(429, "", {"retry_after": 0}), Fault(breaks=True)])
async def test_a_notice_is_tried_again_only_where_it_was_surely_not_sent(bot: Caller, api: BotApi, fault: Fault) -> None:
    api.script = lambda call: fault if call.parameters.get("chat_id") == GROUP and len(api.of("sendMessage")) <= 2 else None
    api.message(text=CALL)
    if fault.status:
        await api.until(lambda: bool(api.texts(GROUP)))
    else:
        await api.until(lambda: len([call for call in api.of("sendMessage") if call["chat_id"] == GROUP]) == 1)
        await asyncio.sleep(0.5)
        assert len([call for call in api.of("sendMessage") if call["chat_id"] == GROUP]) == 1


async def test_an_administrator_who_stays_anonymous_answers_in_the_name_of_the_group(bot: Caller, api: BotApi) -> None:
    message = await notice(api)
    content: dict[str, Any] = {
        "from": {"id": 1087968824, "is_bot": True, "first_name": "Group", "username": "GroupAnonymousBot"},
        "sender_chat": {"id": GROUP, "type": "supergroup", "title": "Front desk"},
        "reply_to_message": {"message_id": message.id, "from": {"id": int(message.token.partition(":")[0]), "is_bot": True}},
    }
    api.message(text="Good morning", token=message.token, group=GROUP, **content)
    await api.until(lambda: len(api.texts()) == 2)
    (conversation,) = (await conversations.list_all(bot.app.services, ADMIN, bot=await bot.chatbot())).items
    thread = await conversations.show(bot.app.services, ADMIN, conversation=conversation.id)
    assert [(entry.content, entry.author) for entry in thread.messages if entry.role == "operator"] == [("Good morning", "Front desk")]


class TestALimitOfTheGroup:
    """Telegram takes no further message to the group for a while, or cannot be reached."""

    async def test_the_time_that_telegram_names_is_waited_for(self, bot: Caller, api: BotApi) -> None:
        del bot
        is_group = {"chat_id": GROUP}.items()
        api.script = lambda call: Fault(429, "", {"retry_after": 3600}) if is_group <= call.parameters.items() else None
        api.message(text=CALL)
        await api.until(lambda: any(call["chat_id"] == GROUP for call in api.of("sendMessage")))
        await asyncio.sleep(0.5)
        assert len([call for call in api.of("sendMessage") if call["chat_id"] == GROUP]) == 1

    async def test_the_pauses_grow_while_it_cannot_be_reached(
        self, bot: Caller, api: BotApi, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        call = TelegramClient.call

        async def unreachable(client: TelegramClient, method: str, parameters: Any, *more: Any) -> Any:
            if parameters.get("chat_id") == GROUP:
                raise NotConnected("ConnectionRefusedError")
            return await call(client, method, parameters, *more)

        del bot
        monkeypatch.setattr(TelegramClient, "call", unreachable)
        api.message(text=CALL)
        await api.until(lambda: "a notice waits" in caplog.text)
        await asyncio.sleep(0.5)
        assert caplog.text.count("a notice waits") == 1
        monkeypatch.undo()
        await api.until(lambda: bool(api.texts(GROUP)))


class TestOneBotForBoth:
    """The bot in the team's group is a channel too: one poller for both."""

    @pytest.fixture
    def team_token(self) -> str:
        return TOKEN

    async def test_the_group_is_no_visitor(self, bot: Caller, api: BotApi) -> None:
        message = await notice(api)
        answer(api, message)
        await api.until(lambda: len(api.texts()) == 2)
        api.message(text=f"@{api.tokens[TOKEN]} when do you open?", group=GROUP)
        await api.until(lambda: api.unconfirmed() == 0)
        assert [
            conversation.user_id for conversation in (await conversations.list_all(bot.app.services, ADMIN, bot=await bot.chatbot())).items
        ] == ["7"]
        assert {call.token for call in api.calls if call.method == "getUpdates"} == {TOKEN}

    async def test_a_paused_channel_leaves_its_messages_at_telegram(self, bot: Caller, api: BotApi) -> None:
        await perform(bot.app.services, ADMIN, "channel.pause", {"bot": bot.bot, "channel": "telegram"})
        api.message(chat=8, text="hello")
        await asyncio.sleep(0.5)
        assert api.unconfirmed() == 1
        await perform(bot.app.services, ADMIN, "channel.resume", {"bot": bot.bot, "channel": "telegram"})
        await api.until(lambda: api.texts(8) == ["echo: hello"])


class TestWithoutAnAddress:
    """The service has no public address, which Telegram refuses behind a button."""

    @pytest.fixture
    def config(self, config: Config) -> Config:
        return replace(config, server=replace(config.server, public_url="http://127.0.0.1:8080"))

    @pytest.mark.usefixtures("bot")
    async def test_the_address_stands_in_the_text(self, api: BotApi) -> None:
        message = await notice(api)
        assert message.buttons == []
        assert "http://127.0.0.1:8080/conversations/" in message.text

    @pytest.mark.dashboard
    async def test_the_system_page_shows_what_is_wrong_with_the_group(self, app: App, api: BotApi) -> None:
        api.left.add(GROUP)
        invitation = await perform(app.services, ADMIN, "operator.add", {"email": "boss@example.com", "admin": True, "language": "tr"})
        await perform(
            app.services, ANONYMOUS, "password.set", {"token": invitation.link.rpartition("/")[2], "name": "Nil Kaya", "password": PASSWORD}
        )
        async with ClientSession(cookie_jar=CookieJar(unsafe=True)) as session:
            client = Client(app, session)
            await client.post("/login", {"email": "boss@example.com", "password": PASSWORD, "next": "/"})
            await client.post("/system/examination", {})
            shown = await client.get("/system")
        assert "notices.telegram ayarındaki bot -1001 numaralı gruba ulaşamıyor" in shown.text
        assert "Botu gruba ekleyin" in shown.text


async def findings(config: Config, *, token: str | None = TEAM_TOKEN, egress: Egress) -> list[tuple[str, dict[str, object]]]:
    """Examine the group as doctor does, in a thread."""
    examined = replace(config, notices=Notices(team=TeamNotices(Secret(token) if token else None, GROUP)))
    faults = await asyncio.to_thread(lambda: list(team.examine(examined, None, egress)))
    return [(finding.code, dict(finding.facts)) for finding in faults]


async def test_doctor_names_a_refused_token_and_a_group_without_the_bot(config: Config, api: BotApi) -> None:
    egress = Egress()
    assert await findings(config, egress=egress) == [("team_good", {})]
    assert egress.opened["telegram"] >= 1
    assert api.sent == []
    assert await findings(config, token=None, egress=egress) == [("team_without_token", {})]
    assert await findings(config, token="1:revoked", egress=egress) == [("team_token_refused", {"answer": "telegram_401: Unauthorized"})]
    api.left.add(GROUP)
    refused = ("team_chat_refused", {"chat": GROUP, "answer": "telegram_400: Bad Request: chat not found"})
    assert await findings(config, egress=egress) == [refused]
    api.fail("getMe", Fault(502), Fault(429, "", {"retry_after": 7}))
    assert await findings(config, egress=egress) == [("team_unreachable", {"reason": "telegram_502"})]
    assert await findings(config, egress=egress) == [("team_unreachable", {"reason": "rate_limited: 7 s"})]
    await api.hang_up()
    assert await findings(config, egress=egress) == [("team_unreachable", {"reason": "ConnectionRefusedError"})]
    assert await asyncio.to_thread(lambda: list(team.examine(replace(config, notices=Notices()), None, egress))) == []


@pytest.mark.sqlite  # doctor reads the file
async def test_doctor_names_a_token_that_another_program_polls(
    bot: Caller, api: BotApi, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatsvc.platforms.telegram.update_loop._ELSEWHERE_PAUSE_S", 0.05)
    taken = True
    api.script = lambda call: (
        Fault(409, "Conflict: terminated by other getUpdates request")
        if taken and call.method == "getUpdates" and call.token == TEAM_TOKEN
        else None
    )

    async def noted() -> str | None:
        result = await asyncio.to_thread(examination.examine, config.data_dir / "chatsvc.db", frozenset(), 0)
        return result.team_fault

    async def until_noted(fault: str | None) -> None:
        async with asyncio.timeout(30):
            while await noted() != fault:  # noqa: ASYNC110  # of the store
                await asyncio.sleep(0.05)

    await until_noted("token_elsewhere")
    examined = await perform(bot.app.services, ADMIN, "doctor.run", {})
    assert "notices_token_elsewhere" in [finding.code for finding in examined.findings]
    taken = False
    await until_noted(None)
    examined = await perform(bot.app.services, ADMIN, "doctor.run", {})
    assert "notices_token_elsewhere" not in [finding.code for finding in examined.findings]


class TestWithoutAToken:
    """The variable of the token is not set: the service runs, and says that nobody is told."""

    @pytest.fixture
    def config(self, config: Config) -> Config:
        return replace(config, notices=Notices(team=TeamNotices(None, GROUP)))

    async def test_nobody_is_told_and_the_log_says_so(self, caplog: pytest.LogCaptureFixture, bot: Caller, api: BotApi) -> None:
        assert "notices.telegram: there is no token" in next(record.getMessage() for record in caplog.get_records("setup"))
        api.message(text=CALL)
        await api.until(lambda: bool(api.texts()))
        assert api.texts(GROUP) == []
        assert bot.bot
