"""Installation for a benchmark: a data folder with an account, three bots and some keys. Its limits are too high to matter."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from harness import Requests, request

from chatsvc import config as configuration
from chatsvc.control import client
from chatsvc.services.accounts.accounts import MOST

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
    """An installation of chatsvc: its configuration file, its account, its bots and its API keys."""

    config: Path
    account: str
    bots: tuple[str, ...]
    keys: tuple[str, ...]


def perform(config: Path, operation: str, **arguments: Any) -> Any:
    """Perform an administrative operation as a command does, in this process or by the running service."""
    return client.call(configuration.read(config, {}), operation, arguments)


def _furnish(file: Path) -> Instance:
    account = perform(file, "account.create", name="Benchmark")["id"]
    perform(file, "account.set", account=account, messages_limit=MOST)
    about = "Answers questions about bicycles."
    bots = [perform(file, "bot.create", name=f"Assistant {number}", description=about)["id"] for number in range(BOTS)]
    keys = [perform(file, "key.create")["key"] for _ in range(KEYS)]
    return Instance(file, account, tuple(bots), tuple(keys))


def visitors(instance: Instance, messages: int = 4) -> Requests:
    """Make requests of equal length. Each connection sends `messages` messages of one visitor, then those of the next."""
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
    """Make temporary installations with `settings` added to their configuration. They are deleted at the end."""
    with tempfile.TemporaryDirectory(prefix="chatsvc-bench-") as folder, ThreadPoolExecutor(1) as thread:
        files = [Path(folder) / str(index) / "config.yaml" for index in range(number)]
        for file in files:
            file.parent.mkdir()
            file.write_text(CONFIG + settings, "utf-8")
        # In a thread of its own: benchmarks call this within their event loop as well.
        yield [thread.submit(_furnish, file).result() for file in files]
