"""Paths that root opens: none that another user could have led to a file of root's.

The rule is that of CHASE_SAFE in systemd, with directory permissions added. Behind a folder or symbolic link that an unprivileged user
owns, or may write, only files of that same user are reached. A path is judged after it was opened: whatever another user changes meanwhile
does not become root's. Other users need no such check: the kernel's own suffices for them.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from chatsvc.domain.errors import CommandError

MOST_LINKS = 40
_ANYBODY = -1
_PLACE = os.O_PATH | os.O_CLOEXEC


class Found(NamedTuple):
    """The end of a path. Folder descriptor, name, and O_PATH descriptor of the file, None if it is missing."""

    folder: int
    name: str
    file: int | None


def is_root() -> bool:
    """Return whether any user id of this process is root's."""
    return 0 in os.getresuid()


def has_foreign_writers(status: os.stat_result) -> bool:
    """Return whether others may create files in a folder, sticky or not. Root's own group counts as root."""
    return bool(status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and status.st_gid != 0))


@contextmanager
def resolved(path: Path, *, follow_last: bool = True) -> Iterator[Found]:
    """Open the end of a path; raises OSError and, as root, CommandError for an unsafe one. The descriptors are closed at the end."""
    file, end = None, path.absolute()
    try:
        try:
            file = os.open(path, _PLACE | (0 if follow_last else os.O_NOFOLLOW))
            end = Path(os.path.realpath(path)) if follow_last else end
        except FileNotFoundError:
            pass
        folder = os.open(end.parent, _PLACE | os.O_DIRECTORY)
        try:
            if is_root():
                _check(end.parent, os.fstat(folder))
                if file is not None:
                    _check(path, os.fstat(file), follow_last=follow_last)
            yield Found(folder, end.name or ".", file)
        finally:
            os.close(folder)
    finally:
        if file is not None:
            os.close(file)


def _check(path: Path, end: os.stat_result, *, follow_last: bool = True) -> None:
    """Raise CommandError where another user may change where a path leads and `end` is of a third.

    `end` is what the path led to.
    """
    decides = 0  # the unprivileged user who decides where the path leads from here; 0: nobody but root does
    for status in (*list(_way(path, follow_last=follow_last))[:-1], end):
        # In a folder that anybody may write, anybody may have put a file of root's.
        is_safe = status.st_uid != 0 if decides == _ANYBODY else decides in (0, status.st_uid)
        if not is_safe:
            who = "others" if decides == _ANYBODY else f"the user {decides}"
            raise CommandError(f"{path} is not opened as root: {who} may change where this path leads, to a file of another user")
        if decides <= 0:
            # The sticky bit keeps others from renaming.
            is_open = stat.S_ISDIR(status.st_mode) and not status.st_mode & stat.S_ISVTX and has_foreign_writers(status)
            decides = status.st_uid or (_ANYBODY if is_open else 0)


def _way(path: Path, *, follow_last: bool) -> Iterator[os.stat_result]:
    """Yield the status of all folders and links that a path leads through, and of its end. Raises OSError."""
    here, pending, links = Path("/"), _parts(path.absolute()), 0
    while pending:
        name = pending.pop()
        here = here.parent if name == ".." else here / name
        status = here.lstat()
        yield status
        # A link in /proc stands for a descriptor or a process and has no path that could be walked.
        if stat.S_ISLNK(status.st_mode) and (pending or follow_last) and not here.is_relative_to("/proc"):
            links += 1
            if links > MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
            target = here.readlink()
            here = Path("/") if target.is_absolute() else here.parent
            pending += _parts(target)


def _parts(path: Path) -> list[str]:
    """Return the names in a path, the first one last."""
    return [part for part in reversed(path.parts) if part != "/"]


def open_trusted(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open an existing file. Raises OSError and, as root, CommandError for a path that others could change."""
    if not is_root():
        return os.open(path, flags | os.O_CLOEXEC)
    with resolved(path) as found:
        if found.file is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        # By the descriptor, not by the name: the file that was checked is the one that is opened.
        return os.open(f"/proc/self/fd/{found.file}", flags | os.O_CLOEXEC)


def nearest_folder(path: Path) -> os.stat_result:
    """Return the status of the nearest existing folder above a path. Raises OSError and, as root, CommandError."""
    for parent in path.absolute().parents:
        try:
            with resolved(parent) as found:
                if found.file is not None:
                    return os.fstat(found.file)
        except FileNotFoundError:
            continue
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
