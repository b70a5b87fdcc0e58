"""Local users as callers of administrative operations."""

from __future__ import annotations

from chatsvc.domain.actors import Caller, local_user


def caller_of(uid: int) -> Caller:
    """Return the caller for a local user. Its name is empty if the system does not know it."""
    import pwd

    try:
        return local_user(uid, pwd.getpwuid(uid).pw_name)
    except KeyError:
        return local_user(uid)
