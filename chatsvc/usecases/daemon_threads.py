"""Runs long work in a daemon thread, which does not keep the process from ending."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import TypeVar, cast

T = TypeVar("T")


async def in_daemon_thread(work: Callable[[], T]) -> T:
    """Run long work in a daemon thread.

    A caller that is cancelled abandons the thread: it does not keep the process from ending, unlike one of an executor.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, fault: BaseException | None) -> None:
        if done.cancelled():
            return
        if fault is None:
            done.set_result(cast("T", result))
        else:
            done.set_exception(fault)

    def run() -> None:
        result, fault = None, None
        try:
            result = work()
        except BaseException as raised:  # noqa: BLE001  # raised again by the caller
            fault = raised
        with suppress(RuntimeError):  # the loop is closed: no caller waits any more
            loop.call_soon_threadsafe(settle, result, fault)

    threading.Thread(target=copy_context().run, args=(run,), daemon=True).start()
    return await done
