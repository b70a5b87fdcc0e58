"""Threads for long work that must not block the event loop."""

from __future__ import annotations

import ctypes
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

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
