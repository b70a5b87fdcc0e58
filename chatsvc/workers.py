"""Workers of the running service, which repeat their work at intervals. For instance, a worker deletes old records."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

from chatsvc import background
from chatsvc.domain.times import DAY_MS
from chatsvc.services.conversations import handling
from chatsvc.services.knowledge import unanswered
from chatsvc.services.knowledge.site_reading import SiteReadings
from chatsvc.services.messages.outbox import Outbox
from chatsvc.services.operations import backups
from chatsvc.services.operations.mailer import Mailer
from chatsvc.services.services import Services
from chatsvc.store import accounts, audit, erasure, mails, sessions

log = logging.getLogger(__name__)

# Pauses, in seconds.
SWEEP_EVERY_S = FLUSH_EVERY_S = MASK_EVERY_S = 10.0
FILES_EVERY_S = 3.0
BACKUP_CHECK_S = 60.0
RETENTION_EVERY_S = 600.0
RETURN_EVERY_S = SITES_EVERY_S = OUTBOX_EVERY_S = 5.0
MAILS_EVERY_S = 2.0
WARM_RETRY_S = 60.0
BETWEEN_BATCHES_S = 0.05


def start(services: Services, tasks: background.Tasks) -> None:
    """Start all workers, and add their tasks to `tasks`."""

    async def sweep() -> None:
        while await accounts.sweep(services.db):
            pass

    async def back_up() -> None:
        path = await backups.keep(services)
        if path:
            log.info("backup %s written to %s", path, services.config.backup.folder)

    async def check_files() -> None:
        before = services.db.fault
        services.db.check()
        if services.db.fault and services.db.fault != before:
            log.error("nothing is written any more: %s", services.db.fault)

    def of_each(name: str, work: Callable[[], Awaitable[object]], every_s: float, *, once: bool = False) -> None:
        background.run(name, work, every_s, tasks, once=once)

    def of_one(name: str, work: Callable[[], Awaitable[object]], every_s: float) -> None:
        """Start a worker that runs in only one process of the installation at a time."""
        of_each(name, services.leases.guarding(name, work), every_s)

    of_each("database files", check_files, FILES_EVERY_S)
    of_one("deletion of accounts", sweep, SWEEP_EVERY_S)
    of_each("times of last use of keys", services.account_cache.flush_key_uses, FLUSH_EVERY_S)
    of_one("masking of questions", lambda: unanswered.mask(services), MASK_EVERY_S)
    of_one("scheduled backup", back_up, BACKUP_CHECK_S)
    of_one("retention", lambda: delete_old(services), RETENTION_EVERY_S)
    of_one("return of conversations", lambda: handling.return_overdue(services), RETURN_EVERY_S)
    of_each("websites", services.part(SiteReadings).look, SITES_EVERY_S)
    of_each("search indexes", lambda: services.knowledge.warm(services.account_cache), WARM_RETRY_S, once=True)
    of_each("webhooks", services.webhooks.look, OUTBOX_EVERY_S)
    of_each("outbox", services.part(Outbox).look, OUTBOX_EVERY_S)
    if services.sends_mail:
        of_each("mails", services.part(Mailer).look, MAILS_EVERY_S)


async def delete_old(services: Services) -> None:
    """Delete conversations, webhook events and usage records that are older than configured, and settled mails after a month.

    Raises StoreUnavailable.
    """
    loop = asyncio.get_running_loop()
    began = loop.time()
    async for _ in _old_batches(services):
        # Nine tenths of the time stay for other writers, however slow the disk is.
        await asyncio.sleep(max(BETWEEN_BATCHES_S, 9 * (loop.time() - began)))
        began = loop.time()


async def _old_batches(services: Services) -> AsyncIterator[None]:
    settings, now = services.config.retention, services.clock()
    await sessions.forget_failures(services.db, now)
    yield
    while await audit.expire(services.db, now):
        yield
    for table, rule in erasure.RULES.items():
        days = getattr(settings, rule.setting)
        while days is not None and (more := await erasure.expire(services.db, table, now - days * DAY_MS, now)):
            if isinstance(more, set):
                services.account_cache.unanswered.clear()
            yield
    while await mails.forget_old(services.db, now, erasure.BATCH):
        yield
