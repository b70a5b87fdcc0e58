"""The disk fills up, turns read-only, is locked by a stranger or vanishes: callers are told, reads go on, nothing drifts, and it passes."""

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import ClientSession

from chatsvc.app import App
from chatsvc.config import Config
from chatsvc.services.accounts import accounts
from chatsvc.store.database import StoreUnavailable
from tests.cli.support import one_line, run
from tests.conftest import Answer, Caller, new_caller
from tests.crash.books import disagreements
from tests.fakes import ADMIN, ScriptedEngine
from tests.faults.disks import Ballast, breakable_disk, make_read_only, small_disk
from tests.faults.support import told
from tests.store.inspection import locked, query
from tests.webhooks.receiver import Receiver
from tests.webhooks.support import CALL_ME, SAID, captures, hook, settled

pytestmark = pytest.mark.sqlite

UNAVAILABLE = (503, "service_unavailable")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """The data folder, on a small disk; to be asked for before `app`."""
    with small_disk(tmp_path / "data") as folder:
        yield folder


def outcome(answer: Answer) -> tuple[int, str | None]:
    """Status and code; every answer is the envelope."""
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    assert answer.json["success"] is (answer.status == 200)
    return answer.status, answer.error


async def command(app: App, tmp_path: Path, *arguments: str) -> tuple[int, str]:
    """One command through the running service: exit status, and what it says on standard error."""
    file = tmp_path / "commands.yaml"
    file.write_text(f"data_dir: {app.config.data_dir}\nmodels: {{scripted: {{engine: knowledge}}}}\n")
    done = await asyncio.to_thread(run, "-c", file, *arguments, cwd=tmp_path)
    return done.status, done.err


def sums(caller: Caller) -> tuple[int, int]:
    """Stored message counts of the account's month and of the bot."""
    database = caller.app.config.data_dir / "chatsvc.db"
    ((used,),) = query(database, "SELECT coalesce(sum(messages_used), 0) FROM allowances")
    ((bot,),) = query(database, "SELECT messages_used FROM bots WHERE id = :1", caller.bot)
    return used, bot


async def nothing_has_drifted(caller: Caller, answered: int) -> None:
    """Memory, disk and what the callers know agree."""
    used, _, bot = await told(caller)
    assert (used, bot) == await asyncio.to_thread(sums, caller) == (answered, answered)
    assert await caller.reserved() == {}
    assert await asyncio.to_thread(disagreements, caller.app.config.data_dir / "chatsvc.db") == []


async def reads_go_on(caller: Caller) -> None:
    listed = await caller.get("/conversations")
    assert outcome(listed) == (200, None)
    conversation = listed.json["data"][0]["id"]
    for path in ("/chatbots", f"/chatbots/{caller.bot}", f"/conversations/{conversation}", "/analytics"):
        assert outcome(await caller.get(path)) == (200, None)


async def many(caller: Caller, name: str, count: int = 60) -> Counter[tuple[int, str | None]]:
    """Messages at once, from as many visitors."""
    return Counter(map(outcome, await asyncio.gather(*(caller.send(SAID * 5, f"{name} {number}") for number in range(count)))))


async def test_a_full_disk_is_told_costs_nothing_and_passes_by_itself(
    disk: Path, caller: Caller, engine: ScriptedEngine, receiver: Receiver, tmp_path: Path
) -> None:
    captures(engine, CALL_ME)
    await hook(caller, receiver)
    ballast = Ballast(disk)
    answered, created = 0, ["Acme"]
    for round_ in range(2):
        healthy = await many(caller, f"{round_} healthy")
        assert set(healthy) == {(200, None)}
        answered += sum(healthy.values())
        # The last bytes go while messages and deliveries are under way, at another place each time.
        ballast.fill(leave=round_ * 200_000 or 4096)
        under_load = await many(caller, f"{round_} filling", 200)
        ballast.fill()
        full: Counter[tuple[int, str | None]] = Counter()
        for number in range(20):  # the log may have room of its own, from before it was last emptied
            full += await many(caller, f"{round_} full {number}")
            if full[UNAVAILABLE]:
                break
        assert set(under_load) <= {(200, None), UNAVAILABLE}
        answered += under_load[200, None] + full[200, None]
        ballast.fill()
        assert full[UNAVAILABLE]
        await reads_go_on(caller)
        # A page may still have room in the log for something as small as this.
        status, output = await command(caller.app, tmp_path, "account", "create", f"Beta {round_}")
        created += [f"Beta {round_}"] if status == 0 else []
        assert status == 0 or one_line(output).startswith("the store cannot answer: ")
        used, _, bot = await told(caller)
        assert (used, bot) == (answered, answered)
        ballast.remove()
        assert (await command(caller.app, tmp_path, "account", "create", f"Gamma {round_}"))[0] == 0
        created.append(f"Gamma {round_}")
    assert outcome(await caller.send(SAID, "in the end")) == (200, None)
    answered += 1
    # Everything that was captured is told in the end, once.
    recorded = await settled(caller, answered)
    assert Counter(attempt["success"] for attempt in recorded) == {True: answered}
    assert len({json.loads(body)["data"]["id"] for body in receiver.bodies}) == len(receiver.bodies) == answered
    assert sorted(row.account.name for row in (await accounts.list_all(caller.app.services, ADMIN, limit=1000)).items) == sorted(created)
    await nothing_has_drifted(caller, answered)


async def test_a_disk_that_turns_read_only_is_told_and_reads_go_on(tmp_path: Path, config: Config, engine: ScriptedEngine) -> None:
    with breakable_disk(tmp_path / "data", tmp_path / "disk.img") as disk:
        # The running service lives on it, hence no fixture: it has to be gone before the disk is.
        async with App(config) as app, ClientSession() as session:
            app.services.engines["anthropic"] = engine
            caller = await new_caller(app, session)
            assert await many(caller, "before", 20) == {(200, None): 20}
            make_read_only(disk)
            assert await many(caller, "after", 20) == {UNAVAILABLE: 20}
            await reads_go_on(caller)
            assert (await command(app, tmp_path, "account", "create", "Beta"))[0] == 1
            assert (await told(caller))[0] == 20
            assert await caller.reserved() == {}
        with pytest.raises(StoreUnavailable, match="data cannot be used: Read-only file system"):
            async with App(config):
                pass


async def test_a_database_that_a_stranger_has_locked_is_told_and_goes_on_when_it_is_let_go(caller: Caller, engine: ScriptedEngine) -> None:
    assert await many(caller, "before", 10) == {(200, None): 10}
    db = caller.app.services.db
    await db.write(lambda connection: connection.execute("PRAGMA busy_timeout=200"))
    with locked(caller.app.config.data_dir / "chatsvc.db"):
        assert await many(caller, "meanwhile", 10) == {UNAVAILABLE: 10}
        await reads_go_on(caller)
    # One that is soon let go is waited for.
    await db.write(lambda connection: connection.execute("PRAGMA busy_timeout=5000"))
    with locked(caller.app.config.data_dir / "chatsvc.db"):
        sending = asyncio.create_task(many(caller, "after", 10))
        await asyncio.sleep(0.5)
    assert await sending == {(200, None): 10}
    await nothing_has_drifted(caller, 20)


async def test_a_data_folder_that_is_deleted_while_the_service_runs_is_no_fault_of_the_program(
    caller: Caller, engine: ScriptedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    assert await many(caller, "before", 10) == {(200, None): 10}
    await asyncio.to_thread(shutil.rmtree, caller.app.config.data_dir)
    answers = await many(caller, "after", 10)
    assert set(answers) <= {(200, None), UNAVAILABLE}
    await reads_go_on(caller)
    assert "unexpected" not in caplog.text
