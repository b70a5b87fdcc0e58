"""Knowledge that commands read: files from the disk, and a bot's entries from the service."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from chatsvc.cli.files import open_input
from chatsvc.cli.output import call
from chatsvc.domain.errors import CommandError
from chatsvc.domain.models import Entry, Synonyms

AT_ONCE = 64 * 1024 * 1024  # bytes of all files of one call


def read_text(path: Path) -> str:
    """Read a file as UTF-8; raises CommandError."""
    return decoded(path.name, _bytes_of(path))


def decoded(name: str, data: bytes) -> str:
    from chatsvc.domain.knowledge_files.decoding import decode
    from chatsvc.domain.knowledge_files.parsed import KnowledgeFileError

    try:
        return decode(name, data)
    except KnowledgeFileError as fault:
        raise CommandError(str(fault)) from None


def _bytes_of(path: Path) -> bytes:
    """Read at most one byte more than allowed: the file may be an endless device."""
    from chatsvc.domain.knowledge_files.decoding import MAX_BYTES

    with open_input(path) as file:
        return file.read(MAX_BYTES + 1)


def read_files(ctx: click.Context, bot: str, paths: tuple[Path, ...]) -> list[dict[str, Any]]:
    """Read knowledge files in a process of their own, in the bot's language. Raises CommandError with every fault of every file."""
    from chatsvc.services.knowledge.file_reading import FileReader

    if sum(path.stat().st_size for path in paths) > AT_ONCE:
        raise CommandError(f"these files have more than {AT_ONCE // 1024 // 1024} MB together; add them one after the other")
    files = [(path.name, _bytes_of(path)) for path in paths]
    with FileReader() as reader:
        language = call(ctx, "bot.show", bot=bot)["language"]
        return reader.read(files, language)


def parse_knowledge(wanted: Sequence[tuple[list[tuple[str, bytes]] | None, str]]) -> list[list[dict[str, Any]] | None]:
    """Parse the knowledge files of several bots, one process a language. As root, before the first operation. Raises Refused."""
    from chatsvc.services.knowledge.file_reading import FileReader

    parsed: list[list[dict[str, Any]] | None] = [None if files is None else [] for files, _ in wanted]
    for language in dict.fromkeys(language for files, language in wanted if files):
        chosen = [(index, file) for index, (files, its) in enumerate(wanted) if its == language for file in files or ()]
        with FileReader() as reader:
            read = reader.read([file for _, file in chosen], language)
        for (index, _), parsed_file in zip(chosen, read, strict=True):
            target = parsed[index]
            if target is not None:
                target.append(parsed_file)
    return parsed


def read_knowledge(ctx: click.Context, bot: str) -> tuple[str, list[Entry], list[Synonyms]]:
    exported = call(ctx, "knowledge.export", bot=bot)
    return (exported["language"], *parsed_knowledge(exported))


def parsed_knowledge(exported: dict[str, Any]) -> tuple[list[Entry], list[Synonyms]]:
    """Return the entries and synonyms of an operation's JSON."""
    entries = [Entry(**{**entry, "alt": tuple(entry["alt"])}) for entry in exported["entries"]]
    return entries, [Synonyms(tuple(group["words"]), group["source"]) for group in exported["synonyms"]]
