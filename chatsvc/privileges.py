"""Permanent change from root to another user: groups, ids and capabilities (credentials(7), capabilities(7))."""

from __future__ import annotations

import os
import pwd
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from chatsvc.domain.actors import Caller, local_user
from chatsvc.domain.errors import CommandError

if TYPE_CHECKING:
    import ctypes

NET_BIND_SERVICE = 10
_PR_CAPBSET_DROP, _PR_SET_KEEPCAPS, _PR_SET_NO_NEW_PRIVS, _PR_CAP_AMBIENT = 24, 8, 38, 47
_PR_CAP_AMBIENT_CLEAR_ALL = 4
_CAPABILITY_VERSION_3 = 0x20080522
_MOST_CAPABILITIES = 64
_CLEARED = ("CapInh", "CapPrm", "CapEff", "CapAmb")

# The user who started the command: the audit log names root although root's privileges are gone.
STARTED_BY = os.getuid()


def user_name(uid: int) -> str:
    """Return the name of a user, else the number."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def groups_of(uid: int, gid: int) -> tuple[int, list[int]]:
    """Return primary and all groups of a user. `gid` serves for a user without an entry in the user database."""
    try:
        user = pwd.getpwuid(uid)
    except KeyError:
        # A folder's group is no proof of membership: a folder made in a setgid folder has the latter's. Root's is never taken.
        return (gid or uid), []
    return user.pw_gid, os.getgrouplist(user.pw_name, user.pw_gid)


def become(uid: int, gid: int, *, keep_low_ports: bool = False) -> None:
    """Become another user for good, without capabilities. `keep_low_ports` keeps CAP_NET_BIND_SERVICE. Raises CommandError.

    To be called before any thread is started: the kernel keeps capabilities for each thread.
    """
    import ctypes

    _let_read_program()
    libc = ctypes.CDLL(None, use_errno=True)
    primary, groups = groups_of(uid, gid)
    kept = {NET_BIND_SERVICE} if keep_low_ports else set()
    try:
        for capability in range(_MOST_CAPABILITIES):
            # Fails where root was started without CAP_SETPCAP, or past the kernel's last capability: then there is nothing to drop.
            if capability not in kept:
                libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
        libc.prctl(_PR_SET_KEEPCAPS, int(keep_low_ports), 0, 0, 0)
        os.setgroups(groups)
        os.setresgid(primary, primary, primary)
        os.setresuid(uid, uid, uid)
        libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
        _set_capabilities(libc, kept)
        libc.prctl(_PR_SET_KEEPCAPS, 0, 0, 0, 0)
        libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    except OSError as fault:
        raise CommandError(f"root's privileges cannot be given up for those of {user_name(uid)}: {fault.strerror}") from None
    _verify(uid, primary, kept)


def _let_read_program() -> None:
    """Let all users read the folder into which the single-file program unpacks itself for root alone."""
    unpacked = getattr(sys, "_MEIPASS", None)
    if unpacked and not Path(unpacked).stat().st_mode & 0o077:
        for path in (Path(unpacked), *Path(unpacked).rglob("*")):
            path.chmod(0o755)


def _set_capabilities(libc: ctypes.CDLL, kept: set[int]) -> None:
    """Set the permitted and effective capabilities, and clear the inheritable ones (capset(2))."""
    import ctypes

    mask = sum(1 << capability for capability in kept)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    # Two words for each of: effective, permitted, inheritable.
    data = (ctypes.c_uint32 * 6)(mask & 0xFFFFFFFF, mask & 0xFFFFFFFF, 0, mask >> 32, mask >> 32, 0)
    if libc.capset(ctypes.byref(header), ctypes.byref(data)) and kept:
        # Without that capability the listener says which port it cannot have.
        _set_capabilities(libc, set())


def _verify(uid: int, gid: int, kept: set[int]) -> None:
    allowed = sum(1 << capability for capability in kept)
    with Path("/proc/self/status").open(encoding="ascii", errors="replace") as stream:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in stream if ":\t" in line)
    left = [name for name in _CLEARED if int(status[name], 16) & ~allowed]
    if os.getresuid() != (uid,) * 3 or os.getresgid() != (gid,) * 3 or uid == 0 or left or _can_return():
        raise CommandError(f"root's privileges cannot be given up for those of {user_name(uid)}")


def _can_return() -> bool:
    try:
        os.setresuid(0, 0, 0)
    except PermissionError:
        return False
    return True


def caller_of(uid: int) -> Caller:
    """Return the caller for a local user. Its name is empty if the system does not know it."""
    try:
        return local_user(uid, pwd.getpwuid(uid).pw_name)
    except KeyError:
        return local_user(uid)
