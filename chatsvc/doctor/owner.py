"""Facts about the service's user for `doctor`. Owner of a folder, the Debian package's user, write permission."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

from chatsvc.privileges import user_name

PACKAGED = "chatsvc"  # the user of the Debian package


def name(folder: Path) -> str:
    """The name of the user that owns a folder."""
    return user_name(folder.stat().st_uid)


def packaged() -> bool:
    """Whether the user exists that the Debian package makes for the service."""
    try:
        pwd.getpwnam(PACKAGED)
    except KeyError:
        return False
    return True


def writable(path: Path) -> bool:
    """Whether this process may write a file or folder."""
    return os.access(path, os.W_OK, effective_ids=True)
