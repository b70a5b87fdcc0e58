"""Exchanges that wait for one transaction: each is counted, and a fault of one touches no other."""

import asyncio
from pathlib import Path

import pytest

from chatsvc.store import exchanges
from chatsvc.store.database import StoreFault
from chatsvc.store.exchanges import Counts, NewExchange
from chatsvc.store.sqlite.group_commit import GroupCommitDatabase
from tests.store.support import furnish, new_exchange, rows
from tests.store.test_group_commit import start_held

pytestmark = pytest.mark.postgres


async def test_what_callers_send_at_once_is_counted_in_its_order_and_a_fault_of_one_touches_no_other(
    group: GroupCommitDatabase, path: Path
) -> None:
    await furnish(group)
    answered: list[Counts | None] = []

    async def record(exchange: NewExchange) -> Counts | None:
        answered.append(await exchanges.record(group, exchange))
        return answered[-1]

    held, first = await start_held(group)
    batch = [new_exchange(user_id=f"v{i % 5}", text=f"{i}") for i in range(20)]
    batch[7] = batch[7]._replace(exchange=batch[7].exchange._replace(message=None))  # type: ignore[arg-type]  # which the store refuses
    others = [asyncio.create_task(record(exchange)) for exchange in batch]
    await asyncio.sleep(0)
    held.let_go.set()
    _, *results = await asyncio.gather(first, *others, return_exceptions=True)
    assert isinstance(results.pop(7), StoreFault)
    assert results == answered == [Counts(i, 0, i) for i in range(1, 20)]
    messages = [text for (text,) in rows(path, "SELECT content FROM messages WHERE role = 'user' ORDER BY number")]
    assert messages == [f"{i}" for i in range(20) if i != 7]
    counts = rows(path, "SELECT user_id, message_count FROM conversations ORDER BY number")
    assert counts == [("v0", 8), ("v1", 8), ("v2", 6), ("v3", 8), ("v4", 8)]
