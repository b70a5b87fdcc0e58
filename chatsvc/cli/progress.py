"""What is going on, for whoever waits at a terminal; nothing where standard error goes elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from chatsvc.domain.terminal import one_line

_EVERY_S = 0.3


class Progress:
    """Called with what is being done, how much of it is done and of how much; of 0 stands for "nobody knows"."""

    def __init__(self, what: str) -> None:
        self._state = (what, 0, 0)
        self._began = time.monotonic()

    def __call__(self, what: str, done: int, of: int) -> None:
        """Say how far it is; cheap, for it is shown only now and then."""
        self._state = (what, done, of)

    def __str__(self) -> str:
        """The line that is shown."""
        what, done, of = self._state
        far = f" {done:,} of {of:,} ({100 * done // of} %)" if of else ""
        return f"{what}{far}, {time.monotonic() - self._began:.0f} s"


@contextmanager
def shown(what: str, *, prints: bool = False) -> Iterator[Progress]:
    """Show on standard error, where that is a terminal, what takes longer than a moment.

    `prints`: the command writes to standard output meanwhile. Where that is a terminal, too, it shows well enough how far it is.
    """
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
