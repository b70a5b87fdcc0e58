"""Progress of long work. Shown in a terminal alone, and never among the output."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from chatsvc.cli import webhook

LONG = """
import time
from chatsvc.cli.output import progress
with progress("adding", prints={prints}) as far:
    for number in range(10):
        far("adding: lines", 1000 * number, 10000)
        time.sleep(0.1)
print("done")
"""


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """A terminal's two ends: who looks at it, and what runs in it."""
    looks, runs = pty.openpty()
    try:
        yield looks, runs
    finally:
        os.close(looks)
        os.close(runs)


@pytest.mark.parametrize("prints", [False, True], ids=["writes a file", "prints"])
@pytest.mark.parametrize("looked_at", [False, True], ids=["output elsewhere", "output in the terminal"])
def test_in_a_terminal_it_shows_how_far_it_is_and_leaves_nothing_behind(*, prints: bool, looked_at: bool) -> None:
    with terminal() as (looks, runs):
        done = subprocess.run(
            [sys.executable, "-c", LONG.format(prints=prints)], stdout=runs if looked_at else subprocess.PIPE, stderr=runs, check=True
        )
        os.write(runs, b"\nend")
        seen = ""
        while not seen.endswith("\nend"):
            seen += os.read(looks, 65536).decode()
    assert ("adding: lines" in seen) is not (prints and looked_at)
    if "adding" in seen:
        assert re.search(r"adding: lines [\d,]+ of 10,000 \(\d+ %\), \d+ s", seen)
        assert seen.replace("done\r\n", "").endswith("\r\033[K\r\nend")
    assert ("done" in seen) is looked_at
    assert (done.stdout == b"done\n") is not looked_at


def test_elsewhere_it_shows_nothing() -> None:
    done = subprocess.run([sys.executable, "-c", LONG.format(prints=False)], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"done\n", b"")


def test_sending_again_tells_how_many_of_all_events_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[tuple[str, int, int]] = []

    @contextmanager
    def shown(_: str) -> Iterator[Callable[..., None]]:
        yield lambda *step: steps.append(step)

    sent = {"success": True}
    monkeypatch.setattr(webhook, "progress", shown)
    monkeypatch.setattr(webhook, "pages", lambda *_, **__: [{"attempts": [sent, sent], "left": 3}, {"attempts": [sent] * 3, "left": 0}])
    done = CliRunner().invoke(webhook.resend, ["--bot", "x", "--failed-since", "2026-01-01", "--json"])
    assert (done.exit_code, len(json.loads(done.stdout))) == (0, 5)
    assert steps == [("sending again: events", 2, 5), ("sending again: events", 5, 5)]
