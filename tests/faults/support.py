"""Helpers of the tests of faults: resources of the process and contents of the store."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chatsvc.app import App
from tests.api.support import execute
from tests.conftest import Caller

COUNTED = ("conversations", "messages", "usage_records", "requests", "webhook_events")


def descriptors(pid: int | str = "self") -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208  # Path would look at each of them


async def soon(condition: Callable[[], bool], within_s: float = 20.0) -> bool:
    """Whether it comes to be so in time."""
    try:
        async with asyncio.timeout(within_s):
            while not condition():  # noqa: ASYNC110  # what is waited for happens inside of the service
                await asyncio.sleep(0.01)
    except TimeoutError:
        return False
    return True


async def written(app: App) -> dict[str, int]:
    return {table: (await execute(app, f"SELECT count(*) FROM {table}"))[0][0] for table in COUNTED}  # noqa: S608  # the names above


async def told(caller: Caller) -> tuple[int, int, int]:
    """The account as the service has it in memory: messages used, message credits, messages of the bot."""
    account: dict[str, Any] = (await caller.get("/analytics")).json["data"]["account"]
    bot = (await caller.get(f"/chatbots/{caller.bot}")).json["data"]
    return account["messages_used"], account["message_credits"], bot["messages_used"]


def size(path: Path) -> int:
    """Bytes; 0 where there is no file."""
    return path.stat().st_size if path.exists() else 0
