"""The data folder. It is created with mode 0700, its files with 0600, and it is locked for one process."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chatsvc.store.database import StoreUnavailable

DATABASE = "chatsvc.db"
LOCK = "lock"
# One of these makes a folder a data folder ...
_MARKS = frozenset({LOCK, DATABASE, "master.key", "master.key.next"})
# ... and these may lie in one that is to become a data folder: a mount point's, or prepared by the administrator.
_HARMLESS = frozenset({"lost+found", "backups", "acme"})


class FolderInUse(Exception):
    """Another process has locked the data folder."""


class Folder:
    """The data folder of one service. The first command that needs the folder creates it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.path / DATABASE

    def prepare(self) -> None:
        """Create the folder if it does not exist, and close it to other users; raises StoreUnavailable.

        A folder is not changed if it belongs to another user or contains files of another program.
        """
        # SQLite creates its files under the process's umask; no other user may read them.
        os.umask(0o077)
        try:
            if not os.path.lexists(self.path):
                self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                self._close_to_others(descriptor)
            finally:
                os.close(descriptor)
        except OSError as fault:
            raise StoreUnavailable(f"the data folder {self.path} cannot be used: {fault.strerror or fault}") from fault

    def _close_to_others(self, descriptor: int) -> None:
        status = os.fstat(descriptor)
        if status.st_uid != os.geteuid():
            raise StoreUnavailable(f"the data folder {self.path} cannot be used: it belongs to another user")
        names = set(os.listdir(descriptor))
        if not names & _MARKS and names - _HARMLESS:
            raise StoreUnavailable(
                f"the data folder {self.path} cannot be used: it holds something else; set data_dir to an empty folder or a new one"
            )
        if status.st_mode & 0o077:
            os.fchmod(descriptor, 0o700)

    def lock(self) -> int:
        """Lock the folder until the descriptor is closed; raises FolderInUse and StoreUnavailable."""
        try:
            descriptor = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as fault:
            raise StoreUnavailable(f"the data folder {self.path} cannot be used: {fault.strerror or fault}") from fault
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise FolderInUse(str(self.path)) from None
        return descriptor

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock during a `with` block; raises the same exceptions as `lock`."""
        descriptor = self.lock()
        try:
            yield
        finally:
            os.close(descriptor)


def write_private(file: Path, content: bytes) -> None:
    """Replace a file atomically. Only its owner may read it. Raises OSError."""
    draft = file.with_name(f"{file.name}.draft")
    draft.unlink(missing_ok=True)
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    draft.replace(file)
    sync_names(file.parent)


def sync_names(folder: Path) -> None:
    """Flush the directory entries of a folder to the disk, so that they survive a power cut. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
