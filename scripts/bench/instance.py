"""A data folder for a benchmark: an account with three bots and some keys, limits out of the way."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from harness import Requests, request

from chatsvc import config as configuration
from chatsvc.domain.actors import local_user
from chatsvc.services.accounts import accounts, bots, keys
from chatsvc.services.accounts.account_cache import AccountCache
from chatsvc.services.services import Services
from chatsvc.store.folder import Folder
from chatsvc.store.master_key import open_master_key
from chatsvc.store.sqlite.group_commit import GroupCommitDatabase

CONFIG = """\
server: {listen: "127.0.0.1:0"}
limits: {requests_per_minute: 1000000, max_in_flight: 4096, connections: 10000, connections_per_address: 10000}
"""
OFFLINE = "models: {offline: {engine: knowledge}}\n"
BOTS = 3
KEYS = 8  # the configuration allows a key a million requests a minute, which one alone could come to
_runs = count()


@dataclass(frozen=True)
class Instance:
    """An installation of chatsvc: its place and its callers' keys."""

    config: Path
    account: str
    bots: tuple[str, ...]
    keys: tuple[str, ...]


async def _furnish(file: Path) -> Instance:
    caller, config = local_user(0), configuration.load(file, {})
    data = Folder(config.data_dir)
    data.prepare()
    secret = open_master_key(data)
    db = await GroupCommitDatabase.open(data.database)
    try:
        services = Services(config, db, secret, AccountCache(db))
        account = (await accounts.create(services, caller, name="Benchmark")).account.id
        await accounts.change(services, caller, account=account, messages_limit=accounts.MOST)
        names = [f"Assistant {number}" for number in range(BOTS)]
        made = [await bots.create(services, caller, name=name, description="Answers questions about bicycles.") for name in names]
        secrets = [(await keys.create(services, caller)).secret for _ in range(KEYS)]
    finally:
        await db.close()
    return Instance(file, account, tuple(bot.id for bot in made), tuple(secrets))


def visitors(instance: Instance, messages: int = 4) -> Requests:
    """Make the requests of visitors: each connection is one after another, who sends so many messages. All have the same length."""
    run = next(_runs)

    def requests(connection: int) -> Iterator[bytes]:
        key, bot = instance.keys[connection % len(instance.keys)], instance.bots[connection % len(instance.bots)]
        for number in count():
            visitor = f"{run:03d}-{connection:05d}-{number // messages:08d}"
            body = {"chatbot_id": bot, "message": "Are you open on Saturday afternoons?", "user_id": visitor}
            yield request("POST", "/api/v2/messages", key, json.dumps(body).encode())

    return requests


@contextmanager
def instances(number: int, settings: str = OFFLINE) -> Iterator[list[Instance]]:
    """Make throw-away instances, `settings` added to their configuration; nothing of them stays."""
    with tempfile.TemporaryDirectory(prefix="chatsvc-bench-") as folder, ThreadPoolExecutor(1) as thread:
        files = [Path(folder) / str(index) / "config.yaml" for index in range(number)]
        for file in files:
            file.parent.mkdir()
            file.write_text(CONFIG + settings, "utf-8")
        # In a thread of its own: benchmarks call this within their event loop as well.
        yield [thread.submit(asyncio.run, _furnish(file)).result() for file in files]
