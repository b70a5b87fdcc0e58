"""Torture of the delivery by Telegram: updates repeated in any order while the service is killed again and again."""

from __future__ import annotations

import asyncio
import itertools
import random
import signal
from collections import Counter
from pathlib import Path
from string import ascii_lowercase
from typing import Any, NamedTuple

from aiohttp import web

from chatsvc.usecases.outbox import IN_FLIGHT
from tests.channels.bot_api import TOKEN, BotApi
from tests.cli.support import Serving, Site
from tests.engines.model_server import ModelServer, says
from tests.store.inspection import query

PATIENCE_S = 120


class Figures(NamedTuple):
    """Outcome of a run. Replies by delivery state, and messages that the platform has accepted."""

    messages: int
    sent: int
    unknown: int
    accepted: int
    kills: int


async def echo(server: ModelServer, request: web.Request) -> web.StreamResponse:
    """A model that repeats what the visitor wrote last."""
    last = server.seen[-1].body["messages"][-1]["content"]
    server.seen.clear()
    return await says(f"echo {last if isinstance(last, str) else last[-1]['text']}")(server, request)


def words() -> list[str]:
    """Words that occur once each."""
    return ["".join(letters) for letters in itertools.product(ascii_lowercase, repeat=3)]


def rows(site: Site, statement: str) -> list[tuple[Any, ...]]:
    return query(site.data / "chatsvc.db", statement)


class Torture:
    """An installation with a bot on Telegram, and its visitors' messages."""

    def __init__(self, folder: Path, api: BotApi, model: ModelServer, messages: int, chats: int) -> None:
        self.api, self.chats = api, chats
        self.texts = random.sample(words(), messages)
        self.site = Site(
            folder,
            f"channels: {{telegram: {{api_url: '{api.url}'}}}}\n"
            f'engines: {{anthropic: {{base_url: "{model.url}", api_key: none-needed, timeout_s: 20}}}}\n'
            "models: {m: {engine: anthropic, model: m, input_usd_per_mtok: 1, output_usd_per_mtok: 2}}\n",
        )
        account = self.site.account()
        self.site.json("account", "set", account, "--messages-limit", "1000000")
        self.bot = self.site.bot(account)

    def begin(self) -> None:
        """Set the channel, and let every visitor write."""
        token = self.site.folder / "token"
        token.write_text(TOKEN)
        self.site.json("channel", "set", self.bot, "telegram", "--token-file", token)
        for number, text in enumerate(self.texts):
            self.api.message(chat=number % self.chats + 1, text=text)

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
            while self.api.undelivered() or await asyncio.to_thread(rows, self.site, counts) != done:  # noqa: ASYNC110  # in another process
                await asyncio.sleep(0.1)

    def check(self, kills: int) -> Figures:
        """Compare the store with what the platform has accepted."""
        stored = rows(
            self.site,
            "SELECT c.user_id, m.role, m.content, m.delivery, m.error FROM messages m JOIN conversations c ON c.number = m.conversation"
            " ORDER BY m.number",
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
        assert set(accepted) <= set(states)
        unknown = sum(state == "unknown" for state, _ in states.values())
        assert unknown <= kills * IN_FLIGHT, "only those under way at a kill are unknown"
        for chat in range(1, self.chats + 1):
            order = [content for user, role, content, *_ in stored if role == "assistant" and user == str(chat)]
            assert self.api.texts(chat) == [text for text in order if text in accepted], "replies keep the order of their conversation"
        assert "Traceback" not in self.site.log.read_text()
        return Figures(len(self.texts), len(states) - unknown, unknown, len(self.api.sent), kills)


async def torture(folder: Path, *, messages: int, times: int, chats: int, kills: int) -> Figures:
    """Deliver each message so many times in any order while the service is killed.

    Raises AssertionError.
    """
    async with BotApi(seed=messages) as api, ModelServer(always=echo) as model:
        api.times, api.shuffled, api.send_delay_s = times, True, 0.01
        run = await asyncio.to_thread(Torture, folder, api, model, messages, chats)
        await asyncio.to_thread(run.begin)
        for _ in range(kills):
            with await asyncio.to_thread(run.site.serve) as serving:
                await run.kill(serving, max(1, random.randrange(messages // (kills + 1))))
        with await asyncio.to_thread(run.site.serve) as serving:
            await run.settle()
            assert await asyncio.to_thread(serving.end) == 0
        return await asyncio.to_thread(run.check, kills)
