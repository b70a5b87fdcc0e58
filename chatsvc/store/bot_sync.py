"""Writes the bots of a folder of files, with their knowledge, in one transaction."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from chatsvc.domain.models import Bot, ChangeOrigin
from chatsvc.store import bots, knowledge
from chatsvc.store.database import Connection, Database
from chatsvc.store.knowledge import FromFile


class SyncedBot(NamedTuple):
    """The state that a bot's file asks for. `changes` returns the columns in which a bot differs from its file, with their new values.

    If the account has no bot with this `name`, `new` is inserted with these values. `files` is the knowledge that the bot's file names, or
    None if it names none: the bot's knowledge is then not changed.
    """

    name: str
    new: Bot
    changes: Callable[[Bot], Mapping[str, Any]]
    files: Sequence[FromFile] | None


class FileChange(NamedTuple):
    """A knowledge file that changes. `entries` is the number of its new entries, `replaced` the number of its old entries."""

    source: str
    entries: int
    replaced: int


class BotChange(NamedTuple):
    """Change to one bot: its state before and after, its changed knowledge files, and the files whose entries are removed."""

    is_new: bool
    before: Bot
    bot: Bot
    columns: Mapping[str, Any]
    files: list[FileChange]
    removed: list[FileChange]


class BotsExhausted(Exception):
    """The account would have more bots than its plan allows."""


async def run(
    db: Database, account_id: str, wanted: Sequence[SyncedBot], most: int, origins: Callable[[], ChangeOrigin], *, prune: bool, check: bool
) -> list[BotChange]:
    """Change bots to the states in `wanted`, all or none, and return the changes. With `check`, write nothing. Raises BotsExhausted."""

    def unit(connection: Connection) -> list[BotChange]:
        # Read in the transaction that writes, so that no concurrent change is lost and no bot is created twice.
        present = bots.of_account(connection, account_id)
        by_name = {bot.name: bot for bot in present}
        new = [bot_wanted for bot_wanted in wanted if bot_wanted.name not in by_name]
        if new and len(present) + len(new) > most:
            raise BotsExhausted
        return [_sync(connection, bot_wanted, by_name.get(bot_wanted.name), origins, prune=prune, check=check) for bot_wanted in wanted]

    return await (db.read(unit) if check else db.write(unit))


def _sync(
    connection: Connection, wanted: SyncedBot, present: Bot | None, origins: Callable[[], ChangeOrigin], *, prune: bool, check: bool
) -> BotChange:
    before = bot = present or wanted.new
    columns, counts = wanted.changes(before), knowledge.file_counts(connection, bot.id)
    files = knowledge.differing(connection, bot.id, wanted.files or ())
    names = {file.name for file in wanted.files or ()}
    gone = [name for name in counts if name not in names] if prune and wanted.files is not None else []
    changed = [FileChange(file.name, len(file.entries), counts.get(file.name, 0)) for file in files]
    removed = [FileChange(name, 0, counts[name]) for name in gone]
    change = BotChange(present is None, before, before._replace(**columns), columns, changed, removed)
    if check:
        return change
    if change.is_new:
        bot = bots.insert(connection, change.bot)
    elif columns:
        bot = bots.change(connection, bot, {**columns, "updated_at": origins().changed_at})
    if gone:
        knowledge.remove_files_within(connection, bot.id, gone, [], origins())
    if files:
        knowledge.replace_within(connection, bot.id, files, origins())
    return change._replace(bot=bot)
