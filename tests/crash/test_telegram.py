"""kill -9 while Telegram's visitors are answered, with updates repeated in any order: no message is lost, no reply is sent twice."""

import asyncio
import os
from itertools import cycle
from pathlib import Path

import pytest

from tests.crash.channel_torture import PATIENCE_S, ChannelTorture, echo
from tests.engines.model_server import ModelServer
from tests.platforms.bot_api import TOKEN, BotApi

KILLS = int(os.environ.get("CHATSVC_CRASH", "2"))


class TelegramTorture(ChannelTorture[BotApi]):
    """An installation with a bot on Telegram, and its visitors' messages."""

    stored = """
        SELECT c.user_id, m.role, m.content, m.delivery, m.error FROM messages m JOIN conversations c ON c.number = m.conversation
        ORDER BY m.number
    """

    def __init__(self, folder: Path, api: BotApi, model: ModelServer, messages: int, chats: int) -> None:
        super().__init__(folder, api, model, f"telegram: {{api_url: '{api.url}'}}", messages, range(1, chats + 1))

    def begin(self) -> None:
        """Set the channel, and let every visitor write."""
        token = self.site.folder / "token"
        token.write_text(TOKEN)
        self.site.json("channel", "set", self.bot, "telegram", "--token-file", token)
        for chat, text in zip(cycle(self.addresses), self.texts, strict=False):
            self.api.message(chat=chat, text=text)

    async def settle(self) -> None:
        """Wait until nothing is left to do, and Telegram has nothing to deliver."""
        await self.api.until(lambda: not self.api.undelivered(), PATIENCE_S)
        await super().settle()


@pytest.mark.usefixtures("unmeasured_processes")
@pytest.mark.slow
async def test_after_kill_9_each_message_has_one_reply_that_is_sent_at_most_once(tmp_path: Path) -> None:
    async with BotApi(seed=60) as api, ModelServer(always=echo) as model:
        api.times, api.shuffled, api.send_delay_s = 3, True, 0.01
        run = await asyncio.to_thread(TelegramTorture, tmp_path, api, model, 60, 8)
        await asyncio.to_thread(run.begin)
        for _ in range(KILLS):
            with await asyncio.to_thread(run.site.serve) as serving:
                await run.kill(serving, KILLS)
        with await asyncio.to_thread(run.site.serve) as serving:
            await run.settle()
            assert await asyncio.to_thread(serving.end) == 0
        figures = await asyncio.to_thread(run.check, KILLS)
    assert figures.sent >= 60 - figures.unknown
    assert figures.accepted >= figures.sent
