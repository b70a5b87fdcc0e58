"""Processor time of code that strangers can feed, compared with the speed of the machine.

A limit in seconds would fail on a slow or busy machine, where all code takes longer. So a limit is stated for a fast machine, and grows
with the time that a fixed piece of work takes here and now.
"""

import re
from collections.abc import Callable
from time import process_time

_FAST_S = 0.004  # processor time of `_work` on a fast machine
_ROUNDS = 3  # the fastest counts, so that a busy moment fails nothing
_WORD = re.compile(r"(\w+)\s(?=\w)")


def within(limit_s: float, work: Callable[[], object]) -> bool:
    """Return whether `work` takes at most `limit_s` seconds of processor time, stated for a fast machine."""
    return _seconds(work) <= limit_s or any(_seconds(work) <= limit_s * _slowness() for _ in range(_ROUNDS))


def _slowness() -> float:
    return max(1.0, min(_seconds(_work) for _ in range(_ROUNDS)) / _FAST_S)


def _seconds(work: Callable[[], object]) -> float:
    started = process_time()
    work()
    return process_time() - started


def _work() -> None:
    counts: dict[str, int] = {}
    for match in _WORD.finditer("one two three four " * 4_000):
        word = match.group(1)
        counts[word] = counts.get(word, 0) + len(word)
