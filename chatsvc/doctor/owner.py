"""Facts about the service's user for `doctor`. Owner of a folder, the Debian package's user, write permission."""

import os
import pwd
from pathlib import Path

from chatsvc.privileges import user_name

PACKAGED = "chatsvc"  # the user of the Debian package


def name(folder: Path) -> str:
    return user_name(folder.stat().st_uid)


def packaged() -> bool:
    """Whether the user exists that the Debian package makes for the service."""
    try:
        pwd.getpwnam(PACKAGED)
    except KeyError:
        return False
    return True


def writable(path: Path) -> bool:
    return os.access(path, os.W_OK, effective_ids=True)
