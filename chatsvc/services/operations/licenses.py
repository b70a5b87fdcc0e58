"""Lists third-party software of this installation with its licences."""

import re
import sys
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from chatsvc.domain.actors import Caller
from chatsvc.services.services import Services

_TEXTS = re.compile(r"(^|/)(LICEN[CS]E|COPYING|NOTICE|AUTHORS)[^/]*$", re.IGNORECASE)
_CLASSIFIER = "License :: "


class Licensed(NamedTuple):
    """A package or library; `license` is None if only its text names the licence."""

    name: str
    version: str | None
    license: str | None
    text: str


async def list_all(services: Services, _: Caller) -> list[Licensed]:
    """List the third-party software; reads some hundred files, in a thread."""
    return await services.offload(installed)


def installed() -> list[Licensed]:
    """List the packages that chatsvc needs, directly or not, and the other contents of the binary."""
    by_name = {_normalized(package.name): package for package in metadata.distributions()}
    # The binary holds the metadata of just what is in it.
    waiting, needed = ["chatsvc"] if "chatsvc" in by_name else list(by_name), set[str]()
    while waiting:
        name = waiting.pop()
        if name in needed or name not in by_name:
            continue
        needed.add(name)
        requirements = [text for text in by_name[name].requires or [] if "extra ==" not in text]
        waiting += [_normalized(re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0]) for text in requirements]
    packages = [by_name[name] for name in sorted(needed - {"chatsvc"})]
    listed = [Licensed(package.name, package.version, _terms(package), _text(package)) for package in packages]
    if folder := getattr(sys, "_MEIPASS", None):
        # Python itself, and libraries of the system that built the binary.
        listed += [Licensed(file.stem, None, None, _read(file)) for file in sorted((Path(folder) / "licences").glob("*.txt"))]
    return listed


def _read(file: Path) -> str:
    return file.read_text("utf-8", "replace")


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _terms(package: metadata.Distribution) -> str | None:
    about = package.metadata
    short = "".join(about.get_all("License-Expression") or about.get_all("License") or [])
    if short and "\n" not in short and len(short) < 80:
        return short
    classifiers = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or [] if line.startswith(_CLASSIFIER)]
    return ", ".join(classifiers) or None


def _text(package: metadata.Distribution) -> str:
    # Not by its list of files, which the binary does not have.
    name, site = _normalized(package.name), Path(str(package.locate_file("")))
    folders = [folder for folder in site.glob("*.dist-info") if _normalized(folder.name.partition("-")[0]) == name]
    files = sorted({file for folder in folders for file in folder.rglob("*") if file.is_file() and _TEXTS.search(file.as_posix())})
    return "\n\n".join(map(_read, files))
