"""Rate limiter over all processes, which counts in a table of PostgreSQL.

A key has one row for each minute. The table is not written to the log, so that after a crash of PostgreSQL a key gets at most one more
window of requests.
"""

import asyncio
import hashlib
import time
from collections import Counter
from typing import Any, NamedTuple

from chatsvc import background
from chatsvc.domain.limiter import WINDOW_S, AccountVersion, Slot, untouched
from chatsvc.store.postgres.connection import PostgresConnection
from chatsvc.store.postgres.thread import AsideConnection

MAX_BATCH = 256
# Clocks that differ by less are taken for the same.
APART_MS = 1_000
# In the order of the keys, so that two processes never wait for each other in a circle.
_COUNT = """
    WITH asked (key_id, minute, requests, account_id) AS (SELECT * FROM unnest(?1::text[], ?2::bigint[], ?3::bigint[], ?4::text[])),
        taken AS (
            INSERT INTO chatsvc_requests AS r (key_id, minute, taken)
            SELECT key_id, minute, requests FROM asked WHERE requests > 0 ORDER BY key_id, minute
            ON CONFLICT (key_id, minute) DO UPDATE SET taken = r.taken + excluded.taken
            RETURNING key_id, minute, taken
        )
    SELECT key_id, minute, coalesce(taken.taken, before.taken, 0), coalesce(settings, 0), coalesce(activity, 0), clock_ms()
    FROM asked LEFT JOIN taken USING (key_id, minute) LEFT JOIN chatsvc_requests before USING (key_id, minute)
    LEFT JOIN chatsvc_versions USING (account_id)
"""

_KeyMinute = tuple[str, int]  # a key and the minute


class _RateQuery(NamedTuple):
    """A call that takes `takes` slots of a key's window. If `takes` is 0, it only reads the state of the window."""

    key_id: str
    account_id: str
    now_ms: int
    takes: int
    answer: asyncio.Future[Slot]


class SharedLimiter:
    """A RateLimiter over all processes. Calls that arrive during a statement share the next statement."""

    def __init__(self, aside: AsideConnection, name: str, limit: int) -> None:
        """Create a limiter. Its counts are separate from those of limiters with other names."""
        self.limit = limit
        self._aside, self._name = aside, name
        self._waiting: list[_RateQuery] = []
        self._calling: asyncio.Task[None] | None = None
        self._behind_ms = 0  # the clock of this process behind that of the store
        self._minute = 0

    async def take(self, key_id: str, now_ms: int, account_id: str = "", slots: int = 1) -> Slot:
        """Take `slots` slots of the key's window, like RateLimiter.take. Raises StoreUnavailable."""
        if not key_id:
            return untouched(self.limit, now_ms)
        answer: asyncio.Future[Slot] = asyncio.get_running_loop().create_future()
        # Keys may be addresses of visitors, of which the table holds digests alone.
        digest = hashlib.sha256(key_id.encode()).hexdigest()
        self._waiting.append(_RateQuery(f"{self._name} {digest}", account_id, now_ms, slots, answer))
        if self._calling is None:
            self._calling = background.start("rate limit", self._call())
        return await answer

    async def _call(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
                try:
                    await self._answer(batch)
                except Exception as fault:  # noqa: BLE001  # reported to all callers
                    # Those who wait would wait for the same outage again.
                    batch, self._waiting = [*batch, *self._waiting], []
                    for asked in batch:
                        if not asked.answer.done():
                            asked.answer.set_exception(fault)
        finally:
            self._calling = None

    async def _answer(self, batch: list[_RateQuery]) -> None:
        keys: list[_KeyMinute] = []
        takes: Counter[_KeyMinute] = Counter()
        accounts: dict[_KeyMinute, str] = {}
        for asked in batch:
            minute = (asked.now_ms + self._behind_ms) // (WINDOW_S * 1000)
            # A clock set back by less than a minute counts on in the later one, as Limiter does.
            keys.append((asked.key_id, self._minute if minute == self._minute - 1 else minute))
            takes[keys[-1]] += asked.takes
            accounts[keys[-1]] = asked.account_id or accounts.get(keys[-1], "")
        minute = max(minute for _, minute in keys)
        used, clock_ms = await self._aside.run(_count, takes, accounts, minute - 1 if minute != self._minute else None)
        self._minute = minute
        # The store's clock decides for all.
        behind = clock_ms - time.time_ns() // 1_000_000
        self._behind_ms = behind if abs(behind) > APART_MS else 0
        counts = {key_minute: used[key_minute][0] - taken for key_minute, taken in takes.items()}
        for asked, key_minute in zip(batch, keys, strict=True):
            taken = asked.takes > 0 and counts[key_minute] < self.limit
            counts[key_minute] += asked.takes
            if not asked.answer.done():  # else its caller has gone
                remaining = max(0, self.limit - counts[key_minute])
                asked.answer.set_result(Slot(taken, self.limit, remaining, (key_minute[1] + 1) * WINDOW_S, used[key_minute][1]))


def _count(
    connection: PostgresConnection, takes: Counter[_KeyMinute], accounts: dict[_KeyMinute, str], forget: int | None
) -> tuple[dict[_KeyMinute, tuple[int, AccountVersion]], int]:
    """Add `takes` to the keys' counts. Return the counts with the versions of the accounts, and the server's clock.

    Counts of minutes before `forget` are deleted.
    """
    if forget is not None:
        connection.execute("DELETE FROM chatsvc_requests WHERE minute < ?", (forget,))
    columns: list[list[Any]] = [[key for key, _ in takes], [minute for _, minute in takes], list(takes.values()), list(accounts.values())]
    rows = connection.execute(_COUNT, columns).fetchall()
    return {(key, minute): (taken, AccountVersion(*version)) for key, minute, taken, *version, _ in rows}, rows[0][-1]
