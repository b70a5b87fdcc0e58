"""Torture of the delivery by a messaging platform. Messages repeated in any order must outlive kill -9."""

import asyncio
import itertools
import random
import signal
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from string import ascii_lowercase
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from aiohttp import web

from chatsvc.services.messages.outbox import IN_FLIGHT
from tests.cli.support import Serving, Site
from tests.engines.model_server import ModelServer, says
from tests.platforms.bot_api import BotApi
from tests.platforms.graph_api import GraphApi
from tests.store.inspection import query

PATIENCE_S = 120

Api = TypeVar("Api", BotApi, GraphApi)


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


def rows(site: Site, statement: str) -> list[tuple[Any, ...]]:
    """Read from the store of an installation."""
    return query(site.data / "chatsvc.db", statement)


def _words() -> list[str]:
    return ["".join(letters) for letters in itertools.product(ascii_lowercase, repeat=3)]


class ChannelTorture(Generic[Api]):
    """An installation with a bot on a platform, and its visitors' messages.

    The platform knows the visitors by `addresses`.
    """

    api: Api
    # Address, role, content, delivery and error of each message, in order.
    stored: ClassVar[str]

    def __init__(self, folder: Path, api: Api, model: ModelServer, channel: str, messages: int, addresses: Sequence[Any]) -> None:
        self.api, self.addresses = api, addresses
        self.texts = random.sample(_words(), messages)
        self.site = Site(
            folder,
            f"channels: {{{channel}}}\n"
            f'engines: {{anthropic: {{base_url: "{model.url}", api_key: none-needed, timeout_s: 20}}}}\n'
            "models: {m: {engine: anthropic, model: m, input_usd_per_mtok: 1, output_usd_per_mtok: 2}}\n",
        )
        account = self.site.account()
        self.site.json("account", "set", account, "--messages-limit", "1000000")
        self.bot = self.site.bot(account)

    async def kill(self, serving: Serving, kills: int) -> None:
        """Kill the service, one time of so many, once some more messages were accepted."""
        after = max(1, random.randrange(len(self.texts) // (kills + 1)))
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

    def check(self, kills: int) -> Figures:
        """Compare the store with what the platform has accepted."""
        messages = rows(self.site, self.stored)
        asked = Counter(content for _, role, content, *_ in messages if role == "user")
        replies = Counter(content for _, role, content, *_ in messages if role == "assistant")
        assert asked == Counter(self.texts), "each message is stored once"
        assert replies == Counter(f"echo {text}" for text in self.texts), "each has exactly one reply"
        accepted = Counter(message.text for message in self.api.sent)
        assert set(accepted.values()) <= {1}, "nothing is sent twice"
        states = {content: (delivery, error) for _, role, content, delivery, error in messages if role == "assistant"}
        assert {state for state, _ in states.values()} <= {"sent", "unknown"}
        assert {error for state, error in states.values() if state == "unknown"} <= {"interrupted"}
        assert {text for text, (state, _) in states.items() if state == "sent"} <= set(accepted) <= set(states)
        unknown = sum(state == "unknown" for state, _ in states.values())
        assert unknown <= kills * IN_FLIGHT, "only those under way at a kill are unknown"
        for address in self.addresses:
            order = [content for who, role, content, *_ in messages if role == "assistant" and who == str(address)]
            assert self.api.texts(address) == [text for text in order if text in accepted], "replies keep the order of their conversation"
        assert "Traceback" not in self.site.log.read_text()
        return Figures(len(self.texts), len(states) - unknown, unknown, len(self.api.sent), kills)
