"""Torture of Telegram: 1,000 messages delivered three times each in any order, with kill -9 five times.

Each has exactly one stored reply, sent at most once and in order. Replies under way at a kill alone are unknown.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.crash.telegram_torture import torture

MESSAGES, TIMES, CHATS, KILLS = 1000, 3, 100, 5


def main() -> None:
    """Run it once; a broken promise is an AssertionError."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        made = asyncio.run(torture(Path(folder), messages=MESSAGES, times=TIMES, chats=CHATS, kills=KILLS))
    seconds = time.monotonic() - began
    print(f"{made.messages} messages x {TIMES}, {made.kills} kills: {made.sent} sent, {made.unknown} unknown, {made.accepted} accepted")
    print(f"{seconds:.0f} s")


if __name__ == "__main__":
    main()
