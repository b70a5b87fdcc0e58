"""kill -9 while WhatsApp's visitors are answered: no message is lost, and no reply is sent twice."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from tests.crash.channel_torture import rows
from tests.crash.whatsapp_torture import WhatsAppTorture, torture
from tests.engines.model_server import ModelServer, hangs, says
from tests.platforms.graph_api import GraphApi

# The service of these tests has its store in a file.
pytestmark = pytest.mark.sqlite
KILLS = int(os.environ.get("CHATSVC_CRASH", "2"))


@pytest.mark.usefixtures("unmeasured_processes")
@pytest.mark.slow
async def test_after_kill_9_each_message_has_one_reply_that_is_sent_at_most_once(tmp_path: Path) -> None:
    figures, _ = await torture(tmp_path, messages=60, times=3, visitors=8, kills=KILLS)
    assert figures.sent >= 60 - figures.unknown
    assert figures.accepted >= figures.sent


@pytest.mark.usefixtures("unmeasured_processes")
async def test_a_message_acknowledged_before_a_kill_is_answered_after_the_start(tmp_path: Path) -> None:
    async with GraphApi() as api, ModelServer(always=hangs()) as model:
        run = await asyncio.to_thread(WhatsAppTorture, tmp_path, api, model, 1, 1)
        await asyncio.to_thread(run.begin, 1)
        with await asyncio.to_thread(run.site.serve) as serving:
            api.callback = f"{serving.url}/channels/whatsapp/{run.bot}"
            await run.deliver()
            await asyncio.wait_for(model.asked.wait(), 20)
            await asyncio.to_thread(serving.end, signal.SIGKILL)
        assert api.sent == []
        model.always = says("Good morning.")
        model.released.set()
        with await asyncio.to_thread(run.site.serve) as serving:
            await api.until(lambda: len(api.sent) == 1, 20)
            await run.settle()
            assert await asyncio.to_thread(serving.end) == 0
        assert [one.text for one in api.sent] == ["Good morning."]
        assert await asyncio.to_thread(rows, run.site, "SELECT sent FROM whatsapp_sends") == [(1,)]
