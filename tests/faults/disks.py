"""Small file systems that can be made to fail. Mounting needs root; other users skip these tests."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

MB = 1024 * 1024


def _mount(*arguments: str | Path) -> bool:
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode == 0


@contextmanager
def _mounted(folder: Path, *arguments: str | Path) -> Iterator[Path]:
    folder.mkdir(mode=0o700, exist_ok=True)
    if os.geteuid() != 0 or not _mount(*arguments, folder):
        pytest.skip("file systems cannot be mounted here")
    try:
        yield folder
    finally:
        # Lazily: a test that fails may have left a file open in it.
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def small_disk(folder: Path, size: int = 16 * MB) -> Iterator[Path]:
    """A file system of that size in memory."""
    with _mounted(folder, "-t", "tmpfs", "-o", f"size={size},mode=0700", "chatsvc-test") as mounted:
        yield mounted


@contextmanager
def breakable_disk(folder: Path, image: Path, size: int = 32 * MB) -> Iterator[Path]:
    """A file system in a file, which `make_read_only` can take away from under open files."""
    with image.open("wb") as file:
        file.truncate(size)
    with suppress(FileNotFoundError):
        if subprocess.run(["mkfs.ext4", "-q", "-F", image], capture_output=True, check=False).returncode == 0:
            with _mounted(folder, "-o", "loop", image) as mounted:
                yield mounted
            return
    pytest.skip("no file system can be made here")


def make_read_only(folder: Path) -> None:
    """Make the file system read-only, open files included, as Linux does after an error."""
    assert _mount("-o", "remount,abort", folder)


class Ballast:
    """Fills a disk to its last byte, and makes room again."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "ballast"

    def fill(self, leave: int = 0) -> None:
        with self._file.open("ab", buffering=0) as file:
            with suppress(OSError):
                while file.write(b"\0" * 65536):
                    pass
            with suppress(OSError):
                while file.write(b"\0" * 512):
                    pass
            if leave:
                file.truncate(file.tell() - leave)

    def remove(self) -> None:
        self._file.unlink(missing_ok=True)
