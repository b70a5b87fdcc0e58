"""Rate limiter shared by several processes, whose counts Valkey keeps.

The counts of a window are one hash, which goes when the next window begins: memory is bounded by the active keys, and a server that was
emptied hands out one more window at most. The server's clock decides on the window, so clocks of processes may differ.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from chatsvc import background
from chatsvc.coordination.connection import CoordinationUnavailable, Valkey
from chatsvc.domain.limiter import WINDOW_S, Slot

MAX_BATCH = 256
# ARGV: seconds of a window, the limit, and for each request 1 to take a slot or 0 to look, and its key.
# Returns the end of the window, and for each request the number taken before.
_TAKE = """
local window = math.floor(redis.call('TIME')[1] / ARGV[1])
local stored = tonumber(redis.call('HGET', KEYS[1], 'window') or '-2')
-- A clock set back by less than a window must not hand out the same window twice; one set back further is believed.
if window > stored or window < stored - 1 then
    redis.call('UNLINK', KEYS[1])
    redis.call('HSET', KEYS[1], 'window', window)
    redis.call('EXPIRE', KEYS[1], 3 * ARGV[1])
    stored = window
end
local results = {(stored + 1) * ARGV[1]}
for place = 3, #ARGV, 2 do
    local used = tonumber(redis.call('HGET', KEYS[1], 'key ' .. ARGV[place + 1]) or '0')
    if ARGV[place] == '1' and used < tonumber(ARGV[2]) then
        redis.call('HINCRBY', KEYS[1], 'key ' .. ARGV[place + 1], 1)
    end
    results[#results + 1] = used
end
return results
"""


class _RateQuery(NamedTuple):
    key_id: str
    takes: bool
    answer: asyncio.Future[Slot]


class SharedLimiter:
    """A RateLimiter. Requests that arrive during a call form the next one, so that one connection serves them all."""

    def __init__(self, valkey: Valkey, name: str, limit: int) -> None:
        self.limit = limit
        self._key = valkey.key(f"limit:{name}")
        self._script = valkey.script(_TAKE)
        self._waiting: list[_RateQuery] = []
        self._calling: asyncio.Task[None] | None = None

    async def take(self, key_id: str, now_ms: int) -> Slot:
        """See RateLimiter.take; raises CoordinationUnavailable."""
        del now_ms
        return await self._query(key_id, takes=True)

    async def peek(self, key_id: str | None, now_ms: int) -> Slot:
        """See RateLimiter.peek; raises CoordinationUnavailable."""
        del now_ms
        return await self._query(key_id or "", takes=False)

    async def _query(self, key_id: str, *, takes: bool) -> Slot:
        answer: asyncio.Future[Slot] = asyncio.get_running_loop().create_future()
        self._waiting.append(_RateQuery(key_id, takes, answer))
        if self._calling is None:
            self._calling = background.start("rate limit", self._call())
        return await answer

    async def _call(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:MAX_BATCH], self._waiting[MAX_BATCH:]
                try:
                    await self._answer(batch)
                except CoordinationUnavailable as fault:
                    # Those who wait would wait for the same deadline again.
                    batch, self._waiting = [*batch, *self._waiting], []
                    for one in batch:
                        if not one.answer.done():
                            one.answer.set_exception(fault)
        finally:
            self._calling = None

    async def _answer(self, batch: list[_RateQuery]) -> None:
        values: list[str | int] = [WINDOW_S, self.limit]
        for one in batch:
            values += int(one.takes), one.key_id
        reset, *before = await self._script.run([self._key], values)
        for one, used in zip(batch, before, strict=True):
            if one.answer.done():  # its caller has gone
                continue
            is_taken = one.takes and used < self.limit
            one.answer.set_result(Slot(is_taken, self.limit, max(0, self.limit - used - is_taken), reset))
