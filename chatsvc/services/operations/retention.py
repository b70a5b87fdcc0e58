"""Deletes old conversations, webhook events and usage records by the configured days, and settled mails after a month."""

import asyncio
from collections.abc import AsyncIterator

from chatsvc.domain.times import DAY_MS
from chatsvc.services.services import Services
from chatsvc.store import audit, mails, sessions
from chatsvc.store import erasure as stored

PAUSE_S = 0.05


async def once(services: Services) -> None:
    """Delete all old rows; raises StoreUnavailable."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    async for _ in _batches(services):
        # Nine tenths of the time stay for other writers, however slow the disk is.
        await asyncio.sleep(max(PAUSE_S, 9 * (loop.time() - began)))
        began = loop.time()


async def _batches(services: Services) -> AsyncIterator[None]:
    settings, now = services.config.retention, services.clock()
    await sessions.forget_failures(services.db, now)
    yield
    while await audit.expire(services.db, now):
        yield
    for table, rule in stored.RULES.items():
        days = getattr(settings, rule.setting)
        while days is not None and (more := await stored.expire(services.db, table, now - days * DAY_MS, now)):
            if isinstance(more, set):
                services.account_cache.unanswered.clear()
            yield
    while await mails.forget_old(services.db, now, stored.BATCH):
        yield
