"""What the configuration wants kept for so many days and no longer (`retention`)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from functools import partial

from chatsvc.domain.times import DAY_MS
from chatsvc.store import retention as stored
from chatsvc.store.database import StoreUnavailable
from chatsvc.usecases.services import Services

log = logging.getLogger(__name__)

EVERY_S = 600.0
PAUSE_S = 0.05


async def keep(services: Services) -> None:
    """Delete what is too old, now and again, for as long as the service runs."""
    while True:
        try:
            await once(services)
        except StoreUnavailable as fault:
            log.error("what is too old cannot be deleted: %s", fault)
        await asyncio.sleep(EVERY_S)


async def once(services: Services) -> None:
    """Delete all that is too old; raises StoreUnavailable."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    async for _ in _batches(services):
        # Writers have nine tenths of the time to themselves, however slow the disk is.
        await asyncio.sleep(max(PAUSE_S, 9 * (loop.time() - began)))
        began = loop.time()


async def _batches(services: Services) -> AsyncIterator[None]:
    wanted, db, now = services.config.retention, services.db, services.clock()
    if wanted.conversations_days is not None:
        while await stored.conversations(db, now - wanted.conversations_days * DAY_MS, partial(_invalidate, services)):
            yield
        while await stored.answers(db, now):
            yield
    if wanted.webhooks_days is not None:
        while await stored.events(db, now - wanted.webhooks_days * DAY_MS):
            yield
    if wanted.usage_days is not None:
        while await stored.usage(db, now - wanted.usage_days * DAY_MS):
            yield


def _invalidate(services: Services, accounts: set[str]) -> None:
    for account in accounts:
        services.account_cache.invalidate(account)
