"""Choice of the store: SQLite in the data folder, or PostgreSQL by `store.url`, with parts for one process or several.

No other module chooses. The module also gives the master key, copies and examinations of the chosen store. The driver of PostgreSQL is
imported only if it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from chatsvc.config import Config
from chatsvc.config.model import PostgresSettings
from chatsvc.domain.models import ServiceNode
from chatsvc.domain.times import now_ms
from chatsvc.outbound.egress import bundle
from chatsvc.services.accounts.account_cache import AccountCache
from chatsvc.services.operations.nodes import Leases, Presence
from chatsvc.services.services import Services
from chatsvc.store.batches import READERS
from chatsvc.store.database import Database, StoreUnavailable
from chatsvc.store.folder import Folder
from chatsvc.store.master_key import MasterKey, open_master_key
from chatsvc.store.sqlite.group_commit import GroupCommitDatabase

if TYPE_CHECKING:
    from chatsvc.store.examination import Examined, ServerState
    from chatsvc.store.postgres.connection import PostgresTarget
    from chatsvc.store.postgres.group_commit import PostgresDatabase


def master_key_of(config: Config, folder: Folder) -> MasterKey:
    """Return the master key; raises StoreUnavailable. With PostgreSQL it must be configured, since all processes share it."""
    if config.store is not None and config.given_master_key is None:
        raise StoreUnavailable(
            "store.url needs a master key that all processes share: write one into a file (openssl rand -hex 32) and name it with"
            " master_key_file"
        )
    return open_master_key(folder, config.given_master_key)


class OneProcess:
    """The parts for SQLite, which a single process uses. Its caches and locks are in memory."""

    async def open(self, folder: Folder, key: MasterKey, node: ServiceNode, *, serves: bool) -> Database:
        """Open the store for a process that serves, or with one connection for a command. Raises StoreUnavailable and SchemaTooNew."""
        del node
        return await GroupCommitDatabase.open(folder.database, key, readers=READERS if serves else 0)

    def services(self, config: Config, db: Database, secret: MasterKey, clock: Callable[[], int] = now_ms) -> Services:
        return Services(config, db, secret, AccountCache(db), clock)

    def enter(self, services: Services, node: ServiceNode) -> Presence:
        """Return the presence of this process, by which other processes over the store see it."""
        del services, node
        return Presence()

    def alone(self, folder: Folder) -> AbstractContextManager[None]:
        """Return a context manager that keeps other processes out while a command works. Raises FolderInUse."""
        return folder.locked()


class SeveralProcesses:
    """The parts for PostgreSQL, which any number of processes use. Leases and locks are in the store."""

    def __init__(self, target: PostgresTarget, connections: int) -> None:
        self._target, self._connections = target, connections

    async def open(self, folder: Folder, key: MasterKey, node: ServiceNode, *, serves: bool) -> Database:
        from chatsvc.store.postgres.group_commit import FOR_OTHERS, PostgresDatabase

        del folder
        return await PostgresDatabase.open(self._target, key, readers=self._connections - FOR_OTHERS if serves else 0, node=node)

    def services(self, config: Config, db: Database, secret: MasterKey, clock: Callable[[], int] = now_ms) -> Services:
        from chatsvc.services.conversations.conversation_events import ConversationEvents
        from chatsvc.services.knowledge.knowledge_cache import KnowledgeCache
        from chatsvc.services.messages.conversation_locks import ConversationLocks
        from chatsvc.store.postgres.limiter import SharedLimiter

        shared = _shared(db)
        services = Services(config, db, secret, AccountCache(db, shared.versioned), clock, leases=Leases(db))
        services.conversation_locks = ConversationLocks(db, shared.notices, clock)
        services.knowledge, services.events = KnowledgeCache(db, shared=True), ConversationEvents(shared.notices)
        services.new_limiter = partial(SharedLimiter, shared.aside)
        return services

    def enter(self, services: Services, node: ServiceNode) -> Presence:
        from chatsvc.services.operations.shared_services import SharedPresence

        return SharedPresence(services, node, _shared(services.db).replaced)

    def alone(self, folder: Folder) -> AbstractContextManager[None]:
        del folder
        return nullcontext()


StoreChoice = OneProcess | SeveralProcesses  # all that differs between the stores


def _shared(db: Database) -> PostgresDatabase:
    from chatsvc.store.postgres.group_commit import PostgresDatabase

    if not isinstance(db, PostgresDatabase):
        raise TypeError("the store is PostgreSQL")
    return db


def chosen(config: Config) -> StoreChoice:
    """Return the parts for the store that the configuration names."""
    return OneProcess() if config.store is None else SeveralProcesses(postgres_target(config.store), config.store.connections)


def postgres_target(settings: PostgresSettings) -> PostgresTarget:
    from chatsvc.store.postgres.connection import target

    authorities = bundle()
    password = settings.password.reveal() if settings.password else None
    return target(settings.parameters, password, str(authorities) if authorities else None)


def examine_server(config: Config, tiers: frozenset[str]) -> tuple[ServerState, Examined | None]:
    """Examine the store in PostgreSQL for `doctor`; raises StoreUnavailable and SchemaTooNew."""
    from chatsvc.store.postgres.migrations import examine

    if config.store is None:
        raise RuntimeError("the store is SQLite")
    return examine(postgres_target(config.store), tiers)
