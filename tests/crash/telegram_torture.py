"""Torture of the delivery by Telegram: updates repeated in any order while the service is killed again and again."""

from __future__ import annotations

import asyncio
from itertools import cycle
from pathlib import Path

from tests.crash.channel_torture import PATIENCE_S, ChannelTorture, Figures, echo
from tests.engines.model_server import ModelServer
from tests.platforms.bot_api import TOKEN, BotApi


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


async def torture(folder: Path, *, messages: int, times: int, chats: int, kills: int) -> Figures:
    """Deliver each message so many times in any order while the service is killed.

    Raises AssertionError.
    """
    async with BotApi(seed=messages) as api, ModelServer(always=echo) as model:
        api.times, api.shuffled, api.send_delay_s = times, True, 0.01
        run = await asyncio.to_thread(TelegramTorture, folder, api, model, messages, chats)
        await asyncio.to_thread(run.begin)
        for _ in range(kills):
            with await asyncio.to_thread(run.site.serve) as serving:
                await run.kill(serving, kills)
        with await asyncio.to_thread(run.site.serve) as serving:
            await run.settle()
            assert await asyncio.to_thread(serving.end) == 0
        return await asyncio.to_thread(run.check, kills)
