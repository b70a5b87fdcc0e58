"""The data folder: 0700, files 0600, and the lock that admits one process to what is in it."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from chatsvc.store.database import StoreUnavailable

DATABASE = "chatsvc.db"
LOCK = "lock"


class FolderInUse(Exception):
    """Another process holds the data folder."""


class Folder:
    """The data folder of one service; made by the first command that needs it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.path / DATABASE

    def prepare(self) -> None:
        """Make the folder where there is none yet, and close it to others; raises StoreUnavailable."""
        # SQLite makes its files as the process's mask allows, and they are nobody else's to read.
        os.umask(0o077)
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.path.stat().st_mode & 0o077:
                self.path.chmod(0o700)
        except OSError as fault:
            raise StoreUnavailable(f"the data folder {self.path} cannot be used: {fault.strerror or fault}") from fault

    def lock(self) -> int:
        """Take the folder for this process until it ends or closes the descriptor; raises FolderInUse and StoreUnavailable."""
        try:
            descriptor = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as fault:
            raise StoreUnavailable(f"the data folder {self.path} cannot be used: {fault.strerror or fault}") from fault
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise FolderInUse(str(self.path)) from None
        return descriptor


def sync_names(folder: Path) -> None:
    """Have the names in a folder on the disk: what was made, renamed or removed there is so after a power cut, too. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
