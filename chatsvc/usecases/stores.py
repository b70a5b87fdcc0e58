"""Chooses and opens the store: SQLite in the data folder, or PostgreSQL by `store.url`.

Nothing else chooses. Also gives the master key, sessions, copies and examinations of the chosen store. The driver of PostgreSQL is imported
only where it is used.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from chatsvc.config import Config, PostgresSettings
from chatsvc.outbound.tls import bundle
from chatsvc.store.batches import READERS, OpenStore, StoreDatabase
from chatsvc.store.database import StoreSession, StoreUnavailable
from chatsvc.store.folder import Folder
from chatsvc.store.master_key import MasterKey, open_master_key
from chatsvc.store.sqlite.group_commit import GroupCommitDatabase

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from chatsvc.store.examination import Examined, ServerState
    from chatsvc.store.postgres.connection import PostgresTarget
    from chatsvc.store.postgres.copying import CopyTarget

# Imported by root before it gives up its rights.
LATE = (
    *(
        "chatsvc.store.postgres.group_commit",
        "chatsvc.store.postgres.session",
        "chatsvc.store.postgres.copying",
        "chatsvc.store.postgres.examination",
    ),
    *("cryptography.hazmat.primitives.ciphers.aead", "chatsvc.control.handing_over"),
)


def master_key_of(config: Config, folder: Folder) -> MasterKey:
    """Return the master key; raises StoreUnavailable. In PostgreSQL the processes share one, so that none makes it."""
    if config.store is not None and config.given_master_key is None:
        raise StoreUnavailable(
            "store.url needs a master key that all processes share: write one into a file (openssl rand -hex 32) and name it with"
            " master_key_file"
        )
    return open_master_key(folder, config.given_master_key)


def opener(config: Config, *, readers: int = READERS) -> OpenStore:
    """Return the function that opens the store; without readers for a command."""
    if config.store is None:
        return partial(GroupCommitDatabase.open, readers=readers)
    return partial(_open_postgres, postgres_target(config.store), readers)


async def _open_postgres(place: PostgresTarget, readers: int, path: Path, key: MasterKey) -> StoreDatabase:
    del path

    from chatsvc.store.postgres.group_commit import PostgresDatabase

    return await PostgresDatabase.open(place, key, readers=readers)


def session(config: Config, key: MasterKey) -> StoreSession | None:
    """Make a session beside that of the working process. None for SQLite, where there is one process."""
    if config.store is None:
        return None

    from chatsvc.store.postgres.session import PostgresSession

    return PostgresSession(postgres_target(config.store), key, "chatsvc")


def postgres_target(settings: PostgresSettings) -> PostgresTarget:
    """Make the address of the database from the settings."""
    from chatsvc.store.postgres.connection import target

    authorities = bundle()
    password = settings.password.reveal() if settings.password else None
    return target(settings.parameters, password, str(authorities) if authorities else None)


def copy_target(settings: PostgresSettings, check: bytes, *, anew: bool) -> tuple[str, AbstractContextManager[CopyTarget]]:
    """Return the name of a database, and CopyTarget.opened for it."""
    from chatsvc.store.postgres.copying import CopyTarget

    place = postgres_target(settings)
    return place.name, CopyTarget.opened(place, check, anew=anew)


def examine_server(config: Config, tiers: frozenset[str]) -> tuple[ServerState, Examined | None]:
    """Examine the store in PostgreSQL for `doctor`; raises StoreUnavailable and SchemaTooNew."""
    from chatsvc.store.postgres.examination import examine

    if config.store is None:
        raise RuntimeError("the store is SQLite")
    return examine(postgres_target(config.store), tiers)
