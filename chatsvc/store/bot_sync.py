"""Writes the bots of a folder of files, with their knowledge, in one transaction."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from chatsvc.domain.models import Bot, ChangeOrigin
from chatsvc.store import bots, knowledge
from chatsvc.store.database import Connection, Database
from chatsvc.store.knowledge import FromFile


class SyncedBot(NamedTuple):
    """The state that a bot's file asks for. `bot` is the stored bot, or the new one.

    `changes` are the columns that differ. `files` is the bot's knowledge, or None if the file names none: it is then not changed.
    """

    bot: Bot
    is_new: bool
    changes: Mapping[str, Any]
    files: Sequence[FromFile] | None


class FileChange(NamedTuple):
    """A knowledge file that changes: the number of its entries after the change, and the number of replaced entries."""

    source: str
    entries: int
    replaced: int


class BotChange(NamedTuple):
    """Change to one bot: the bot after the change, the files that change, and the files whose entries are removed."""

    bot: Bot
    files: list[FileChange]
    removed: list[FileChange]


class BotsExhausted(Exception):
    """The account would have more bots than its plan allows."""


async def run(
    db: Database, wanted: Sequence[SyncedBot], most: int, origins: Callable[[], ChangeOrigin], *, prune: bool, check: bool
) -> list[BotChange]:
    """Change all bots or none, and return the changes. If `check` is true, write nothing. Raises BotsExhausted."""

    def unit(connection: Connection) -> list[BotChange]:
        new = [bot_wanted.bot for bot_wanted in wanted if bot_wanted.is_new]
        if new and bots.count(connection, new[0].account_id) + len(new) > most:
            raise BotsExhausted
        return [_sync(connection, bot_wanted, origins, prune=prune, check=check) for bot_wanted in wanted]

    return await (db.read(unit) if check else db.write(unit))


def _sync(connection: Connection, wanted: SyncedBot, origins: Callable[[], ChangeOrigin], *, prune: bool, check: bool) -> BotChange:
    bot, counts = wanted.bot, knowledge.file_counts(connection, wanted.bot.id)
    files = knowledge.differing(connection, bot.id, wanted.files or ())
    names = {file.name for file in wanted.files or ()}
    gone = [name for name in counts if name not in names] if prune and wanted.files is not None else []
    changed = [FileChange(file.name, len(file.entries), counts.get(file.name, 0)) for file in files]
    removed = [FileChange(name, 0, counts[name]) for name in gone]
    if check:
        return BotChange(bot._replace(**wanted.changes), changed, removed)
    if wanted.is_new:
        bot = bots.insert(connection, bot._replace(**wanted.changes))
    elif wanted.changes:
        bot = bots.change(connection, bot, {**wanted.changes, "updated_at": origins().changed_at})
    if gone:
        knowledge.remove_files_within(connection, bot.id, gone, [], origins())
    if files:
        knowledge.replace_within(connection, bot.id, files, origins())
    return BotChange(bot, changed, removed)
