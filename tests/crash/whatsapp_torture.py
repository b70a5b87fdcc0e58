"""Torture of the delivery by WhatsApp: callbacks repeated in any order and batches while the service is killed again and again."""

from __future__ import annotations

import asyncio
import random
import time
from itertools import cycle
from pathlib import Path
from typing import Any

from aiohttp import ClientError

from tests.crash.channel_torture import ChannelTorture, Figures, echo, rows
from tests.engines.model_server import ModelServer
from tests.platforms.graph_api import APP_SECRET, NUMBER, TOKEN, VERIFY_TOKEN, GraphApi

AT_ONCE = 8  # callbacks


class WhatsAppTorture(ChannelTorture[GraphApi]):
    """An installation with a bot on WhatsApp, and its visitors' messages.

    `waiting` are callbacks to deliver, `acknowledged_s` the seconds until each was acknowledged.
    """

    stored = """
        SELECT a.value, m.role, m.content, m.delivery, m.error FROM messages m JOIN whatsapp_addresses a
            ON a.conversation = m.conversation ORDER BY m.number
    """

    def __init__(self, folder: Path, api: GraphApi, model: ModelServer, messages: int, visitors: int) -> None:
        phones = [f"90555{number:07}" for number in range(visitors)]
        super().__init__(folder, api, model, f"whatsapp: {{graph_url: '{api.url}'}}", messages, phones)
        self.waiting: list[dict[str, Any]] = []
        self.acknowledged_s: list[float] = []

    def begin(self, times: int) -> None:
        """Set the channel, and let every visitor write. Each message is delivered so many times."""
        files = []
        for name, content in (("token", TOKEN), ("app-secret", APP_SECRET), ("verify-token", VERIFY_TOKEN)):
            (self.site.folder / name).write_text(content)
            files += [f"--{name}-file", str(self.site.folder / name)]
        self.site.json("channel", "set", self.bot, "whatsapp", "--phone-number-id", NUMBER, *files)
        now = int(time.time()) - 60
        for number, (phone, text) in enumerate(zip(cycle(self.addresses), self.texts, strict=False)):
            self.waiting += [self.api.message(text, at=now + number % 50, phone=phone)] * times
        random.shuffle(self.waiting)

    async def deliver(self) -> None:
        """Deliver in random batches. What is not acknowledged comes again later."""
        while self.waiting:
            size = random.randint(1, 5)
            batch, self.waiting = self.waiting[:size], self.waiting[size:]
            began = time.perf_counter()
            try:
                status = await self.api.post(self.api.body(*batch))
            except (ClientError, OSError):
                status = 0
            if status == 200:
                self.acknowledged_s.append(time.perf_counter() - began)
            else:
                self.waiting += batch
                await asyncio.sleep(0.05)

    async def resolve(self) -> None:
        """Deliver the statuses of all accepted messages, which resolve the unknown ones among them."""
        await self.api.deliver(*[self.api.status(one, "delivered") for one in self.api.sent])
        found = dict(await asyncio.to_thread(rows, self.site, "SELECT content, delivery FROM messages WHERE role = 'assistant'"))
        accepted = {one.text for one in self.api.sent}
        assert {text for text, state in found.items() if state == "delivered"} == accepted


async def torture(folder: Path, *, messages: int, times: int, visitors: int, kills: int) -> tuple[Figures, list[float]]:
    """Deliver each message so many times in any order while the service is killed.

    Returns the seconds until each callback was acknowledged too; raises AssertionError.
    """
    async with GraphApi(seed=messages) as api, ModelServer(always=echo) as model:
        api.send_delay_s = 0.01
        run = await asyncio.to_thread(WhatsAppTorture, folder, api, model, messages, visitors)
        await asyncio.to_thread(run.begin, times)
        delivering: list[asyncio.Task[None]] = []
        for _ in range(kills):
            with await asyncio.to_thread(run.site.serve) as serving:
                api.callback = f"{serving.url}/channels/whatsapp/{run.bot}"
                delivering = delivering or [asyncio.create_task(run.deliver()) for _ in range(AT_ONCE)]
                await run.kill(serving, kills)
        with await asyncio.to_thread(run.site.serve) as serving:
            api.callback = f"{serving.url}/channels/whatsapp/{run.bot}"
            await asyncio.gather(*(delivering or [asyncio.create_task(run.deliver())]))
            await run.settle()
            figures = await asyncio.to_thread(run.check, kills)
            await run.resolve()
            assert await asyncio.to_thread(serving.end) == 0
        assert api.refused == []
        return figures, run.acknowledged_s
