"""Runs of a bot's tests."""

from __future__ import annotations

import pytest

from chatsvc.services.administration import perform
from tests import conftest
from tests.fakes import ADMIN

pytestmark = pytest.mark.postgres


async def test_a_run_that_is_kept_is_among_the_latest_twenty(caller: conftest.Caller) -> None:
    services, bot = caller.app.services, caller.bot
    await perform(services, ADMIN, "test.add", {"bot": bot, "ask": "open?", "decision": "answer"})
    await perform(services, ADMIN, "test.run", {"bot": bot})
    assert (await perform(services, ADMIN, "test.show", {"bot": bot})).runs == []
    for _ in range(22):
        await perform(services, ADMIN, "test.run", {"bot": bot, "keep": True})
    runs = (await perform(services, ADMIN, "test.show", {"bot": bot})).runs
    assert len(runs) == 20
    assert (runs[0].tests, runs[0].failed, runs[0].questions) == (1, 1, ["open?"])
