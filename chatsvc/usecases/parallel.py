"""Divides work among forked processes, copies of the calling one.

A copy shares what is in memory, such as a search index, and starts at once. Only a process with one thread can be copied safely; any
other does the work by itself.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

_MOST = 4  # processes

_given: list[Callable[[int], Any]] = []  # what the copies do; a function within a function cannot be sent to them


def results(work: Callable[[int], T], items: Sequence[int], *, alone: int) -> Iterator[T]:
    """Yield the result of each item in order. Up to `alone` items are not worth a second process."""
    count = min(_MOST, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1)
    if count < 2 or len(items) <= alone or threading.active_count() > 1 or "fork" not in multiprocessing.get_all_start_methods():
        yield from map(work, items)
        return
    _given.append(work)
    gc.freeze()  # a collection would copy the shared memory
    try:
        with multiprocessing.get_context("fork").Pool(count, _start) as pool:
            yield from pool.imap(_do, items)
    finally:
        _given.clear()
        gc.unfreeze()


def _start() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends the others


def _do(item: int) -> Any:
    return _given[-1](item)
