"""The master key: made once, nobody else's to read, never another one for a store; and another one's taking its place."""

import json
import os
import shutil
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chatsvc import config
from chatsvc.config import Config
from chatsvc.config.values import Secret
from chatsvc.control.local_operations import run
from chatsvc.domain.refusals import Refused
from chatsvc.store import facts, sealing
from chatsvc.store.database import OtherMasterKey, StoreUnavailable
from chatsvc.store.folder import Folder
from chatsvc.store.master_key import MasterKey, open_master_key
from tests.store.conftest import Open
from tests.store.support import furnish, in_database

GIVEN = "5a" * 32


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path / "data")
    folder.prepare()
    return folder


@pytest.fixture
def settings(folder: Folder) -> Config:
    return replace(config.load(None, {}), data_dir=folder.path)


@pytest.fixture
def bot(settings: Config) -> str:
    """A bot with a webhook that keeps its events, thus with a sealed signing key."""
    run(settings, "account.create", {"name": "Acme"})
    return str(run(settings, "bot.create", {"name": "Desk"})["id"])


def key_of(folder: Folder) -> bytes:
    """The key in the folder, made where there is none yet."""
    (known,) = open_master_key(folder)._known
    return known


def keep(settings: Config, bot: str) -> None:
    """Give the bot a webhook that keeps its events."""
    run(settings, "webhook.set", {"bot": bot, "events": ["request.created"]})


def opens(settings: Config, bot: str) -> bool:
    """Whether the store opens and its signing key with it; raises where it does not."""
    return bool(run(settings, "webhook.events", {"bot": bot}) == [])


def files(folder: Folder) -> list[str]:
    return sorted(file.name for file in folder.path.iterdir() if file.name.startswith("master"))


def test_the_first_command_makes_a_master_key_of_256_bits(folder: Folder) -> None:
    key = key_of(folder)
    assert len(key) == 32
    file = folder.path / "master.key"
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == (key.hex() + "\n", 0o600)
    assert (key_of(folder), files(folder)) == (key, ["master.key"])


@pytest.mark.sqlite
def test_a_database_without_its_key_is_refused_and_gets_no_new_one(folder: Folder) -> None:
    key = key_of(folder)
    in_database(folder.database, furnish)
    file = folder.path / "master.key"
    file.unlink()
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=r"its master key .* is not: put the key back"):
            open_master_key(folder)
    assert files(folder) == []
    file.write_text(key.hex())
    assert key_of(folder) == key


@pytest.mark.parametrize(
    "garbage",
    [b"", b"\n", b"0" * 63, b"0" * 65, b"0" * 128, b"z" * 64, b"\xff" * 64, "٣".encode() * 64, b"0x" + b"0" * 62, bytes(range(128, 160))],
)
def test_a_file_that_holds_no_key_is_refused_and_left_as_it_is(folder: Folder, garbage: bytes) -> None:
    file = folder.path / "master.key"
    file.write_bytes(garbage)
    with pytest.raises(StoreUnavailable, match="does not hold a master key") as caught:
        open_master_key(folder)
    assert file.read_bytes() == garbage
    assert "0" * 32 not in str(caught.value)


def test_a_key_that_others_could_read_is_closed_to_them_and_this_is_told(folder: Folder, caplog: pytest.LogCaptureFixture) -> None:
    key, file = key_of(folder), folder.path / "master.key"
    for mode in (0o644, 0o640, 0o602):
        file.chmod(mode)
        caplog.clear()
        assert key_of(folder) == key
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert f"others could read {file}; it is closed to them now." in caplog.text
        assert "chatsvc master-key rotate" in caplog.text
    caplog.clear()
    assert (key_of(folder), caplog.text) == (key, "")


def test_a_key_that_cannot_be_closed_to_others_is_refused(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    key_of(folder)
    (folder.path / "master.key").chmod(0o644)

    def refuse(path: Path, _: int) -> None:
        raise PermissionError(1, "Operation not permitted", str(path))

    monkeypatch.setattr(Path, "chmod", refuse)
    with pytest.raises(StoreUnavailable, match=r"others may read the master key .*cannot be closed to them: Operation not permitted"):
        open_master_key(folder)


async def test_another_key_than_the_database_was_made_with_is_refused(open_db: Open, folder: Folder) -> None:
    key = MasterKey(os.urandom(32))
    db = await open_db(folder.database)
    await facts.belongs_to(db, key)
    await facts.belongs_to(db, key)
    with pytest.raises(StoreUnavailable, match="not the one this database was made with"):
        await facts.belongs_to(db, MasterKey(b"\1" * 32))
    await facts.belongs_to(db, key)
    await db.close()


def test_a_given_key_makes_no_file_and_no_other_key_opens_the_store(folder: Folder, settings: Config) -> None:
    given = replace(settings, master_key=Secret(GIVEN))
    run(given, "account.create", {"name": "Acme"})
    assert files(folder) == []
    with pytest.raises(StoreUnavailable, match=r"is not: put the key back, or give it in \$CHATSVC_MASTER_KEY"):
        run(settings, "account.list", {})
    with pytest.raises(StoreUnavailable, match=r"that the configuration gives \(master_key\) is not the one this database was made with"):
        run(replace(settings, master_key=Secret("ab" * 32)), "account.list", {})
    assert files(folder) == []
    assert len(run(given, "account.list", {})["items"]) == 1


def test_a_key_moves_from_the_folder_into_the_environment(folder: Folder, settings: Config, bot: str) -> None:
    keep(settings, bot)
    given = replace(settings, master_key=Secret((folder.path / "master.key").read_text().strip()))
    (folder.path / "master.key").unlink()
    assert opens(given, bot)
    assert files(folder) == []


def test_each_purpose_has_a_key_of_its_own() -> None:
    key = MasterKey(b"\1" * 32)
    assert len({key("check"), key("cursors"), key("secrets"), b"\1" * 32}) == 4
    assert key("check") == key.check == key("check")


MAKES_KEY = """
import sys, time
from pathlib import Path
from chatsvc import config
from chatsvc.control.client import call
document = config.read(Path(sys.argv[1]), {})
while time.time() < float(sys.argv[2]):
    pass
call(document, "account.create", {"name": "Acme"})
"""


def test_processes_that_make_the_key_at_once_get_the_same_one(folder: Folder, settings: Config) -> None:
    named = folder.path.with_name("named.yaml")
    named.write_text(f"data_dir: {folder.path}\n")
    command = [sys.executable, "-c", MAKES_KEY, str(named), str(time.time() + 0.4)]
    makers = [subprocess.Popen(command) for _ in range(6)]
    assert [maker.wait(timeout=30) for maker in makers] == [0] * 6
    assert files(folder) == ["master.key"]
    assert len(run(settings, "account.list", {})["items"]) == 6


@pytest.mark.parametrize("given", [{}, {"key": GIVEN}])
def test_rotating_takes_another_key_or_the_given_one_and_seals_all_anew(
    folder: Folder, settings: Config, bot: str, given: dict[str, str]
) -> None:
    keep(settings, bot)
    old = key_of(folder)
    rotated = run(settings, "master_key.rotate", given)
    assert list(rotated) == ["rotated_at", "resealed", "unusable", "master_key"]
    assert (rotated["resealed"], rotated["unusable"], rotated["master_key"]) == (1, 0, str(folder.path / "master.key"))
    assert key_of(folder) != old
    assert key_of(folder).hex() == given.get("key", key_of(folder).hex())
    assert opens(settings, bot)
    assert files(folder) == ["master.key"]
    with pytest.raises(StoreUnavailable, match="not the one"):
        run(replace(settings, master_key=Secret(old.hex())), "account.list", {})


def test_a_given_key_is_rotated_to_one_that_is_given_too(folder: Folder, settings: Config) -> None:
    given = replace(settings, master_key=Secret(GIVEN))
    run(given, "account.create", {"name": "Acme"})
    bot = str(run(given, "bot.create", {"name": "Desk"})["id"])
    keep(given, bot)
    with pytest.raises(Refused, match="master_key_configured"):
        run(given, "master_key.rotate", {})
    rotated = run(given, "master_key.rotate", {"key": "c3" * 32})
    assert (rotated["resealed"], rotated["master_key"], files(folder)) == (1, None, [])
    with pytest.raises(StoreUnavailable, match="not the one"):
        run(given, "account.list", {})
    assert opens(replace(settings, master_key=Secret("c3" * 32)), bot)


async def test_a_key_that_another_process_has_changed_meanwhile_is_not_changed_again(open_db: Open, tmp_path: Path) -> None:
    first, second, third = (MasterKey(bytes([number]) * 32) for number in range(3))
    db = await open_db(tmp_path / "chatsvc.db")
    await facts.belongs_to(db, first)
    assert await sealing.reseal(db, first, second.check, lambda *_: None) == (0, 0)
    with pytest.raises(OtherMasterKey):
        await sealing.reseal(db, first, third.check, lambda *_: None)
    assert await facts.check(db) == second.check
    await db.close()


@pytest.mark.sqlite
def test_a_signing_key_that_cannot_be_opened_is_counted_and_left(folder: Folder, settings: Config, bot: str) -> None:
    keep(settings, bot)
    broken = "UPDATE webhooks SET signing_key = x'0102'"
    in_database(folder.database, lambda db: db.write(lambda connection: connection.execute(broken).rowcount))
    rotated = run(settings, "master_key.rotate", {})
    assert (rotated["resealed"], rotated["unusable"]) == (0, 1)
    with pytest.raises(Refused, match="signing_key_unusable"):
        opens(settings, bot)


@pytest.mark.parametrize("draft", ["", "5a" * 31, "5a" * 32])
def test_a_draft_that_the_store_does_not_belong_to_is_dropped(folder: Folder, settings: Config, bot: str, draft: str) -> None:
    key = key_of(folder)
    (folder.path / "master.key.next").write_text(draft)
    run(settings, "bot.show", {"bot": bot})
    assert (files(folder), key_of(folder)) == (["master.key"], key)


def test_a_key_that_was_just_being_made_when_the_first_command_was_killed_becomes_the_key(folder: Folder, settings: Config) -> None:
    (folder.path / "master.key.next").write_text(GIVEN)
    run(settings, "account.create", {"name": "Acme"})
    assert (files(folder), key_of(folder).hex()) == (["master.key"], GIVEN)


# Rotates in a child process for each line of what takes part in it, and kills it there.
STOPS = """
import json, os, shutil, signal, sys, threading
from dataclasses import replace
from pathlib import Path
from chatsvc import config
from chatsvc.control.local_operations import run
from chatsvc.store import sealing
from chatsvc.store.master_key import MasterKey
import chatsvc.store, chatsvc.services.operations.system
sealing.seal(MasterKey(bytes(32)), "", "", "")
made, places = Path(sys.argv[1]), ("/chatsvc/store/", "/chatsvc/services/operations/system.py")

def rotate(folder, line):
    seen = 0

    def trace(frame, event, _):
        nonlocal seen
        file = frame.f_code.co_filename
        # Until the rotation begins the store is opened as by any command.
        if not (places[0] in file and seen or places[1] in file):
            return None
        if event == "line":
            seen += 1
            if seen == line:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    threading.settrace(trace)
    sys.settrace(trace)
    run(replace(config.load(None, {}), data_dir=folder), "master_key.rotate", {})
    os._exit(0)

line, ended = 0, None
while ended != 0:
    line += 7
    folder = made.with_name(f"killed-{line}")
    shutil.copytree(made, folder)
    child = os.fork()
    if not child:
        rotate(folder, line)
    ended = os.waitpid(child, 0)[1]
    assert ended in (0, signal.SIGKILL), ended
print(json.dumps(line))
"""


@pytest.mark.slow
def test_killed_at_every_seventh_line_of_a_rotation_the_store_opens_with_one_key(folder: Folder, settings: Config, bot: str) -> None:
    keep(settings, bot)
    old = key_of(folder)
    done = subprocess.run([sys.executable, "-c", STOPS, str(folder.path)], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    lines: Any = json.loads(done.stdout)
    assert lines > 100
    left, changed = set[tuple[str, ...]](), set[bool]()
    for line in range(7, lines + 1, 7):
        killed = Folder(folder.path.with_name(f"killed-{line}"))
        here = replace(settings, data_dir=killed.path)
        left.add(tuple(files(killed)))
        assert opens(here, bot), line
        changed.add(key_of(killed) != old)
        assert files(killed) == ["master.key"], line
        shutil.rmtree(killed.path)
    # Else it was never killed where it matters.
    assert left >= {("master.key",), ("master.key", "master.key.next")}
    assert changed == {False, True}
