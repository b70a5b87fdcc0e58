"""Path resolution for root: no step is taken that another user could have redirected.

The rule is that of CHASE_SAFE in systemd, with directory permissions added. From a folder or symbolic link that an unprivileged user
owns, or may write, only files of that same user are reached. Other users need no such check: the kernel's own suffices for them.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from chatsvc.domain.errors import CommandError

MOST_LINKS = 40
_ANYBODY = -1
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class Found(NamedTuple):
    """The end of a path. Folder descriptor, name, and O_PATH descriptor of the file, None if it is missing."""

    folder: int
    name: str
    file: int | None


def is_root() -> bool:
    """Return whether any user id of this process is root's."""
    return 0 in os.getresuid()


def others_may_write(status: os.stat_result) -> bool:
    """Return whether others may write a file, or rename files in a folder.

    Root's own group counts as root, and the sticky bit keeps others from renaming.
    """
    mode = status.st_mode
    if stat.S_ISDIR(mode) and mode & stat.S_ISVTX:
        return False
    return bool(mode & stat.S_IWOTH or (mode & stat.S_IWGRP and status.st_gid != 0))


def has_foreign_writers(status: os.stat_result) -> bool:
    """Return whether others may create files in a folder, sticky or not."""
    return bool(status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and status.st_gid != 0))


@contextmanager
def resolved(path: Path, *, follow_last: bool = True) -> Iterator[Found]:
    """Walk to the end of a path; raises CommandError for an unsafe step, and OSError. The descriptors are closed at the end."""
    walk = _Walk(path, follow_last=follow_last)
    try:
        yield walk.run()
    finally:
        walk.close()


def open_trusted(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open an existing file. Raises OSError and, as root, CommandError for a path that others could change."""
    if not is_root():
        return os.open(path, flags | os.O_CLOEXEC)
    with resolved(path) as found:
        if found.file is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        # By the descriptor, not by the name: the file that was checked is the one that is opened.
        return os.open(f"/proc/self/fd/{found.file}", flags | os.O_CLOEXEC)


class _Walk:
    """One walk from the root folder, a name at a time, by descriptors."""

    def __init__(self, path: Path, *, follow_last: bool) -> None:
        self._path = path
        self._pending = _parts(str(path.absolute()))
        self._follow_last = follow_last
        self._links = 0
        self._may_change = 0  # the unprivileged user who decides where the path leads from here; 0: nobody but root does
        self._proc = _device("/proc/self")
        self._open: set[int] = set()
        self._folder = self._opened(os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))

    def run(self) -> Found:
        """Take all steps."""
        while self._pending:
            name = self._pending.pop()
            try:
                node = self._opened(os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=self._folder))
            except FileNotFoundError:
                if self._pending:
                    raise self._error(errno.ENOENT) from None
                return Found(self._folder, name, None)
            status = os.fstat(node)
            if stat.S_ISLNK(status.st_mode) and status.st_dev == self._proc:
                # A link in /proc stands for a descriptor or a process and has no path that could be walked.
                node = self._opened(os.open(name, os.O_PATH | os.O_CLOEXEC, dir_fd=self._folder))
                status = os.fstat(node)
            self._check(status)
            if stat.S_ISLNK(status.st_mode) and (self._pending or self._follow_last):
                self._follow(node)
            elif not self._pending:
                return Found(self._folder, name, node)
            elif not stat.S_ISDIR(status.st_mode):
                raise self._error(errno.ENOTDIR)
            else:
                self._folder = node
        return Found(self._folder, ".", self._folder)

    def _follow(self, link: int) -> None:
        self._links += 1
        if self._links > MOST_LINKS:
            raise self._error(errno.ELOOP)
        target = os.readlink("", dir_fd=link)
        if target.startswith("/"):
            self._folder = self._opened(os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))
            self._check(os.fstat(self._folder))
        self._pending += _parts(target)

    def _check(self, status: os.stat_result) -> None:
        # In a folder that anybody may write, anybody may have put a file of root's.
        is_safe = status.st_uid != 0 if self._may_change == _ANYBODY else self._may_change in (0, status.st_uid)
        if not is_safe and is_root():
            who = "others" if self._may_change == _ANYBODY else f"the user {self._may_change}"
            raise CommandError(f"{self._path} is not opened as root: {who} may change where this path leads, to a file of another user")
        if self._may_change <= 0:
            self._may_change = status.st_uid
            if status.st_uid == 0 and stat.S_ISDIR(status.st_mode) and others_may_write(status):
                self._may_change = _ANYBODY

    def _error(self, number: int) -> OSError:
        return OSError(number, os.strerror(number), str(self._path))

    def _opened(self, descriptor: int) -> int:
        self._open.add(descriptor)
        return descriptor

    def close(self) -> None:
        """Close all descriptors of the walk."""
        for descriptor in self._open:
            os.close(descriptor)


def _parts(path: str) -> list[str]:
    """Return the names in a path, the first one last."""
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _device(path: str) -> int:
    try:
        return os.lstat(path).st_dev
    except OSError:
        return -1


def nearest_folder(path: Path) -> tuple[int, os.stat_result]:
    """Return an O_PATH descriptor and the status of the nearest existing folder above a path. Raises CommandError and OSError."""
    for parent in path.absolute().parents:
        try:
            with resolved(parent) as found:
                if found.file is not None:
                    return os.dup(found.file), os.fstat(found.file)
        except FileNotFoundError:
            continue
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))


def make_folders(path: Path, mode: int = 0o755) -> int:
    """Make a folder with missing parents and return its O_PATH descriptor. Raises CommandError and OSError."""
    missing: list[str] = []
    folder = -1
    for parent in (path.absolute(), *path.absolute().parents):
        try:
            with resolved(parent) as found:
                if found.file is not None:
                    folder = os.dup(found.file)
                    break
        except FileNotFoundError:
            pass
        missing.append(parent.name)
    for name in reversed(missing):
        with suppress(FileExistsError):  # another command makes it at the same time
            os.mkdir(name, mode, dir_fd=folder)
        deeper = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        os.close(folder)
        folder = deeper
        if os.fstat(folder).st_uid != os.geteuid():
            raise CommandError(f"{path} is not made: another user has made {name} meanwhile")
    return folder
