"""Progress of long work. Shown in a terminal alone, and never among the output."""

import io
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from chatsvc.cli import output, webhook


@pytest.mark.parametrize("prints", [False, True], ids=["writes a file", "prints"])
@pytest.mark.parametrize("in_terminal", ["stderr", "stdout stderr", ""])
def test_in_a_terminal_it_shows_how_far_it_is_and_leaves_nothing_behind(
    prints: bool, in_terminal: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(output, "_PROGRESS_EVERY_S", 0.01)
    out, err = (Terminal() if name in in_terminal else io.StringIO() for name in ("stdout", "stderr"))
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    is_shown = in_terminal == "stderr" or (in_terminal != "" and not prints)
    with output.progress("adding", prints=prints) as far:
        far("adding: lines", 4000, 10000)
        deadline = time.monotonic() + 10
        while is_shown and "lines" not in err.getvalue():
            assert time.monotonic() < deadline
            time.sleep(0.01)
    shown = err.getvalue()
    assert bool(re.search(r"adding: lines 4,000 of 10,000 \(40 %\), \d+ s", shown)) is is_shown
    assert (not shown) is not is_shown
    assert not is_shown or shown.endswith("\r\033[K")
    assert out.getvalue() == ""


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
