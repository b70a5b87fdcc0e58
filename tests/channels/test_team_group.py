"""The team's group at Telegram: it is told of those who wait, and its answers reach the visitors."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from chatsvc.config import Config
from chatsvc.config.model import Channels, Notices, Secret, TelegramNotices
from chatsvc.usecases import audit, conversations
from chatsvc.usecases.administration import perform
from tests.channels.bot_api import TOKEN, BotApi, Fault, SentMessage
from tests.conftest import Caller
from tests.fakes import ADMIN

TEAM_TOKEN = "999:token-of-the-team"
GROUP = -1001
PUBLIC_URL = "https://chat.example.com"
CALL = "I want to talk to a human being, please"


@pytest.fixture
def team_token() -> str:
    """The token of the bot in the team's group."""
    return TEAM_TOKEN


@pytest.fixture
def config(config: Config, api: BotApi, team_token: str) -> Config:
    """The configuration with Telegram on loopback and the team's group."""
    api.tokens[TEAM_TOKEN] = "acme_team_bot"
    return replace(
        config,
        server=replace(config.server, public_url=PUBLIC_URL),
        channels=Channels(api.url, f"{api.url}/v26.0"),
        notices=Notices(telegram=TelegramNotices(Secret(team_token), GROUP)),
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
    return next(one for one in api.sent if one.chat == GROUP)


def answer(api: BotApi, to: SentMessage, text: str | None = "Good morning, Ada here", **more: Any) -> None:
    """Let a colleague answer a message in the group."""
    content: dict[str, Any] = {
        "from": {"id": 55, "is_bot": False, "first_name": "Ada", "last_name": "Kaya"},
        "reply_to_message": {"message_id": to.id, "from": {"id": int(to.token.partition(":")[0]), "is_bot": True}},
    }
    api.message(text=text, token=to.token, group=GROUP, **content, **more)


async def test_the_group_is_told_once_and_an_answer_there_reaches_the_visitor(bot: Caller, api: BotApi) -> None:
    told = await notice(api)
    (found,) = (await conversations.list_all(bot.app.services, ADMIN, bot=bot.bot)).items
    assert told.token == TEAM_TOKEN
    assert "Desk" in told.text
    assert CALL in told.text
    assert (told.buttons, told.urls) == (["Open the conversation"], [f"{PUBLIC_URL}/conversations/{found.id}?account={bot.account}"])
    api.times = 3
    answer(api, told)
    await api.until(lambda: len(api.texts()) == 2)
    assert api.texts()[1] == "Good morning, Ada here"
    await asyncio.sleep(0.3)
    thread = await conversations.show(bot.app.services, ADMIN, conversation=found.id)
    assert [(one.role, one.author) for one in thread.messages if one.role == "operator"] == [("operator", "Ada Kaya")]
    assert thread.conversation.handling == "operator"
    assert len(api.texts(GROUP)) == 1
    (record,) = [one for one in (await audit.list_all(bot.app.services, ADMIN)).items if one.operation == "conversation.reply"][:1]
    assert (record.actor.id, record.actor.name, record.via) == ("telegram 55", "Ada Kaya", "telegram")


async def test_what_cannot_be_passed_on_is_told_in_the_group(bot: Caller, api: BotApi) -> None:
    told = await notice(api)
    answer(api, told, None, photo=[{"file_id": "a"}])
    await api.until(lambda: len(api.texts(GROUP)) == 2)
    await perform(bot.app.services, ADMIN, "channel.pause", {"bot": bot.bot, "channel": "telegram"})
    answer(api, told)
    await api.until(lambda: len(api.texts(GROUP)) == 3)
    await perform(bot.app.services, ADMIN, "bot.set", {"bot": bot.bot, "language": "tr"})
    await perform(bot.app.services, ADMIN, "channel.remove", {"bot": bot.bot, "channel": "telegram"})
    answer(api, told)
    await api.until(lambda: len(api.texts(GROUP)) == 4)
    assert api.texts(GROUP)[1:] == [
        "Only written messages can be passed on.",
        "Not passed on: the channel is paused.",
        "Mesajınız ziyaretçiye iletilemedi.",
    ]


async def test_an_answer_after_the_visitor_was_erased_or_to_anything_else_is_left_alone(bot: Caller, api: BotApi) -> None:
    told = await notice(api)
    await perform(bot.app.services, ADMIN, "conversation.erase", {"user_id": "7", "bot": bot.bot})
    answer(api, told)
    answer(api, replace(told, id=4711))
    api.message(text="not in the group", token=TEAM_TOKEN)
    await api.until(lambda: api.unconfirmed(TEAM_TOKEN) == 0)
    assert len(api.texts(GROUP)) == 1
    assert (await conversations.list_all(bot.app.services, ADMIN, bot=bot.bot)).items == []


@pytest.mark.parametrize("fault", [Fault(429, "", {"retry_after": 0}), Fault(breaks=True)])
async def test_a_notice_is_tried_again_only_where_it_was_surely_not_sent(bot: Caller, api: BotApi, fault: Fault) -> None:
    api.script = lambda call: fault if call.parameters.get("chat_id") == GROUP and len(api.of("sendMessage")) <= 2 else None
    api.message(text=CALL)
    if fault.status:
        await api.until(lambda: bool(api.texts(GROUP)))
    else:
        await api.until(lambda: len([one for one in api.of("sendMessage") if one["chat_id"] == GROUP]) == 1)
        await asyncio.sleep(2.5)
        assert len([one for one in api.of("sendMessage") if one["chat_id"] == GROUP]) == 1


class TestOneBotForBoth:
    """The bot in the team's group is a channel too: one poller for both."""

    @pytest.fixture
    def team_token(self) -> str:
        """See above."""
        return TOKEN

    async def test_the_group_is_no_visitor(self, bot: Caller, api: BotApi) -> None:
        told = await notice(api)
        answer(api, told)
        await api.until(lambda: len(api.texts()) == 2)
        api.message(text=f"@{api.tokens[TOKEN]} when do you open?", group=GROUP)
        await api.until(lambda: api.unconfirmed() == 0)
        assert [one.user_id for one in (await conversations.list_all(bot.app.services, ADMIN, bot=bot.bot)).items] == ["7"]
        assert {call.token for call in api.calls if call.method == "getUpdates"} == {TOKEN}


class TestWithoutAnAddress:
    """The service has no public address, which Telegram refuses behind a button."""

    @pytest.fixture
    def config(self, config: Config) -> Config:
        """See above."""
        return replace(config, server=replace(config.server, public_url="http://127.0.0.1:8080"))

    @pytest.mark.usefixtures("bot")
    async def test_the_address_stands_in_the_text(self, api: BotApi) -> None:
        told = await notice(api)
        assert told.buttons == []
        assert "http://127.0.0.1:8080/conversations/" in told.text
