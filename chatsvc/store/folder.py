"""The data folder: 0700, files 0600, the master key, and the lock that admits one process to the database."""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
from pathlib import Path

from chatsvc.store.database import StoreUnavailable

DATABASE = "chatsvc.db"
MASTER_KEY = "master.key"
LOCK = "lock"


class FolderInUse(Exception):
    """Another process holds the data folder."""


class Folder:
    """The data folder of one service; made, with its master key, by the first command that needs it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def database(self) -> Path:
        """The SQLite file."""
        return self.path / DATABASE

    def prepare(self) -> bytes:
        """Make the folder and the master key where there is none yet, and read the key (32 bytes).

        Raises StoreUnavailable where there is a database without its key: a new key could not read what the old one sealed.
        """
        # SQLite makes its files as the process's mask allows, and they are nobody else's to read.
        os.umask(0o077)
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.path.stat().st_mode & 0o077:
                self.path.chmod(0o700)
            return self._master_key()
        except OSError as fault:
            raise StoreUnavailable(f"the data folder {self.path} cannot be used: {fault.strerror or fault}") from fault

    def _master_key(self) -> bytes:
        file = self.path / MASTER_KEY
        # Looked at before the key: another process that is just making both makes the key first.
        has_database = self.database.exists()
        try:
            text = file.read_text("ascii").strip()
        except FileNotFoundError:
            if has_database:
                raise StoreUnavailable(f"{self.database} is there but its master key {file} is not: put the key back") from None
            return self._make_master_key(file)
        except UnicodeDecodeError:
            text = ""
        try:
            key = bytes.fromhex(text)
        except ValueError:
            key = b""
        if len(key) != 32:
            raise StoreUnavailable(f"{file} does not hold a master key (64 hexadecimal digits)")
        return key

    def _make_master_key(self, file: Path) -> bytes:
        key = os.urandom(32)
        # Written whole under another name and linked into place: neither a crash nor a second command leaves half a key.
        draft = file.with_name(f"{MASTER_KEY}.{os.getpid()}")
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            os.write(descriptor, key.hex().encode() + b"\n")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        try:
            os.link(draft, file)
        except FileExistsError:
            return self._master_key()
        finally:
            draft.unlink()
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return key

    def lock(self) -> int:
        """Take the folder for this process until it ends or closes the descriptor; raises FolderInUse."""
        descriptor = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise FolderInUse(str(self.path)) from None
        return descriptor


def derive(master_key: bytes, purpose: str) -> bytes:
    """A key of its own for each purpose, so that no two uses share one."""
    return hmac.digest(master_key, b"chatsvc " + purpose.encode(), hashlib.sha256)
