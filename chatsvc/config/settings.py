"""Reader of the settings that a dataclass declares, and of secrets: in the file, in an environment variable, or in a file of their own."""

import os
from collections.abc import Callable
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, TypeVar

from chatsvc.config.document import why
from chatsvc.config.model import Secret
from chatsvc.config.section import Section
from chatsvc.domain.errors import CommandError
from chatsvc.trusted_paths import open_trusted

_MAX_SECRET = 1 << 16
T = TypeVar("T")


def keys_of(kind: Any) -> list[str]:
    declared = [(one.metadata["key"] or one.name, one.metadata["how"]) for one in fields(kind)]
    return [key for name, how in declared for key in ((name, f"{name}_file") if how == "secret" else (name,))]


def settings(kind: type[T], section: Section) -> T:
    return kind(**{one.name: _setting(section, one) for one in fields(kind)})  # type: ignore[arg-type]  # a dataclass


def _setting(section: Section, declared: Field[Any]) -> Any:
    about = declared.metadata
    key, read = about["key"] or declared.name, about["read"]
    match about["how"]:
        case "file":
            return section.file(key)
        case "folder":
            return section.folder(key, str(declared.default))
        case "secret":
            return secret(section, key, read, about["otherwise"])
        case "optional" | "texts" as how:
            return getattr(section, how)(key, read)
        case how:
            return getattr(section, how)(key, read, declared.default)


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
