"""Long work in a thread of its own that leaves the event loop its turns."""

from __future__ import annotations

import asyncio
import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

from chatsvc.engines import Turn

T = TypeVar("T")

_LONG = 200  # characters of a message, and
_LARGE = 200  # entries of a knowledge, from which on searching may take more than the few milliseconds that the loop can spare
_INTERVAL_S = 0.0005  # the interpreter's own is 5 ms, and the loop would wait that long at every turn

_lock = threading.Lock()
_working: list[float] = []  # for each work under way the interval that it found


@contextmanager
def considerate() -> Iterator[None]:
    """Meanwhile a thread that waits for the interpreter gets it at once; what waits for nobody is not slowed down."""
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


def give_back() -> None:
    """Return to the system what long work has taken and freed, where the C library can: it keeps tens of megabytes otherwise."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


async def beside(work: Callable[[], T]) -> T:
    """`work()` in a thread that nobody waits for when the program ends, as what it makes is of no use then."""
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


async def apart(work: Callable[[Turn], T], turn: Turn) -> T:
    """`work(turn)`, in a thread where the turn may take long."""
    if len(turn.message) < _LONG and len(turn.knowledge.entries) < _LARGE:
        return work(turn)
    return await asyncio.to_thread(_considerately, work, turn)


def _considerately(work: Callable[[Turn], T], turn: Turn) -> T:
    with considerate():
        return work(turn)
