"""Progress line on standard error, if that is a terminal."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from chatsvc.domain.terminal import one_line

_EVERY_S = 0.3


class Progress:
    """Progress callback: the step, the amount done, and the total, 0 if unknown."""

    def __init__(self, what: str) -> None:
        self._state = (what, 0, 0)
        self._began = time.monotonic()

    def __call__(self, what: str, done: int, of: int) -> None:
        """Store the progress; a thread prints it every 0.3 s."""
        self._state = (what, done, of)

    def __str__(self) -> str:
        what, done, of = self._state
        far = f" {done:,} of {of:,} ({100 * done // of} %)" if of else ""
        return f"{what}{far}, {time.monotonic() - self._began:.0f} s"


@contextmanager
def shown(what: str, *, prints: bool = False) -> Iterator[Progress]:
    """Show the progress of work that takes longer than a moment, unless the command `prints` to a terminal meanwhile."""
    progress, over = Progress(what), threading.Event()

    def show() -> None:
        while not over.wait(_EVERY_S):
            print(f"\r\033[K{one_line(progress)}", end="", file=sys.stderr, flush=True)  # noqa: T201  # a line that is written over
        print("\r\033[K", end="", file=sys.stderr, flush=True)  # noqa: T201

    thread = threading.Thread(target=show, daemon=True) if sys.stderr.isatty() and not (prints and sys.stdout.isatty()) else None
    if thread:
        thread.start()
    try:
        yield progress
    finally:
        over.set()
        if thread:
            thread.join()
