"""Both databases: the one of the running service, and the one of a command."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from chatsvc.store.committer import GroupCommitDatabase
from chatsvc.store.database import Database
from chatsvc.store.direct import DirectDatabase
from chatsvc.store.master_key import MasterKey

KEY = MasterKey(b"k" * 32)
Open = Callable[[Path], Awaitable[Database]]


async def open_direct(path: Path) -> Database:
    """The database of a command."""
    return DirectDatabase(path, KEY)


async def open_group(path: Path) -> Database:
    """The database of the running service."""
    return await GroupCommitDatabase.open(path, KEY)


KINDS: dict[str, Open] = {"group commit": open_group, "direct": open_direct}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the database is."""
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
async def group(path: Path) -> AsyncIterator[GroupCommitDatabase]:
    """The database of the running service."""
    opened = await GroupCommitDatabase.open(path)
    yield opened
    await opened.close()
