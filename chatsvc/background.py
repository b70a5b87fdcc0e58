"""Background tasks: started here alone, so that none can end silently. And long work in threads."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from typing import Any, TypeVar, cast

T = TypeVar("T")
log = logging.getLogger(__name__)

# Tasks without another reference: asyncio itself keeps only weak ones.
_TASKS: set[asyncio.Task[None]] = set()


def run(
    name: str, work: Callable[[], Awaitable[object]], pause_s: float, *, expected: tuple[type[Exception], ...] = (), once: bool = False
) -> asyncio.Task[None]:
    """Start a task that runs `work`, pauses and runs it again, until it is cancelled.

    An unexpected fault is logged with its traceback, one of `expected` in one line; after the pause the work runs again.
    once: the task ends when the work has returned without a fault.
    """
    return _kept(asyncio.create_task(_run(name, work, pause_s, expected, once=once), name=name))


async def _run(
    name: str, work: Callable[[], Awaitable[object]], pause_s: float, expected: tuple[type[Exception], ...], *, once: bool
) -> None:
    while True:
        try:
            await work()
        except expected as fault:
            log.error("%s: %s; next attempt in %g s", name, fault, pause_s)
        except Exception:
            log.exception("%s: unexpected fault; next attempt in %g s", name, pause_s)
        else:
            if once:
                return
        await asyncio.sleep(pause_s)


def start(name: str, work: Coroutine[Any, Any, object]) -> asyncio.Task[None]:
    """Start a task that runs `work`, which must not run twice. An unexpected fault is logged with its traceback."""
    return _kept(asyncio.create_task(_start(name, work), name=name))


async def _start(name: str, work: Coroutine[Any, Any, object]) -> None:
    try:
        await work
    except Exception:
        log.exception("%s: unexpected fault", name)


def _kept(task: asyncio.Task[None]) -> asyncio.Task[None]:
    _TASKS.add(task)
    task.add_done_callback(_TASKS.discard)
    return task


async def cancel(*tasks: asyncio.Task[None]) -> None:
    """Cancel tasks and wait until they have ended."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


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
