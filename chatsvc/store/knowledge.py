"""Queries of bots' knowledge: read, add, replace, change and remove entries and synonyms.

Entries and synonyms are read in the order in which they were added. store/knowledge_changes.py records each change.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from chatsvc.domain.models import ChangeOrigin, Entry, Synonyms
from chatsvc.store import knowledge_changes as changes
from chatsvc.store.database import Connection, Database, reads, writes
from chatsvc.store.knowledge_changes import Rows, StoredEntry, StoredSynonyms


class FromFile(NamedTuple):
    """Content of one knowledge file. An entry or a group of synonyms may name a source other than the file."""

    name: str
    entries: Sequence[Entry]
    synonyms: Sequence[Synonyms] = ()

    @property
    def sources(self) -> list[str]:
        """Return the names of all sources in the file. The file's own name comes first."""
        named = [self.name, *(entry.source or self.name for entry in self.entries), *(group.source for group in self.synonyms)]
        return list(dict.fromkeys(named))


class Whole(NamedTuple):
    """All entries and synonyms of a bot, either at present, or before or after a change."""

    entries: Sequence[Entry]
    synonyms: Sequence[Synonyms]


@reads
def entries(connection: Connection, bot_id: str) -> list[Entry]:
    return [row.entry for row in changes.read_rows(connection, bot_id, changes.ALL).entries]


@reads
def some(connection: Connection, bot_id: str, ids: Sequence[str]) -> dict[str, Entry]:
    """Read the entries of a bot that have the given ids, and return them by id."""
    return {entry_id: row.entry for entry_id, row in changes.entries_by_id(connection, bot_id, ids).items()}


async def large(db: Database, least: int) -> list[str]:
    """List the ids of bots with at least `least` entries. Bots with the most entries come first."""
    statement = "SELECT bot_id FROM knowledge_entries GROUP BY bot_id HAVING COUNT(*) >= ? ORDER BY COUNT(*) DESC, bot_id"
    return await db.read(lambda connection: [bot_id for (bot_id,) in connection.execute(statement, (least,))])


@reads
def whole(connection: Connection, bot_id: str) -> Whole:
    """Read all entries and synonyms of a bot."""
    return _whole(changes.read_rows(connection, bot_id, changes.ALL))


@reads
def with_files(connection: Connection, bot_id: str, files: Sequence[FromFile], removed: Sequence[str] = ()) -> Whole:
    """Return a bot's knowledge as it would be after adding `files` and removing the files whose names are in `removed`."""
    names, sources = [*(file.name for file in files), *removed], {source for file in files for source in file.sources}
    left = _whole(changes.read_rows(connection, bot_id, changes.LEFT, names, sources))
    return Whole(
        [*left.entries, *(entry for file in files for entry in file.entries)],
        [*left.synonyms, *(group for file in files for group in file.synonyms)],
    )


def _whole(rows: Rows) -> Whole:
    return Whole([row.entry for row in rows.entries], [Synonyms(group.words, group.source) for group in rows.synonyms])


def replace_within(connection: Connection, bot_id: str, files: Sequence[FromFile], origin: ChangeOrigin) -> list[int]:
    """Replace the knowledge of files, and of the sources that they name, within a unit. Return the old number of entries of each file."""
    names, sources = [file.name for file in files], {source for file in files for source in file.sources}
    before = changes.read_rows(connection, bot_id, changes.REPLACED, names, sources)
    changes.change(connection, bot_id, origin, "add", before, _rows(files, origin.changed_at), files=names)
    gone, left = [], before.entries
    for file in files:
        rest = [row for row in left if row.file != file.name and row.entry.source not in file.sources]
        gone.append(len(left) - len(rest))
        left = rest
    return gone


replace = writes(replace_within)


def _rows(files: Sequence[FromFile], added_at: int) -> Rows:
    return Rows(
        [StoredEntry(0, e._replace(source=e.source or file.name), file.name, added_at) for file in files for e in file.entries],
        [StoredSynonyms(group.words, group.source, file.name) for file in files for group in file.synonyms],
    )


def differing(connection: Connection, bot_id: str, files: Sequence[FromFile]) -> list[FromFile]:
    """Return the files that `replace_within` would change, and the files that share a source with one of them."""

    def content(rows: Rows) -> tuple[list[Entry], list[StoredSynonyms]]:
        return [row.entry._replace(id="") for row in rows.entries], list(rows.synonyms)

    changed = [
        file
        for file in files
        if content(_rows([file], 0)) != content(changes.read_rows(connection, bot_id, changes.REPLACED, [file.name], []))
    ]
    while more := [
        candidate for candidate in files if candidate not in changed and any(set(candidate.sources) & set(file.sources) for file in changed)
    ]:
        changed += more
    return [file for file in files if file in changed]


def file_counts(connection: Connection, bot_id: str) -> dict[str, int]:
    """Return the number of entries of each file of a bot, by the file's name."""
    rows = connection.execute("SELECT file, count(*) FROM knowledge_entries WHERE bot_id = ? AND file IS NOT NULL GROUP BY file", (bot_id,))
    return dict(sorted(rows.fetchall()))


def remove_files_within(connection: Connection, bot_id: str, names: Sequence[str], sources: Sequence[str], origin: ChangeOrigin) -> int:
    """Delete all entries and synonyms of files and sources, and record the change, within a unit.

    Return the number of deleted entries.
    """
    before = changes.read_rows(connection, bot_id, changes.REPLACED, names, sources)
    if before.entries or before.synonyms:
        changes.change(connection, bot_id, origin, "remove", before, Rows(), files=names)
    return len(before.entries)


remove_files = writes(remove_files_within)


@writes
def remove(connection: Connection, bot_id: str, entry_id: str, origin: ChangeOrigin) -> Entry | None:
    """Delete one entry, record the change and return the entry. Return None if the bot has no entry with this id."""
    row = changes.entries_by_id(connection, bot_id, [entry_id]).get(entry_id)
    if row is None:
        return None
    changes.change(connection, bot_id, origin, "remove", Rows([row]), Rows())
    return row.entry


@writes
def create(connection: Connection, bot_id: str, entry: Entry, origin: ChangeOrigin) -> Entry:
    """Insert one entry that comes from no file, and record the change."""
    changes.change(connection, bot_id, origin, "create", Rows(), Rows([StoredEntry(0, entry, None, origin.changed_at)]))
    return entry


@writes
def update(connection: Connection, bot_id: str, entry_id: str, edit: Callable[[Entry], Entry], origin: ChangeOrigin) -> Entry | None:
    """Replace an entry by `edit(entry)`, and record the change if they differ. Return None if the bot has no entry with this id."""
    row = changes.entries_by_id(connection, bot_id, [entry_id]).get(entry_id)
    if row is None:
        return None
    edited = edit(row.entry)
    if edited != row.entry:
        changes.change(connection, bot_id, origin, "change", Rows([row]), Rows([row._replace(entry=edited)]))
    return edited
