"""The local user who runs a command, and the files that this user may open.

As root, a command works only on files that nobody but root can replace. For files of another user, it prints the command line to use.
"""

import os
import pwd
import shlex
import stat
import sys
from pathlib import Path

from chatsvc.domain.actors import EVERYTHING, Actor, Caller
from chatsvc.domain.errors import CommandError

_ANYBODY = -1


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""


def user_name(uid: int) -> str:
    """Return the name of a user, or the number if the system does not know it."""
    return _name(uid) or str(uid)


def caller_of(uid: int) -> Caller:
    """Return a local user as a Caller, who may administer everything. The name is "" if the system does not know the user."""
    return Caller(Actor("user", str(uid), _name(uid)), EVERYTHING, "cli")


def owner_of(path: Path) -> int:
    """Return the id of the first user who can replace a path or the file that it leads to.

    Return 0 if only root can replace them, or if this process is not run by root. Return -1 if a group or all users can.
    """
    if os.geteuid() != 0:
        return 0
    for way in (path.absolute(), Path(os.path.realpath(path))):
        for folder in (*reversed(way.parents), way):
            try:
                status = folder.lstat()
            except OSError:
                break
            if status.st_uid:
                return status.st_uid
            is_sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
            others = status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and status.st_gid)
            if others and not is_sticky and (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
                return _ANYBODY
    return 0


def command_of(uid: int, *words: str) -> list[str]:
    """Return the command line that runs a command of chatsvc as another user."""
    name = _name(uid)
    switch = ["runuser", "-u", name] if name else ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    return [*switch, "--", *words]


def refuse_root(path: Path) -> None:
    """Raise CommandError if root runs this process and another user can replace the path. The error says what to do instead."""
    owner = owner_of(path)
    if owner == _ANYBODY:
        raise CommandError(f"root does not use {path}: others may write it or a folder above it (chmod go-w)")
    if owner:
        raise CommandError(
            f"{path} belongs to the user {user_name(owner)}, and root runs no command on it. Type instead: "
            f"{shlex.join(command_of(owner, 'chatsvc'))} ..."
        )


def open_own(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open an existing file. Raise OSError. As root, raise CommandError if a user can make the path lead to another user's file."""
    descriptor = os.open(path, flags | os.O_CLOEXEC)
    try:
        # The check follows the opening, so that a change of the path by another user in between has no effect.
        owner = owner_of(path)
        if owner and owner != os.fstat(descriptor).st_uid:
            who = "others" if owner == _ANYBODY else f"the user {user_name(owner)}"
            raise CommandError(f"{path} is not opened as root: {who} may change where this path leads")
    except CommandError:
        os.close(descriptor)
        raise
    return descriptor


def run_as(uid: int) -> None:
    """Run the same command again as another user, in place of this process. Raise CommandError if this is impossible."""
    import subprocess

    program = [sys.executable] if getattr(sys, "frozen", False) else [sys.executable, "-m", "chatsvc"]
    words = command_of(uid, *program)
    try:
        trial = subprocess.run([*words, "--version"], capture_output=True, text=True, check=False)  # noqa: S603  # the program itself
        if trial.returncode == 0:
            os.execvp(words[0], [*words, *sys.argv[1:]])  # noqa: S606  # as typed, without a shell
    except OSError as fault:
        raise CommandError(f"{words[0]} cannot be run: {fault.strerror}") from None
    reason = trial.stderr.strip().rpartition("\n")[2] or f"exit status {trial.returncode}"
    raise CommandError(
        f"the user {user_name(uid)} cannot run this chatsvc ({reason}): install it where that user may read it and every folder above it, "
        "such as with python3 -m venv /opt/chatsvc"
    )
