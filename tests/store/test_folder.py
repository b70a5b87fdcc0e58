"""The data folder: nobody else's to read, one master key for good, one process at a time."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from chatsvc import config
from chatsvc.control.alone import run
from chatsvc.store import facts
from chatsvc.store.database import StoreUnavailable
from chatsvc.store.direct import DirectDatabase, finish
from chatsvc.store.folder import Folder, FolderInUse, derive
from tests.store.conftest import Open
from tests.store.test_database import note


@pytest.fixture(autouse=True)
def _same_mask() -> Iterator[None]:
    """Preparing a folder narrows the process's mask; the next test begins with the usual one."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A folder that is not there yet."""
    return Folder(tmp_path / "some" / "where" / "data")


def modes(path: Path) -> dict[str, int]:
    """The permissions of the folder and of everything in it."""
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in (path, *path.iterdir())}


def test_the_first_command_makes_the_folder_and_a_master_key_of_256_bits(folder: Folder) -> None:
    key = folder.prepare()
    assert len(key) == 32
    assert modes(folder.path) == {"data": 0o700, "master.key": 0o600}
    assert (folder.path / "master.key").read_text() == key.hex() + "\n"
    assert folder.prepare() == key


async def test_all_files_of_a_running_service_are_its_owners_alone(open_db: Open, folder: Folder) -> None:
    folder.prepare()
    lock = folder.lock()
    db = await open_db(folder.database)
    await db.write(note("a"))
    found = modes(folder.path)
    assert {"chatsvc.db", "chatsvc.db-wal", "chatsvc.db-shm", "master.key", "lock"} <= set(found)
    assert {name: mode for name, mode in found.items() if mode != (0o700 if name == "data" else 0o600)} == {}
    await db.close()
    os.close(lock)


def test_a_folder_that_others_may_read_is_closed_to_them(folder: Folder) -> None:
    folder.path.mkdir(parents=True, mode=0o755)
    folder.prepare()
    assert modes(folder.path)["data"] == 0o700


def test_a_database_without_its_key_is_refused_and_gets_no_new_one(folder: Folder) -> None:
    key = folder.prepare()
    finish(DirectDatabase(folder.database).close())
    file = folder.path / "master.key"
    file.unlink()
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match=r"its master key .* is not: put the key back"):
            folder.prepare()
    assert not file.exists()
    file.write_text(key.hex())
    assert folder.prepare() == key


@pytest.mark.parametrize(
    "garbage", [b"", b"\n", b"0" * 63, b"0" * 65, b"0" * 128, b"z" * 64, b"\xff" * 64, "٣".encode() * 64, b"0x" + b"0" * 62, os.urandom(32)]
)
@pytest.mark.parametrize("with_database", [True, False])
def test_a_file_that_holds_no_key_is_refused_and_left_as_it_is(folder: Folder, garbage: bytes, with_database: bool) -> None:
    folder.prepare()
    if with_database:
        finish(DirectDatabase(folder.database).close())
    file = folder.path / "master.key"
    file.write_bytes(garbage)
    with pytest.raises(StoreUnavailable, match="does not hold a master key") as caught:
        folder.prepare()
    assert file.read_bytes() == garbage
    assert "0" * 32 not in str(caught.value)


async def test_another_key_than_the_database_was_made_with_is_refused(open_db: Open, folder: Folder) -> None:
    key = folder.prepare()
    db = await open_db(folder.database)
    await facts.belongs_to(db, derive(key, "check"))
    await facts.belongs_to(db, derive(key, "check"))
    with pytest.raises(StoreUnavailable, match="not the one this database was made with"):
        await facts.belongs_to(db, derive(b"\1" * 32, "check"))
    await facts.belongs_to(db, derive(key, "check"))
    await db.close()


def test_a_command_with_another_key_changes_nothing(folder: Folder) -> None:
    settings = replace(config.load(None, {}), data_dir=folder.path)
    run(settings, "account.create", {"name": "Acme"})
    (folder.path / "master.key").write_text("ab" * 32)
    with pytest.raises(StoreUnavailable, match="not the one this database was made with"):
        run(settings, "account.create", {"name": "Other"})


def test_each_purpose_has_a_key_of_its_own(folder: Folder) -> None:
    key = folder.prepare()
    made = {derive(key, purpose) for purpose in ("check", "cursors", "secrets")}
    assert len(made) == 3
    assert key not in made
    assert derive(key, "check") == derive(key, "check")


MAKES_KEY = """
import sys, time
from pathlib import Path
from chatsvc.store.folder import Folder
while time.time() < float(sys.argv[2]):
    pass
print(Folder(Path(sys.argv[1])).prepare().hex())
"""


def test_processes_that_make_the_key_at_once_get_the_same_one(folder: Folder) -> None:
    together = str(time.time() + 0.4)
    command = [sys.executable, "-c", MAKES_KEY, str(folder.path), together]
    makers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(6)]
    keys = {maker.communicate(timeout=20)[0].strip() for maker in makers}
    assert [maker.returncode for maker in makers] == [0] * 6
    assert keys == {folder.prepare().hex()}
    assert [file.name for file in folder.path.iterdir()] == ["master.key"]


def test_a_key_and_a_database_that_another_command_makes_meanwhile_are_taken(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between our look for the key and our look for the database, another command makes both."""
    made: list[bytes] = []
    read_text = Path.read_text

    def overtaken(path: Path, *arguments: str) -> str:
        monkeypatch.undo()
        try:
            return read_text(path, *arguments)
        finally:
            made.append(folder.prepare())
            finish(DirectDatabase(folder.database).close())

    monkeypatch.setattr(Path, "read_text", overtaken)
    key = folder.prepare()
    assert [key] == made


def test_threads_cannot_be_handed_half_a_key(folder: Folder) -> None:
    keys: list[bytes] = []
    threads = [threading.Thread(target=lambda: keys.append(Folder(folder.path).prepare())) for _ in range(4)]
    folder.prepare()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(keys) == {folder.prepare()}


def test_a_path_that_cannot_be_a_folder_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "data", tmp_path / ("x" * 300)):
        with pytest.raises(StoreUnavailable) as caught:
            Folder(path).prepare()
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)


HOLDS = """
import sys, time
from pathlib import Path
from chatsvc.store.folder import Folder
folder = Folder(Path(sys.argv[1]))
folder.lock()
print("held", flush=True)
time.sleep(60)
"""


def test_one_process_holds_the_folder_until_it_ends_however_it_ends(folder: Folder) -> None:
    folder.prepare()
    with subprocess.Popen([sys.executable, "-c", HOLDS, str(folder.path)], stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(FolderInUse):
            folder.lock()
        holder.send_signal(signal.SIGKILL)
    os.close(folder.lock())


def test_the_lock_is_taken_once_in_a_process_too_and_given_back_by_closing_it(folder: Folder) -> None:
    folder.prepare()
    held = folder.lock()
    with pytest.raises(FolderInUse):
        folder.lock()
    os.close(held)
    os.close(folder.lock())


def test_the_lock_is_not_inherited_by_what_the_process_starts(folder: Folder) -> None:
    folder.prepare()
    held = folder.lock()
    with subprocess.Popen(["sleep", "5"], close_fds=False) as child:
        os.close(held)
        os.close(folder.lock())
        child.kill()
