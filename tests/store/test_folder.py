"""The data folder: nobody else's to read, one process at a time."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from chatsvc.store.database import StoreUnavailable
from chatsvc.store.folder import Folder, FolderInUse
from chatsvc.store.master_key import open_master_key
from tests.store.conftest import Open
from tests.store.test_database import note

pytestmark = pytest.mark.sqlite


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A folder that is not there yet."""
    return Folder(tmp_path / "some" / "where" / "data")


def modes(path: Path) -> dict[str, int]:
    """The permissions of the folder and of everything in it."""
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in (path, *path.iterdir())}


async def test_all_files_of_a_running_service_are_its_owners_alone(open_db: Open, folder: Folder) -> None:
    folder.prepare()
    lock = folder.lock()
    open_master_key(folder)
    db = await open_db(folder.database)
    await db.write(note("a"))
    found_modes = modes(folder.path)
    assert {"chatsvc.db", "chatsvc.db-wal", "chatsvc.db-shm", "master.key", "lock"} <= set(found_modes)
    assert {name: mode for name, mode in found_modes.items() if mode != (0o700 if name == "data" else 0o600)} == {}
    await db.close()
    os.close(lock)


def test_a_folder_that_others_may_read_is_closed_to_them(folder: Folder) -> None:
    folder.path.mkdir(parents=True, mode=0o755)
    folder.prepare()
    assert modes(folder.path)["data"] == 0o700


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


def test_the_lock_is_taken_once_in_a_process_too_and_what_it_starts_does_not_inherit_it(folder: Folder) -> None:
    folder.prepare()
    held = folder.lock()
    with pytest.raises(FolderInUse):
        folder.lock()
    with subprocess.Popen(["sleep", "5"], close_fds=False) as child:
        os.close(held)
        os.close(folder.lock())
        child.kill()
