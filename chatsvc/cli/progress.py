"""Progress line on standard error, if that is a terminal."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from chatsvc.domain.terminal import one_line

_EVERY_S = 0.3
# Takes the step, the amount done, and the total, 0 if unknown.
Report = Callable[[str, int, int], None]


@contextmanager
def shown(what: str, *, prints: bool = False) -> Iterator[Report]:
    """Show the progress of work that takes longer than a moment, unless the command `prints` to a terminal meanwhile."""
    state, began, over = [(what, 0, 0)], time.monotonic(), threading.Event()

    def show() -> None:
        while not over.wait(_EVERY_S):
            step, done, of = state[-1]
            far = f" {done:,} of {of:,} ({100 * done // of} %)" if of else ""
            line = one_line(f"{step}{far}, {time.monotonic() - began:.0f} s")
            print(f"\r\033[K{line}", end="", file=sys.stderr, flush=True)  # noqa: T201  # a line that is written over
        print("\r\033[K", end="", file=sys.stderr, flush=True)  # noqa: T201

    thread = threading.Thread(target=show, daemon=True) if sys.stderr.isatty() and not (prints and sys.stdout.isatty()) else None
    if thread:
        thread.start()
    try:
        yield lambda step, done, of: state.__setitem__(0, (step, done, of))
    finally:
        over.set()
        if thread:
            thread.join()
