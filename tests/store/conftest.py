"""Databases with reader threads, as in the service, and without, as in a command."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chatsvc.store.database import Database
from chatsvc.store.master_key import MasterKey
from chatsvc.store.postgres.connection import PostgresTarget
from tests.postgres import Postgres, open_store

KEY = MasterKey(b"k" * 32)
Open = Callable[[Path], Awaitable[Database]]


async def open_single(path: Path) -> Database:
    """Open a database as a command does."""
    return await open_store(path, KEY, readers=0)


async def open_group(path: Path) -> Database:
    """Open a database as the service does."""
    return await open_store(path, KEY)


KINDS: dict[str, Open] = {"group commit": open_group, "one thread": open_single}


@pytest.fixture
def postgres_target(postgres: Postgres) -> PostgresTarget:
    """An empty database of PostgreSQL."""
    return postgres.target(postgres.new_database())


@pytest.fixture(autouse=True)
def _same_mask() -> Iterator[None]:
    """Restore the umask: preparing a data folder narrows it."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The path of the database."""
    return tmp_path / "chatsvc.db"


@pytest.fixture(params=list(KINDS))
def open_db(request: pytest.FixtureRequest) -> Open:
    """Opens a database; each test runs with both kinds."""
    return KINDS[request.param]


@pytest.fixture
async def db(open_db: Open, path: Path) -> AsyncIterator[Database]:
    """An open database; each test runs with both kinds."""
    opened = await open_db(path)
    yield opened
    await opened.close()


@pytest.fixture
async def group(path: Path) -> AsyncIterator[Any]:
    """The database of the running service."""
    opened = await open_store(path)
    yield opened
    await opened.close()
