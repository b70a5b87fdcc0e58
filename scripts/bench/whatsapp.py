"""Torture of WhatsApp: 1,000 messages delivered three times each in any order, with kill -9 five times.

Each has exactly one stored reply, sent at most once and in order. Replies under way at a kill alone are unknown, and the platform's
statuses resolve those that it has accepted.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.crash.whatsapp_torture import torture

MESSAGES, TIMES, VISITORS, KILLS = 1000, 3, 100, 5


def main() -> None:
    """Run it once; a broken promise is an AssertionError."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        made, acknowledged_s = asyncio.run(torture(Path(folder), messages=MESSAGES, times=TIMES, visitors=VISITORS, kills=KILLS))
    seconds = time.monotonic() - began
    print(f"{made.messages} messages x {TIMES}, {made.kills} kills: {made.sent} sent, {made.unknown} unknown, {made.accepted} accepted")
    waited = sorted(acknowledged_s)
    p50, p99 = (1000 * waited[int(len(waited) * part)] for part in (0.5, 0.99))
    print(f"{seconds:.0f} s; {len(waited)} callbacks acknowledged, p50 {p50:.1f} ms, p99 {p99:.1f} ms")


if __name__ == "__main__":
    main()
