"""Threads for long work that must not block the event loop."""

from __future__ import annotations

import asyncio
import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

T = TypeVar("T")

_INTERVAL_S = 0.0005  # the interpreter's default is 5 ms, for which the loop would wait at every switch

_lock = threading.Lock()
_working: list[float] = []  # for each work in progress the interval before it


@contextmanager
def fast_thread_switching() -> Iterator[None]:
    """Shorten the interpreter's switch interval, so that a waiting thread runs at once."""
    with _lock:
        _working.append(_working[0] if _working else sys.getswitchinterval())
        sys.setswitchinterval(_INTERVAL_S)
    try:
        yield
    finally:
        with _lock:
            before = _working.pop()
            if not _working:
                sys.setswitchinterval(before)


def release_free_memory() -> None:
    """Return free heap memory to the system with malloc_trim(3), where the C library has it."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


async def in_daemon_thread(work: Callable[[], T]) -> T:
    """Run `work` in a daemon thread, which does not delay the end of the process. Return its result or raise its exception."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def tell(outcome: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(lambda: None if done.done() else outcome())

    def run() -> None:
        try:
            made = work()
        except BaseException as fault:  # noqa: BLE001 - it is told to who waits
            told = fault
            tell(lambda: done.set_exception(told))
        else:
            tell(lambda: done.set_result(made))

    threading.Thread(target=run, daemon=True).start()
    return await done
