"""Reader of secrets. Each stands in the file, in an environment variable, or in a file of its own."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from chatsvc.config.document import why
from chatsvc.config.model import Secret
from chatsvc.config.section import Section
from chatsvc.domain.errors import CommandError
from chatsvc.trusted_paths import open_trusted

_MAX_SECRET = 1 << 16


def secret(section: Section, key: str, read: Callable[[str], str], default: str = "") -> Secret | None:
    """Return the secret under `key`, or in the file under `key`_file. None if there is none."""
    key_file = f"{key}_file"
    if not section.gives(key_file):
        text = section.secret(key, read, default)
        return Secret(text) if text else None
    if section.gives(key):
        section.refuse(f"expected either {key} or {key_file}, not both", key_file)
    path = section.file(key_file)
    if path is None:
        return None
    try:
        return Secret(_secret_in(path, read))
    except OSError as fault:
        section.refuse(f"the file cannot be read: {why(fault)}", key_file)
    except CommandError as fault:
        section.refuse(str(fault), key_file)
    except ValueError as fault:
        section.refuse(f"in the file: {fault}", key_file)
    return None


def _secret_in(path: Path, read: Callable[[str], str]) -> str:
    with os.fdopen(open_trusted(path), "rb") as stream:
        raw = stream.read(_MAX_SECRET)
    # A character that is not ASCII is replaced by one that every reader of secrets refuses.
    return read(raw.decode("ascii", "replace").strip())
