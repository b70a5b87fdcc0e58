"""`chatsvc licenses`: licences of chatsvc and of the software it contains."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import click

from chatsvc.cli.output import echo, json_option, show

_TEXTS = re.compile(r"(^|/)(LICEN[CS]E|COPYING|NOTICE|AUTHORS)[^/]*$", re.IGNORECASE)
_CLASSIFIER = "License :: "


@click.command()
@click.option("--full", is_flag=True, help="Print the texts of the licences.")
@json_option
def licenses(full: bool, as_json: bool) -> None:
    """List the third-party software in this installation with its licences.

    In the binary, this includes Python and the system's libraries.

    \b
    Examples:
      chatsvc licenses
      chatsvc licenses --full | less
    """
    found = [*_packages(), *_libraries()]
    if as_json:
        show(found, True)
        return
    if not full:
        show(found, False, ("name", "version", "license"))
        return
    for one in found:
        text = one["text"].replace("\f", "").expandtabs()
        echo(f"{'=' * 80}\n{one['name']} {one['version'] or ''}  ({one['license']})\n{'=' * 80}\n{text}\n")


def _packages() -> Iterator[dict[str, Any]]:
    """The Python packages that chatsvc needs, directly or not."""
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
        yield {"name": found.name, "version": found.version, "license": _terms(found), "text": _text(found)}


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _terms(found: metadata.Distribution) -> str:
    said = found.metadata
    short = "".join(said.get_all("License-Expression") or said.get_all("License") or [])
    if short and "\n" not in short and len(short) < 80:
        return short
    classifiers = [line.rpartition(" :: ")[2] for line in said.get_all("Classifier") or [] if line.startswith(_CLASSIFIER)]
    return ", ".join(classifiers) or "see its text"


def _text(found: metadata.Distribution) -> str:
    # Not by its list of files, which the binary does not have.
    folder, own = Path(str(found.locate_file(""))), _plain(found.name)
    where = [place for place in folder.glob("*.dist-info") if _plain(place.name.partition("-")[0]) == own]
    files = sorted({file for place in where for file in place.rglob("*") if file.is_file() and _TEXTS.search(file.as_posix())})
    return "\n\n".join(file.read_text("utf-8", "replace") for file in files)


def _libraries() -> Iterator[dict[str, Any]]:
    """List other contents of the binary: Python itself, and libraries of the system that built it."""
    folder = getattr(sys, "_MEIPASS", None)
    if folder is None:
        return
    for file in sorted((Path(folder) / "licences").glob("*.txt")):
        yield {"name": file.stem, "version": None, "license": "see its text", "text": file.read_text("utf-8", "replace")}
