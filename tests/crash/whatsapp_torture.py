"""Torture of the delivery by WhatsApp: callbacks repeated in any order and batches while the service is killed again and again."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from aiohttp import ClientError

from chatsvc.usecases.outbox import IN_FLIGHT
from tests.channels.graph_api import APP_SECRET, NUMBER, TOKEN, VERIFY_TOKEN, GraphApi
from tests.cli.support import Serving, Site
from tests.crash.telegram_torture import PATIENCE_S, echo, rows, words
from tests.engines.model_server import ModelServer

AT_ONCE = 8  # callbacks


class WhatsAppFigures(NamedTuple):
    """Outcome of a run. Replies that were sent, and those of which nobody knows; seconds until each callback was acknowledged."""

    messages: int
    sent: int
    unknown: int
    accepted: int
    kills: int
    acknowledged_s: list[float]


class WhatsAppTorture:
    """An installation with a bot on WhatsApp, and its visitors' messages. `waiting` are callbacks to deliver."""

    def __init__(self, folder: Path, api: GraphApi, model: ModelServer, messages: int, visitors: int) -> None:
        self.api, self.visitors = api, visitors
        self.texts = random.sample(words(), messages)
        self.waiting: list[dict[str, Any]] = []
        self.acknowledged_s: list[float] = []
        self.site = Site(
            folder,
            f"channels: {{whatsapp: {{graph_url: '{api.url}'}}}}\n"
            f'engines: {{anthropic: {{base_url: "{model.url}", api_key: none-needed, timeout_s: 20}}}}\n'
            "models: {m: {engine: anthropic, model: m, input_usd_per_mtok: 1, output_usd_per_mtok: 2}}\n",
        )
        account = self.site.account()
        self.site.json("account", "set", account, "--messages-limit", "1000000")
        self.bot = self.site.bot(account)

    def begin(self, times: int) -> None:
        """Set the channel, and let every visitor write. Each message is delivered so many times."""
        files = []
        for name, content in (("token", TOKEN), ("app-secret", APP_SECRET), ("verify-token", VERIFY_TOKEN)):
            (self.site.folder / name).write_text(content)
            files += [f"--{name}-file", str(self.site.folder / name)]
        self.site.json("channel", "set", self.bot, "whatsapp", "--phone-number-id", NUMBER, *files)
        now = int(time.time()) - 60
        for number, text in enumerate(self.texts):
            phone = f"90555{number % self.visitors:07}"
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

    async def kill(self, serving: Serving, after: int) -> None:
        """Kill the service once so many more messages were accepted."""
        wanted = min(len(self.api.sent) + after, len(self.texts) - 1)
        await self.api.until(lambda: len(self.api.sent) >= wanted, PATIENCE_S)
        serving.process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(serving.process.wait)

    async def settle(self) -> None:
        """Wait until nothing is left to do."""
        done = [(len(self.texts), 0)]
        counts = "SELECT coalesce(sum(role = 'user'), 0), coalesce(sum(pending = 1 OR outbox IS NOT NULL), 0) FROM messages"
        async with asyncio.timeout(PATIENCE_S):
            while await asyncio.to_thread(rows, self.site, counts) != done:  # noqa: ASYNC110  # in another process
                await asyncio.sleep(0.1)

    def check(self, kills: int) -> WhatsAppFigures:
        """Compare the store with what the platform has accepted, before and after its statuses."""
        stored = rows(
            self.site,
            "SELECT a.value, m.role, m.content, m.delivery, m.error FROM messages m JOIN whatsapp_addresses a"
            " ON a.conversation = m.conversation ORDER BY m.number",
        )
        asked = Counter(content for _, role, content, *_ in stored if role == "user")
        replies = Counter(content for _, role, content, *_ in stored if role == "assistant")
        assert asked == Counter(self.texts), "each message is stored once"
        assert replies == Counter(f"echo {text}" for text in self.texts), "each has exactly one reply"
        accepted = Counter(one.text for one in self.api.sent)
        assert set(accepted.values()) <= {1}, "nothing is sent twice"
        states = {content: (delivery, error) for _, role, content, delivery, error in stored if role == "assistant"}
        assert {state for state, _ in states.values()} <= {"sent", "unknown"}
        assert {error for state, error in states.values() if state == "unknown"} <= {"interrupted"}
        assert {text for text, (state, _) in states.items() if state == "sent"} <= set(accepted)
        unknown = sum(state == "unknown" for state, _ in states.values())
        assert unknown <= kills * IN_FLIGHT, "only those under way at a kill are unknown"
        for number in range(self.visitors):
            phone = f"90555{number:07}"
            order = [content for who, role, content, *_ in stored if role == "assistant" and who == phone]
            assert self.api.texts(phone) == [text for text in order if text in accepted], "replies keep the order of their conversation"
        assert "Traceback" not in self.site.log.read_text()
        return WhatsAppFigures(len(self.texts), len(states) - unknown, unknown, len(self.api.sent), kills, self.acknowledged_s)

    async def resolve(self) -> None:
        """Deliver the statuses of all accepted messages, which resolve the unknown ones among them."""
        await self.api.deliver(*[self.api.status(one, "delivered") for one in self.api.sent])
        found = dict(await asyncio.to_thread(rows, self.site, "SELECT content, delivery FROM messages WHERE role = 'assistant'"))
        accepted = {one.text for one in self.api.sent}
        assert {text for text, state in found.items() if state == "delivered"} == accepted


async def torture(folder: Path, *, messages: int, times: int, visitors: int, kills: int) -> WhatsAppFigures:
    """Deliver each message so many times in any order while the service is killed.

    Raises AssertionError.
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
                await run.kill(serving, max(1, random.randrange(messages // (kills + 1))))
        with await asyncio.to_thread(run.site.serve) as serving:
            api.callback = f"{serving.url}/channels/whatsapp/{run.bot}"
            await asyncio.gather(*(delivering or [asyncio.create_task(run.deliver())]))
            await run.settle()
            figures = await asyncio.to_thread(run.check, kills)
            await run.resolve()
            assert await asyncio.to_thread(serving.end) == 0
        assert api.refused == []
        return figures
