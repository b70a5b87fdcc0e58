"""A store for the services alone, with an account and a bot."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from chatsvc.store.database import Database
from tests.postgres import open_store
from tests.store.support import furnish


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chatsvc.db"


@pytest.fixture
async def db(path: Path) -> AsyncIterator[Database]:
    opened = await open_store(path)
    await furnish(opened)
    yield opened
    await opened.close()
