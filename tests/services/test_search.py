"""Search of conversations through the service: fresh before a search, filled in the background, kept over backup and import."""

from __future__ import annotations

import asyncio
import itertools
from unittest.mock import AsyncMock, Mock, patch

import pytest

from chatsvc.domain.captures import Captured
from chatsvc.domain.models import Conversation
from chatsvc.domain.paging import ResultPage
from chatsvc.engines import Reply
from chatsvc.services.accounts import transfer
from chatsvc.services.administration import perform
from chatsvc.services.conversations import search
from chatsvc.store import accounts
from chatsvc.store import search as stored
from tests import conftest
from tests.fakes import ADMIN, ScriptedEngine


async def listed(caller: conftest.Caller, **filters: object) -> ResultPage[Conversation]:
    """conversation.list as the administrator."""
    page = await perform(caller.app.services, ADMIN, "conversation.list", filters)
    assert isinstance(page, ResultPage)
    return page


async def test_a_message_is_found_right_after_it_was_answered(caller: conftest.Caller, engine: ScriptedEngine) -> None:
    engine.script = lambda _: Reply("Noted.", captured=Captured("contact", "x", "Selin", None, "05321234567"))
    await caller.send("Selin, 0532 123 45 67", "v1")
    engine.script = lambda _: Reply("Yes.")
    await caller.send("Is Saturday possible?", "v2")
    for query, visitors in {"saturd": ["v2"], "selin": ["v1"], "5321234567": ["v1"], "nobody": [], "?!": [], "  ": ["v2", "v1"]}.items():
        page = await listed(caller, q=query, bot=caller.bot)
        assert [one.user_id for one in page.items] == visitors, query
        assert await search.is_complete(caller.app.services)
    assert [one.user_id for one in (await listed(caller, captured=True)).items] == ["v1"]
    assert [one.user_id for one in (await listed(caller, channel="web")).items] == []


async def test_a_visitor_id_is_found_exactly_as_typed(caller: conftest.Caller) -> None:
    ids = ["first-7", "first-70", "first-000007", "first-0000070", "first-700", "42", "420", "0042"]
    for one in ids:
        await caller.send("hello", one)
    for query in ids:
        assert [one.user_id for one in (await listed(caller, q=f" {query} ")).items] == [query]
    assert [one.user_id for one in (await listed(caller, q="first-00007")).items] == []
    assert len((await listed(caller, q="first")).items) == 5


async def test_a_long_queue_is_worked_off_in_the_background_and_a_search_says_so(caller: conftest.Caller) -> None:
    services = caller.app.services
    for number in range(4):
        await caller.send("hello", f"v{number}")
    with patch.object(stored, "BATCH", 1), patch.object(search, "BEFORE_SEARCH", 0):
        await services.db.write(lambda connection: stored.queue(connection, [1, 2, 3, 4]))
        assert not await search.is_complete(services)
        async with asyncio.timeout(10):
            await search.work_off(services)
    assert await stored.backlog(services.db) == 0
    assert await search.is_complete(services)


@pytest.mark.parametrize(("answered", "share"), [(2, search.QUIET_PAUSE), (3, search.BUSY_PAUSE)])
async def test_the_index_pauses_longer_while_requests_are_answered(caller: conftest.Caller, answered: int, share: int) -> None:
    services, loop, paused = caller.app.services, Mock(), list[float]()
    # Each batch takes a second.
    loop.time.side_effect = itertools.count()
    batches = [stored.BATCH, stored.BATCH, 0]

    async def index(*_: object) -> int:
        for _request in range(answered):
            services.tallies.request("POST /messages", 200, "", 0.001)
        return batches.pop(0)

    async def sleep(seconds: float) -> None:
        paused.append(seconds)

    with (
        patch.object(stored, "is_complete", AsyncMock(return_value=False)),
        patch.object(stored, "index", index),
        patch.object(search, "asyncio", Mock(get_running_loop=lambda: loop, sleep=sleep)),
    ):
        await search.work_off(services)
    assert paused == [share, share]


async def test_an_imported_account_is_indexed(caller: conftest.Caller) -> None:
    await caller.send("Searchable words", "v1")
    services, account = caller.app.services, caller.account
    (kind, record), *others = (await transfer.take_out(services, ADMIN, account=account)).records
    assert kind == "account"
    await perform(services, ADMIN, "account.delete", {"account": account})
    assert (await listed(caller, q="searchable")).items == []
    while await accounts.sweep(services.db):
        pass
    await transfer.begin(services, ADMIN, record=record)
    await transfer.put(services, ADMIN, account=account, records=others)
    await transfer.end(services, ADMIN, account=account, complete=True)
    assert [one.user_id for one in (await listed(caller, q="searchable")).items] == ["v1"]
