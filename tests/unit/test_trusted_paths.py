"""Paths as root: followed only where no other user could have changed where they lead."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatsvc.domain.errors import CommandError
from chatsvc.trusted_paths import open_trusted, resolved

OTHER, THIRD = 1234, 4321


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder of root's in /tmp, whose sticky bit keeps others from renaming it."""
    if os.geteuid() != 0:
        pytest.skip("only root can give files away")
    folder = Path(tempfile.mkdtemp(prefix="chatsvc-test-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def made(path: Path, uid: int = 0, mode: int = 0o644) -> Path:
    """A file of a user's."""
    path.write_text(path.name)
    path.chmod(mode)
    os.chown(path, uid, uid)
    return path


def folder(path: Path, uid: int = 0, mode: int = 0o755, gid: int | None = None) -> Path:
    """A folder of a user's."""
    path.mkdir()
    path.chmod(mode)
    os.chown(path, uid, uid if gid is None else gid)
    path.chmod(mode)
    return path


def link(path: Path, target: Path | str, uid: int = 0) -> Path:
    """A link of a user's."""
    path.symlink_to(target)
    os.chown(path, uid, uid, follow_symlinks=False)
    return path


def read(path: Path) -> str:
    """The content of the file at the end of a path."""
    with os.fdopen(open_trusted(path), "rb") as stream:
        return stream.read().decode()


def test_files_and_links_of_roots_are_followed(place: Path) -> None:
    made(place / "file")
    folder(place / "deep")
    link(place / "deep" / "up", "../file")
    link(place / "absolute", place / "deep" / "up")
    assert {read(place / name) for name in ("file", "deep/up", "absolute", "./deep/../file")} == {"file"}


def test_a_users_own_files_are_reached_through_its_own_folders_and_links(place: Path) -> None:
    home = folder(place / "home", OTHER)
    made(home / "file", OTHER)
    link(home / "link", "file", OTHER)
    assert (read(home / "file"), read(home / "link")) == ("file", "file")


def test_what_a_user_could_have_redirected_is_refused(place: Path) -> None:
    home, secret = folder(place / "home", OTHER), made(place / "secret", mode=0o600)
    made(home / "roots")
    made(home / "anothers", THIRD)
    link(home / "link", secret, OTHER)
    link(home / "up", "..", OTHER)
    link(place / "in-roots-folder", "secret", OTHER)
    folder(home / "inner")
    made(home / "inner" / "file")
    for name in ("home/roots", "home/anothers", "home/link", "home/up/secret", "in-roots-folder", "home/inner/file", "home/../secret"):
        with pytest.raises(CommandError, match=f"is not opened as root: the user {OTHER} may change"):
            open_trusted(place / name)


@pytest.mark.parametrize(("mode", "gid", "is_open"), [(0o777, 0, True), (0o775, OTHER, True), (0o1777, 0, False), (0o775, 0, False)])
def test_a_file_of_roots_in_a_folder_that_others_may_write_is_refused_unless_it_is_sticky(
    place: Path, mode: int, gid: int, *, is_open: bool
) -> None:
    shared = folder(place / "shared", mode=mode, gid=gid)
    made(shared / "file")
    made(shared / "theirs", OTHER)
    assert read(shared / "theirs") == "theirs"
    if is_open:
        with pytest.raises(CommandError, match="others may change"):
            open_trusted(shared / "file")
    else:
        assert read(shared / "file") == "file"


def test_faults_are_those_of_open(place: Path) -> None:
    made(place / "file")
    link(place / "loop", "loop")
    link(place / "dangling", "nowhere")
    for name, fault in (("nowhere", FileNotFoundError), ("no/where", FileNotFoundError), ("dangling", FileNotFoundError)):
        with pytest.raises(fault):
            open_trusted(place / name)
    with pytest.raises(NotADirectoryError):
        open_trusted(place / "file" / "in")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        open_trusted(place / "loop")


def test_a_descriptor_of_the_process_itself_can_be_named(place: Path) -> None:
    made(place / "file")
    with (place / "file").open("rb") as stream:
        assert read(Path(f"/dev/fd/{stream.fileno()}")) == "file"
    reader, writer = os.pipe()
    os.write(writer, b"piped")
    os.close(writer)
    assert read(Path(f"/dev/fd/{reader}")) == "piped"
    os.close(reader)


def test_descriptors_are_closed(place: Path) -> None:
    made(place / "file")
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    for _ in range(3):
        os.close(open_trusted(place / "file"))
        with pytest.raises(FileNotFoundError), resolved(place / "no" / "where"):
            pass
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) == before
