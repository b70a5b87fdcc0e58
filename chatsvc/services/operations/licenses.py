"""Lists third-party software of this installation with its licences."""

import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from chatsvc.domain.actors import Caller
from chatsvc.services.services import Services

_TEXTS = re.compile(r"(^|/)(LICEN[CS]E|COPYING|NOTICE|AUTHORS)[^/]*$", re.IGNORECASE)
_CLASSIFIER = "License :: "


class Licensed(NamedTuple):
    """A package or library; `license` is None where only its text tells."""

    name: str
    version: str | None
    license: str | None
    text: str


def installed() -> list[Licensed]:
    """List the packages that chatsvc needs, and in the binary Python and the system's libraries."""
    return [*_packages(), *_libraries()]


async def list_all(services: Services, _: Caller) -> list[Licensed]:
    """List the third-party software; reads some hundred files, in a thread."""
    return await services.offload(installed)


def _packages() -> Iterator[Licensed]:
    """Find the Python packages that chatsvc needs, directly or not."""
    by_name = {_plain(found.name): found for found in metadata.distributions()}
    waiting, seen = ["chatsvc"], set()
    if "chatsvc" not in by_name:
        # The binary holds the metadata of just what is in it.
        waiting = list(by_name)
    while waiting:
        name = waiting.pop()
        found = by_name.get(name)
        if found is None or name in seen:
            continue
        seen.add(name)
        waiting += [
            _plain(re.split(r"[^A-Za-z0-9._-]", wanted, maxsplit=1)[0]) for wanted in found.requires or [] if "extra ==" not in wanted
        ]
    for name in sorted(seen - {"chatsvc"}):
        found = by_name[name]
        yield Licensed(found.name, found.version, _terms(found), _text(found))


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _terms(found: metadata.Distribution) -> str | None:
    said = found.metadata
    short = "".join(said.get_all("License-Expression") or said.get_all("License") or [])
    if short and "\n" not in short and len(short) < 80:
        return short
    classifiers = [line.rpartition(" :: ")[2] for line in said.get_all("Classifier") or [] if line.startswith(_CLASSIFIER)]
    return ", ".join(classifiers) or None


def _text(found: metadata.Distribution) -> str:
    # Not by its list of files, which the binary does not have.
    folder, own = Path(str(found.locate_file(""))), _plain(found.name)
    where = [place for place in folder.glob("*.dist-info") if _plain(place.name.partition("-")[0]) == own]
    files = sorted({file for place in where for file in place.rglob("*") if file.is_file() and _TEXTS.search(file.as_posix())})
    return "\n\n".join(file.read_text("utf-8", "replace") for file in files)


def _libraries() -> Iterator[Licensed]:
    """List other contents of the binary. Python itself, and libraries of the system that built it."""
    folder = getattr(sys, "_MEIPASS", None)
    if folder is None:
        return
    for file in sorted((Path(folder) / "licences").glob("*.txt")):
        yield Licensed(file.stem, None, None, file.read_text("utf-8", "replace"))
