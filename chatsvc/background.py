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

Tasks = set[asyncio.Task[None]]
# Tasks without another reference: asyncio itself keeps only weak ones.
_TASKS: Tasks = set()


class Outage(Exception):
    """Something that the program needs cannot be used at the moment."""


def run(
    name: str,
    work: Callable[[], Awaitable[object]],
    pause_s: float,
    tasks: Tasks = _TASKS,
    *,
    once: bool = False,
    woken: asyncio.Event | None = None,
) -> asyncio.Task[None]:
    """Start a task that runs `work`, pauses and runs it again, until it is cancelled. Until its end it is in `tasks`.

    An Outage or OSError is logged in one line, any other fault with its traceback; after the pause the work runs again.
    once: the task ends when the work has returned without a fault. woken: ends a pause early where it is set.
    """
    return _kept(asyncio.create_task(_run(name, work, pause_s, once=once, woken=woken or asyncio.Event()), name=name), tasks)


async def _run(name: str, work: Callable[[], Awaitable[object]], pause_s: float, *, once: bool, woken: asyncio.Event) -> None:
    while True:
        try:
            await work()
        except (Outage, OSError) as fault:
            log.error("%s: %s; next attempt in %g s", name, fault, pause_s)
        except Exception:
            log.exception("%s: unexpected fault; next attempt in %g s", name, pause_s)
        else:
            if once:
                return
        await wait(woken, pause_s)
        woken.clear()


async def wait(event: asyncio.Event, most_s: float | None) -> None:
    """Wait until an event is set, `most_s` seconds at the most; None: any time."""
    with suppress(TimeoutError):
        async with asyncio.timeout(most_s):
            await event.wait()


def start(name: str, work: Coroutine[Any, Any, object], tasks: Tasks = _TASKS) -> asyncio.Task[None]:
    """Start a task that runs `work`, which must not run twice. A fault is logged with its traceback. Until its end it is in `tasks`."""
    return _kept(asyncio.create_task(_start(name, work), name=name), tasks)


async def _start(name: str, work: Coroutine[Any, Any, object]) -> None:
    try:
        await work
    except Exception:
        log.exception("%s: unexpected fault", name)


def _kept(task: asyncio.Task[None], tasks: Tasks) -> asyncio.Task[None]:
    for kept in (_TASKS, tasks):
        kept.add(task)
        task.add_done_callback(kept.discard)
    return task


async def cancel(*tasks: asyncio.Task[None] | None, after_s: float = 0.0) -> None:
    """Cancel tasks that do not end within `after_s`, and wait until they have ended. None is no task."""
    left = {task for task in tasks if task is not None}
    if left and after_s:
        _, left = await asyncio.wait(left, timeout=after_s)
    for task in left:
        task.cancel()
    if left:
        await asyncio.wait(left)


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
