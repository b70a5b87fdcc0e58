"""Long work in a thread of its own that leaves the event loop its turns."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from chatsvc.engines import Turn

T = TypeVar("T")

_LONG = 500  # characters of a message, and
_LARGE = 3_000  # entries of a knowledge, from which on searching may take more than the few milliseconds that the loop can spare
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


async def apart(work: Callable[[Turn], T], turn: Turn) -> T:
    """`work(turn)`, in a thread where the turn may take long."""
    if len(turn.message) < _LONG and len(turn.knowledge.entries) < _LARGE:
        return work(turn)
    return await asyncio.to_thread(_considerately, work, turn)


def _considerately(work: Callable[[Turn], T], turn: Turn) -> T:
    with considerate():
        return work(turn)
