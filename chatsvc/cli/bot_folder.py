"""Reader of a folder of bots, for instance a git repository. The folder has bots' files and their knowledge files.

Symbolic links are refused, and so are patterns that lead out of the folder. Each file is opened with `local_user.open_own`.
"""

import os
import posixpath
import stat
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from chatsvc.cli.files import AT_ONCE, decoded
from chatsvc.domain import refusals
from chatsvc.domain.errors import CommandError
from chatsvc.domain.knowledge_files.parsed import MAX_BYTES
from chatsvc.local_user import open_own
from chatsvc.services.accounts.bot_file_reader import BotFileFault, BotFileReader

_MOST_FILES = 1_000


class FolderBot(NamedTuple):
    """A bot's file: its path in the folder, text, parts and knowledge files. `knowledge` is None if the file names no knowledge."""

    file: str
    text: str
    parts: dict[str, Any]
    knowledge: list[tuple[str, bytes]] | None


def read_folder(folder: Path) -> list[FolderBot]:
    """Read the bots of a folder: all `*.yaml` files with a `name`. Raises CommandError, and Refused with the faults of all files."""
    faults: list[dict[str, Any]] = []
    bots = []
    for path in _bot_files(folder, ""):
        bot = read_bot(folder, path, faults)
        if "name" in bot.parts or any(fault["file"] == path for fault in faults):
            bots.append(bot)
    if faults:
        raise refusals.bot_file_invalid(file="", faults=faults)
    if not bots:
        raise CommandError(f"there is no *.yaml with a name in {folder}")
    if sum(len(data) for bot in bots for _, data in bot.knowledge or ()) > AT_ONCE:
        raise CommandError(f"the knowledge of this folder has more than {AT_ONCE // 1024 // 1024} MB")
    return bots


def read_bot(folder: Path, path: str, faults: list[dict[str, Any]]) -> FolderBot:
    """Read one bot's file and its knowledge files, and add the faults of the bot's file to `faults`. Raises CommandError."""
    reader = BotFileReader(None)
    text = decoded(path, _content(folder, path))
    parts = reader.read_text(text)
    knowledge = None if reader.knowledge is None else _knowledge(folder, path, reader)
    faults += [{**fault._asdict(), "file": path} for fault in reader.in_order()]
    return FolderBot(path, text, parts, knowledge)


def _bot_files(folder: Path, below: str) -> Iterator[str]:
    """List the files of bots, folder by folder. Hidden names are left out. Raises CommandError for a symbolic link."""
    for entry in _entries(folder, below):
        path = posixpath.join(below, entry.name)
        if entry.is_symlink() and (entry.name.endswith(".yaml") or entry.is_dir()):
            raise CommandError(f"{path} is a symbolic link: none is followed in {folder}")
        if entry.is_dir(follow_symlinks=False):
            yield from _bot_files(folder, path)
        elif entry.name.endswith(".yaml") and entry.is_file(follow_symlinks=False):
            yield path


def _entries(folder: Path, below: str) -> list[os.DirEntry[str]]:
    with os.scandir(folder / below) as entries:
        return sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)


def _knowledge(folder: Path, path: str, reader: BotFileReader) -> list[tuple[str, bytes]]:
    """Read each knowledge file that fits a pattern of the bot's file. A wrong pattern becomes a fault of the bot's file."""
    paths: dict[str, None] = {}
    for pattern in reader.knowledge or ():
        position = pattern.line, pattern.column
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(path), pattern.text))
        if wanted.startswith(("/", "../")) or wanted == "..":
            reader.faults.append(BotFileFault(*position, "pattern_outside", {"pattern": pattern.text}))
            continue
        links: list[str] = []
        files = list(_fitting(folder, "", wanted.split("/"), set(), links))
        if links:
            reader.faults.append(BotFileFault(*position, "pattern_link", {"path": links[0]}))
        elif not files:
            reader.faults.append(BotFileFault(*position, "pattern_without_file", {"pattern": pattern.text}))
        paths |= dict.fromkeys(files)
    if len(paths) > _MOST_FILES:
        raise CommandError(f"{path} names more than {_MOST_FILES:,} files of knowledge")
    names = [posixpath.basename(file) for file in paths]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise refusals.files_same_name(names=twice)
    return [] if reader.faults else [(posixpath.basename(file), _content(folder, file)) for file in paths]


def _fitting(folder: Path, below: str, parts: Sequence[str], seen: set[tuple[str, int]], links: list[str]) -> Iterator[str]:
    """Yield the files that fit a pattern, and add symbolic links to `links`. `**` in a pattern stands for any folders.

    `below` is a path in `folder`, and `parts` is the part of the pattern for the paths below it. `seen` contains the pairs of folder
    and number of parts that were already read.
    """
    if (below, len(parts)) in seen:
        return
    seen.add((below, len(parts)))
    first, *rest = parts
    if first == "**" and rest:
        yield from _fitting(folder, below, rest, seen, links)
    for entry in _entries(folder, below):
        if not (first == "**" or fnmatchcase(entry.name, first)):
            continue
        path = posixpath.join(below, entry.name)
        if entry.is_symlink():
            links.append(path)
        elif entry.is_dir(follow_symlinks=False):
            if first == "**":
                yield from _fitting(folder, path, parts, seen, links)
            elif rest:
                yield from _fitting(folder, path, rest, seen, links)
        elif not rest and entry.is_file(follow_symlinks=False):
            yield path


def _content(folder: Path, path: str) -> bytes:
    """Read a regular file, up to one byte more than a knowledge file may have. Raises CommandError and OSError."""
    with os.fdopen(open_own(folder / path, os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise CommandError(f"{folder / path} is no regular file")
        return file.read(MAX_BYTES + 1)
