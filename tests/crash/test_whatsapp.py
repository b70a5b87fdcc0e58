"""kill -9 while WhatsApp's visitors are answered, with callbacks repeated in any order: none is lost, no reply is sent twice."""

import asyncio
import os
import random
import signal
import time
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientError

from tests.crash.channel_torture import ChannelTorture, echo, rows
from tests.engines.model_server import ModelServer, hangs, says
from tests.platforms.graph_api import APP_SECRET, NUMBER, TOKEN, VERIFY_TOKEN, GraphApi

# The service of these tests has its store in a file.
pytestmark = pytest.mark.sqlite
KILLS = int(os.environ.get("CHATSVC_CRASH", "2"))
AT_ONCE = 8  # callbacks


class WhatsAppTorture(ChannelTorture[GraphApi]):
    """An installation with a bot on WhatsApp, and its visitors' messages.

    `waiting` are callbacks to deliver.
    """

    stored = """
        SELECT a.value, m.role, m.content, m.delivery, m.error FROM messages m JOIN whatsapp_addresses a
            ON a.conversation = m.conversation ORDER BY m.number
    """

    def __init__(self, folder: Path, api: GraphApi, model: ModelServer, messages: int, visitors: int) -> None:
        phones = [f"90555{number:07}" for number in range(visitors)]
        super().__init__(folder, api, model, f"whatsapp: {{graph_url: '{api.url}'}}", messages, phones)
        self.waiting: list[dict[str, Any]] = []

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
            try:
                status = await self.api.post(self.api.body(*batch))
            except (ClientError, OSError):
                status = 0
            if status != 200:
                self.waiting += batch
                await asyncio.sleep(0.05)

    async def resolve(self) -> None:
        """Deliver the statuses of all accepted messages, which resolve the unknown ones among them."""
        await self.api.deliver(*[self.api.status(message, "delivered") for message in self.api.sent])
        deliveries = dict(await asyncio.to_thread(rows, self.site, "SELECT content, delivery FROM messages WHERE role = 'assistant'"))
        accepted = {message.text for message in self.api.sent}
        assert {text for text, state in deliveries.items() if state == "delivered"} == accepted


@pytest.mark.usefixtures("unmeasured_processes")
@pytest.mark.slow
async def test_after_kill_9_each_message_has_one_reply_that_is_sent_at_most_once(tmp_path: Path) -> None:
    async with GraphApi(seed=60) as api, ModelServer(always=echo) as model:
        api.send_delay_s = 0.01
        run = await asyncio.to_thread(WhatsAppTorture, tmp_path, api, model, 60, 8)
        await asyncio.to_thread(run.begin, 3)
        delivering: list[asyncio.Task[None]] = []
        for _ in range(KILLS):
            with await asyncio.to_thread(run.site.serve) as serving:
                api.callback = f"{serving.url}/channels/whatsapp/{run.bot}"
                delivering = delivering or [asyncio.create_task(run.deliver()) for _ in range(AT_ONCE)]
                await run.kill(serving, KILLS)
        with await asyncio.to_thread(run.site.serve) as serving:
            api.callback = f"{serving.url}/channels/whatsapp/{run.bot}"
            await asyncio.gather(*delivering)
            await run.settle()
            figures = await asyncio.to_thread(run.check, KILLS)
            await run.resolve()
            assert await asyncio.to_thread(serving.end) == 0
        assert api.refused == []
    assert figures.sent >= 60 - figures.unknown
    assert figures.accepted >= figures.sent


@pytest.mark.usefixtures("unmeasured_processes")
async def test_a_message_acknowledged_before_a_kill_is_answered_after_the_start(tmp_path: Path) -> None:
    async with GraphApi() as api, ModelServer(always=hangs()) as model:
        run = await asyncio.to_thread(WhatsAppTorture, tmp_path, api, model, 1, 1)
        await asyncio.to_thread(run.begin, 1)
        with await asyncio.to_thread(run.site.serve) as serving:
            api.callback = f"{serving.url}/channels/whatsapp/{run.bot}"
            await run.deliver()
            await asyncio.wait_for(model.asked.wait(), 20)
            await asyncio.to_thread(serving.end, signal.SIGKILL)
        assert api.sent == []
        model.always = says("Good morning.")
        model.released.set()
        with await asyncio.to_thread(run.site.serve) as serving:
            await api.until(lambda: len(api.sent) == 1, 20)
            await run.settle()
            assert await asyncio.to_thread(serving.end) == 0
        assert [message.text for message in api.sent] == ["Good morning."]
        assert await asyncio.to_thread(rows, run.site, "SELECT sent FROM whatsapp_sends") == [(1,)]
