"""Workers of the running service: the work that is looked for again and again."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from chatsvc import background
from chatsvc.services.conversations import handling
from chatsvc.services.knowledge import unanswered
from chatsvc.services.knowledge.site_reading import SiteReadings
from chatsvc.services.messages.outbox import Outbox
from chatsvc.services.operations import backups, retention
from chatsvc.services.operations.mailer import Mailer
from chatsvc.services.services import Services
from chatsvc.store import accounts
from chatsvc.store.batches import StoreDatabase

log = logging.getLogger(__name__)

# Pauses, in seconds.
SWEEP_EVERY_S = FLUSH_EVERY_S = MASK_EVERY_S = 10.0
FILES_EVERY_S = 3.0
BACKUP_CHECK_S = 60.0
RETENTION_EVERY_S = 600.0
RETURN_EVERY_S = SITES_EVERY_S = OUTBOX_EVERY_S = 5.0
MAILS_EVERY_S = 2.0
WARM_RETRY_S = 60.0


def start(services: Services, db: StoreDatabase, tasks: background.Tasks) -> None:
    """Start the workers, whose tasks are in `tasks`."""

    async def sweep() -> None:
        while await accounts.sweep(services.db):
            pass

    async def back_up() -> None:
        made = await backups.keep(services)
        if made:
            log.info("backup %s written to %s", made, services.config.backup.folder)

    async def check_files() -> None:
        before = db.fault
        db.check()
        if db.fault and db.fault != before:
            log.error("nothing is written any more: %s", db.fault)

    def of_each(name: str, work: Callable[[], Awaitable[object]], every_s: float, *, once: bool = False) -> None:
        background.run(name, work, every_s, tasks, once=once)

    def of_one(name: str, work: Callable[[], Awaitable[object]], every_s: float) -> None:
        """Run work of which the installation needs one."""
        of_each(name, services.leases.guarding(name, work), every_s)

    of_each("database files", check_files, FILES_EVERY_S)
    of_one("deletion of accounts", sweep, SWEEP_EVERY_S)
    of_each("times of last use of keys", services.account_cache.flush_key_uses, FLUSH_EVERY_S)
    of_one("masking of questions", lambda: unanswered.mask(services), MASK_EVERY_S)
    of_one("scheduled backup", back_up, BACKUP_CHECK_S)
    of_one("retention", lambda: retention.once(services), RETENTION_EVERY_S)
    of_one("return of conversations", lambda: handling.return_overdue(services), RETURN_EVERY_S)
    of_each("websites", services.part(SiteReadings).look, SITES_EVERY_S)
    of_each("search indexes", lambda: services.knowledge.warm(services.account_cache), WARM_RETRY_S, once=True)
    of_each("webhooks", services.webhooks.look, OUTBOX_EVERY_S)
    of_each("outbox", services.part(Outbox).look, OUTBOX_EVERY_S)
    if services.sends_mail:
        of_each("mails", services.part(Mailer).look, MAILS_EVERY_S)
