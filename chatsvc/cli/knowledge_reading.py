"""Knowledge that commands read: files from the disk, and a bot's entries from the service."""

from __future__ import annotations

from typing import Any

import click

from chatsvc.cli.files import InputFile
from chatsvc.cli.output import call
from chatsvc.domain.errors import CommandError
from chatsvc.domain.models import Entry, Synonyms

_AT_ONCE = 64 * 1024 * 1024  # bytes of all files of one call


def read_text(path: InputFile) -> str:
    """Read a file as UTF-8; raises CommandError."""
    from chatsvc.domain.knowledge_files import KnowledgeFileError, decode

    try:
        return decode(path.name, _bytes_of(path))
    except KnowledgeFileError as fault:
        raise CommandError(str(fault)) from None


def _bytes_of(path: InputFile) -> bytes:
    """Read at most one byte more than allowed: the file may be an endless device."""
    from chatsvc.domain.knowledge_files import MAX_BYTES

    with path.open() as file:
        return file.read(MAX_BYTES + 1)


def read_files(ctx: click.Context, bot: str, paths: tuple[InputFile, ...]) -> list[dict[str, Any]]:
    """Read knowledge files in a process of their own, in the bot's language. Raises CommandError with every fault of every file."""
    from chatsvc.usecases.file_reading import FileReader

    if sum(path.stat().st_size for path in paths) > _AT_ONCE:
        raise CommandError(f"these files have more than {_AT_ONCE // 1024 // 1024} MB together; add them one after the other")
    files = [(path.name, _bytes_of(path)) for path in paths]
    # Started before the call: after it root is the data folder's owner, who may not be allowed to execute the program.
    with FileReader() as reader:
        language = call(ctx, "bot.show", bot=bot)["language"]
        return reader.read(files, language)


def read_knowledge(ctx: click.Context, bot: str) -> tuple[str, list[Entry], list[Synonyms]]:
    """Return a bot's language, entries and synonyms."""
    told = call(ctx, "knowledge.export", bot=bot)
    return (told["language"], *parsed_knowledge(told))


def parsed_knowledge(told: dict[str, Any]) -> tuple[list[Entry], list[Synonyms]]:
    """Return the entries and synonyms of an operation's JSON."""
    entries = [Entry(**{**entry, "alt": tuple(entry["alt"])}) for entry in told["entries"]]
    return entries, [Synonyms(tuple(group["words"]), group["source"]) for group in told["synonyms"]]
