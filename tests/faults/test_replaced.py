"""The database's files are removed or replaced under the running service: it notices, writes nothing more, and reads on."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from chatsvc import workers
from chatsvc.app import App
from chatsvc.config import Config
from tests.api.support import fetch
from tests.conftest import Caller
from tests.fakes import FakeClock, ScriptedEngine

pytestmark = pytest.mark.sqlite


@pytest.fixture(autouse=True)
def looks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a test need not wait."""
    assert workers.FILES_EVERY_S < 10
    monkeypatch.setattr(workers, "FILES_EVERY_S", 0.02)


def replaced(database: Path) -> None:
    """Put a copy into its place, as a careless restore does."""
    copy = database.with_name("copy")
    shutil.copyfile(database, copy)
    copy.replace(database)


CHANGES: dict[str, Callable[[Path], object]] = {
    "removed": Path.unlink,
    "moved away": lambda database: database.rename(database.with_name("elsewhere")),
    "replaced": replaced,
    "its log removed": lambda database: database.with_name(f"{database.name}-wal").unlink(),
    "the folder moved away": lambda database: database.parent.rename(database.parent.with_name("elsewhere")),
}


async def ready(caller: Caller, wanted: int) -> None:
    """Wait until the service says of itself that it can work, or cannot."""
    async with asyncio.timeout(20):
        while (await fetch(caller.session, "GET", f"{caller.app.url}/readyz")).status != wanted:  # noqa: ASYNC110  # what is waited for happens inside of the service
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("change", CHANGES)
async def test_nothing_is_written_and_reading_goes_on(
    caller: Caller, config: Config, change: str, caplog: pytest.LogCaptureFixture
) -> None:
    assert (await caller.send("hello", "v")).status == 200
    await ready(caller, 200)
    CHANGES[change](config.data_dir / "chatsvc.db")
    await ready(caller, 503)
    refused = await caller.send("hello", "v")
    assert (refused.status, refused.error) == (503, "service_unavailable")
    assert (await caller.get("/conversations")).json["pagination"]["total"] == 1
    assert len([record for record in caplog.records if "removed or replaced" in record.message]) >= 1
    assert len([record for record in caplog.records if record.message.startswith("nothing is written any more")]) == 1


async def test_a_restart_puts_it_right(caller: Caller, config: Config, clock: FakeClock, engine: ScriptedEngine) -> None:
    assert (await caller.send("hello", "v")).status == 200
    database = config.data_dir / "chatsvc.db"
    database.rename(config.data_dir / "elsewhere")
    await ready(caller, 503)
    await caller.app.stop()
    (config.data_dir / "elsewhere").rename(database)
    async with App(config, clock) as again:
        again.services.engines["anthropic"] = engine
        there = Caller(again, caller.session, caller.account, caller.bot, caller.key)
        assert (await there.send("hello", "v")).status == 200
        assert (await there.get("/conversations")).json["pagination"]["total"] == 1


async def test_what_is_put_back_as_it_was_is_written_again(caller: Caller, config: Config) -> None:
    database = config.data_dir / "chatsvc.db"
    database.rename(config.data_dir / "elsewhere")
    await ready(caller, 503)
    (config.data_dir / "elsewhere").rename(database)
    await ready(caller, 200)
    assert (await caller.send("hello", "v")).status == 200
