"""The service's user: the data folder's owner. What root may do says nothing about what the service may."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACKAGED = "chatsvc"  # whom the Debian package runs the service as


@contextmanager
def acting_as_owner(folder: Path) -> Iterator[None]:
    """As root, be the owner of `folder` for a moment, with all groups of that user; nothing may be imported within."""
    try:
        owner = folder.stat()
    except OSError:
        yield
        return
    if os.geteuid() != 0 or owner.st_uid == 0:
        yield
        return
    before = os.getegid(), os.getgroups()
    os.setgroups(_groups(owner.st_uid, owner.st_gid))
    os.setegid(owner.st_gid)
    os.seteuid(owner.st_uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(before[0])
        os.setgroups(before[1])


def name(folder: Path) -> str:
    """Who it is, for people."""
    owner = folder.stat().st_uid
    try:
        return pwd.getpwuid(owner).pw_name
    except KeyError:
        return str(owner)


def packaged() -> bool:
    """Whether there is the user that the Debian package makes for the service."""
    try:
        pwd.getpwnam(PACKAGED)
    except KeyError:
        return False
    return True


def writable(path: Path) -> bool:
    """Whether the one who is acting may write it."""
    return os.access(path, os.W_OK, effective_ids=True)


def _groups(uid: int, gid: int) -> list[int]:
    try:
        user = pwd.getpwuid(uid)
    except KeyError:
        return [gid]
    return os.getgrouplist(user.pw_name, gid)
