"""The master key of a store: given by the configuration, or a file in the data folder; and how another one takes its place.

That has three steps: the new key is written beside the old one (`master.key.next`); all that is sealed is sealed anew and the store's
check value replaced, in one transaction; the new file takes the old one's name. The check value tells which of the two keys is the
store's, so a crash between any two steps leaves a store that opens, and the next start finishes what was begun or drops it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
from pathlib import Path

from chatsvc.store.database import StoreUnavailable
from chatsvc.store.folder import Folder, sync_names

MASTER_KEY = "master.key"
NEXT = "master.key.next"
_HEX = re.compile(rb"\s*([0-9a-fA-F]{64})\s*", re.ASCII)


def derive(master_key: bytes, purpose: str) -> bytes:
    """A key of its own for each purpose, so that no two uses share one."""
    return hmac.digest(master_key, b"chatsvc " + purpose.encode(), hashlib.sha256)


class MasterKey:
    """The keys that this process knows: the one in force, and others that what is stored may still, or already, be sealed with.

    Called with a purpose, it gives 32 bytes for it. `file` is where the key lies; None: it is given by the configuration.
    """

    def __init__(self, *known: bytes, file: Path | None = None) -> None:
        self._known = known
        self.file = file
        self.changing = False

    def __call__(self, purpose: str) -> bytes:
        """The key in force, for one purpose."""
        return derive(self._known[0], purpose)

    def every(self, purpose: str) -> list[bytes]:
        """All known keys for one purpose, the one in force first: for opening what is sealed."""
        return [derive(key, purpose) for key in self._known]

    @property
    def in_force(self) -> bytes:
        """The key itself, for a backup that is to hold it."""
        return self._known[0]

    @property
    def check(self) -> bytes:
        """What a store keeps to tell its key by."""
        return self("check")

    def of(self, check: bytes) -> MasterKey:
        """The known key that a store with this check value belongs to; raises StoreUnavailable."""
        for key in self._known:
            if hmac.compare_digest(derive(key, "check"), check):
                return MasterKey(key)
        given = "" if self.file else " that the configuration gives (master_key)"
        raise StoreUnavailable(f"the master key{given} is not the one this database was made with")

    def expect(self, new: bytes) -> None:
        """Know another key, kept on disk where this one is; the store will tell when it is in force. Raises OSError."""
        if self.file:
            _write(self.file.with_name(NEXT), new)
        self._known = (*self._known, new)

    def settle(self, check: bytes) -> None:
        """Put the key in force that the store's check value names, and its file in its place; raises StoreUnavailable and OSError."""
        (key,) = self.of(check)._known
        # At once: the thread that writes may just be asking for them.
        self._known = (key, *(known for known in self._known if known != key))
        if self.file is None:
            return
        draft = self.file.with_name(NEXT)
        if not draft.exists():
            return
        if _read(draft) == key:
            draft.replace(self.file)
        else:
            draft.unlink()
        sync_names(self.file.parent)


def keep_master_key(folder: Folder, key: bytes, aside: str) -> Path:
    """Put a key into the data folder; the one there is kept beside it, its name ending in `aside`. Raises OSError."""
    file = folder.path / MASTER_KEY
    if file.exists():
        os.link(file, file.with_name(f"{MASTER_KEY}{aside}"))
    draft = file.with_name(f"{MASTER_KEY}.restored")
    _write(draft, key)
    draft.replace(file)
    file.with_name(NEXT).unlink(missing_ok=True)
    sync_names(folder.path)
    return file


def open_master_key(folder: Folder, given: bytes | None = None) -> MasterKey:
    """The key that is given, else the data folder's, made where there is none yet. The folder's lock has to be held.

    Raises StoreUnavailable where there is a database without its key: a new key could not open what the old one sealed.
    """
    if given is not None:
        return MasterKey(given)
    file = folder.path / MASTER_KEY
    try:
        return MasterKey(*_found(folder, file), file=file)
    except OSError as fault:
        raise StoreUnavailable(f"the master key {file} cannot be used: {fault.strerror or fault}") from fault


def _found(folder: Folder, file: Path) -> list[bytes]:
    draft = file.with_name(NEXT)
    found = []
    if file.exists():
        _close_to_others(file)
        key = _read(file)
        if key is None:
            raise StoreUnavailable(f"{file} does not hold a master key (64 hexadecimal digits)")
        found.append(key)
    # Half a draft is one that nothing was sealed with.
    if draft.exists() and (key := _read(draft)):
        found.append(key)
    if not found:
        if folder.database.exists():
            raise StoreUnavailable(
                f"{folder.database} is there but its master key {file} is not: put the key back, or give it in $CHATSVC_MASTER_KEY"
            )
        found.append(os.urandom(32))
        # Whole or not at all, and for good before anything is sealed with it.
        _write(draft, found[0])
        draft.replace(file)
        sync_names(folder.path)
    return found


def _read(file: Path) -> bytes | None:
    """The key in a file; None where it holds none."""
    match = _HEX.fullmatch(file.read_bytes())
    return bytes.fromhex(match[1].decode()) if match else None


def _write(file: Path, key: bytes) -> None:
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(descriptor, key.hex().encode() + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    sync_names(file.parent)


def _close_to_others(file: Path) -> None:
    if not file.stat().st_mode & 0o077:
        return
    try:
        file.chmod(0o600)
    except OSError as fault:
        raise StoreUnavailable(f"others may read the master key {file}, and it cannot be closed to them: {fault.strerror}") from fault

    # Imported where it is needed: commands start without it.
    import logging

    logging.getLogger(__name__).warning(
        "others could read %s; it is closed to them now. If somebody may have read it: chatsvc master-key rotate", file
    )
