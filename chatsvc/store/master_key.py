"""The master key: reading and creating it, deriving keys for each purpose, and replacing it in a rotation.

A rotation has three steps: write the new key beside the old one (`master.key.next`); seal all secrets with it and replace the store's
check value, in one transaction; rename the new file. The check value tells which key is in force, so the store opens after a crash
between any two steps, and the next start completes the rotation or drops it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from pathlib import Path

from chatsvc.store.database import OtherMasterKey, StoreUnavailable
from chatsvc.store.folder import Folder, sync_names, write_private

MASTER_KEY = "master.key"
NEXT = "master.key.next"
_HEX = re.compile(rb"\A\s*+([0-9a-fA-F]{64})\s*", re.ASCII)


def derive(master_key: bytes, purpose: str) -> bytes:
    """Derive a key for one purpose by HMAC-SHA-256. No two uses share a key."""
    return hmac.digest(master_key, b"chatsvc " + purpose.encode(), hashlib.sha256)


class MasterKey:
    """The master keys that this process knows: the key in force, and during a rotation also the other key.

    Called with a purpose, it returns a derived key of 32 bytes. `file` contains the key; it is None if the configuration gives the key.
    """

    def __init__(self, *known: bytes, file: Path | None = None) -> None:
        self._known = known
        self.file = file
        self.changing = False

    def __call__(self, purpose: str) -> bytes:
        """Derive the key for a purpose from the key in force."""
        return derive(self._known[0], purpose)

    def every(self, purpose: str) -> list[bytes]:
        """Derive the keys for a purpose from all known keys. The key in force comes first."""
        return [derive(key, purpose) for key in self._known]

    @property
    def in_force(self) -> bytes:
        """The master key itself, for a backup that contains it."""
        return self._known[0]

    @property
    def check(self) -> bytes:
        """The check value, by which a store identifies its key."""
        return self("check")

    def of(self, check: bytes) -> MasterKey:
        """Return the known key with this check value; raises OtherMasterKey."""
        for key in self._known:
            if hmac.compare_digest(derive(key, "check"), check):
                return MasterKey(key)
        given = "" if self.file else " that the configuration gives (master_key)"
        raise OtherMasterKey(f"the master key{given} is not the one this database was made with")

    def expect(self, new: bytes) -> None:
        """Add the new key of a rotation. If the old key is in the data folder, write the new key there too. Raises OSError."""
        if self.file:
            _write(self.file.with_name(NEXT), new)
        self._known = (*self._known, new)

    def settle(self, check: bytes) -> None:
        """Put the key with the store's check value in force and rename its file. Raises StoreUnavailable and OSError."""
        (key,) = self.of(check)._known  # noqa: SLF001  # of the same class
        # One assignment: the writer's thread may read the keys at any time.
        self._known = (key, *(known for known in self._known if known != key))
        if self.file is None:
            return
        draft = self.file.with_name(NEXT)
        if not draft.exists():
            return
        if read_key(draft) == key:
            draft.replace(self.file)
        else:
            draft.unlink()
        sync_names(self.file.parent)


def keep_master_key(folder: Folder, key: bytes, aside: str) -> Path:
    """Write a key into the data folder. An existing key file is kept under a name that ends in `aside`. Raises OSError."""
    file = folder.path / MASTER_KEY
    if file.exists():
        os.link(file, file.with_name(f"{MASTER_KEY}{aside}"))
    _write(file, key)
    file.with_name(NEXT).unlink(missing_ok=True)
    sync_names(folder.path)
    return file


def open_master_key(folder: Folder, given: bytes | None = None) -> MasterKey:
    """Return the given key, or else the key in the data folder. For a new store, create it. The caller must hold the folder's lock.

    Raises StoreUnavailable for a database without its key: a new key could not open the sealed secrets.
    """
    if given is not None:
        return MasterKey(given)
    file = folder.path / MASTER_KEY
    try:
        if file.exists():
            _close_to_others(file)
            if read_key(file) is None:
                raise StoreUnavailable(f"{file} does not hold a master key (64 hexadecimal digits)")
        for name in (MASTER_KEY, NEXT):
            file.with_name(f"{name}.draft").unlink(missing_ok=True)  # of a process that was killed while it wrote a key
        # Nothing was sealed with an incomplete draft.
        keys = [key for each in (file, file.with_name(NEXT)) if each.exists() and (key := read_key(each))]
        if not keys:
            if folder.database.exists():
                raise StoreUnavailable(
                    f"{folder.database} is there but its master key {file} is not: put the key back, or give it in $CHATSVC_MASTER_KEY"
                )
            keys = [os.urandom(32)]
            # Complete and on the disk before anything is sealed with it.
            _write(file, keys[0])
    except OSError as fault:
        raise StoreUnavailable(f"the master key {file} cannot be used: {fault.strerror or fault}") from fault
    return MasterKey(*keys, file=file)


def read_key(file: Path) -> bytes | None:
    """Read the master key in a file. Return None if the file holds none; raises OSError."""
    match = _HEX.fullmatch(file.read_bytes())
    return bytes.fromhex(match[1].decode()) if match else None


def _write(file: Path, key: bytes) -> None:
    write_private(file, key.hex().encode() + b"\n")


def _close_to_others(file: Path) -> None:
    if not file.stat().st_mode & 0o077:
        return
    try:
        file.chmod(0o600)
    except OSError as fault:
        raise StoreUnavailable(f"others may read the master key {file}, and it cannot be closed to them: {fault.strerror}") from fault

    # Imported here: commands start faster without it.
    import logging

    logging.getLogger(__name__).warning(
        "others could read %s; it is closed to them now. If somebody may have read it: chatsvc master-key rotate", file
    )
