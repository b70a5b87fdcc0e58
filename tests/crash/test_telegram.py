"""kill -9 while Telegram's visitors are answered: no message is lost, and no reply is sent twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.crash.telegram_torture import torture

KILLS = int(os.environ.get("CHATSVC_CRASH", "2"))


@pytest.mark.usefixtures("unmeasured_processes")
@pytest.mark.slow
async def test_after_kill_9_each_message_has_one_reply_that_is_sent_at_most_once(tmp_path: Path) -> None:
    figures = await torture(tmp_path, messages=60, times=3, chats=8, kills=KILLS)
    assert figures.sent >= 60 - figures.unknown
    assert figures.accepted >= figures.sent
