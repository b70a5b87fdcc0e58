"""Long work in a thread of its own that leaves the event loop its turns."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

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
